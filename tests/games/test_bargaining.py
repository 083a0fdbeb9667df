"""Bargaining: rules, payoffs, metrics and prompts."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cheaptalk.games.bargaining import SPEC
from cheaptalk.games.bargaining.events import (
    Agreement,
    Briefing,
    NoAgreement,
    Offer,
    OfferMade,
    OfferRejected,
    Reply,
    SpokenOffer,
    Turn,
)
from cheaptalk.games.bargaining.rules import Bargaining, Division
from cheaptalk.rules import Chance, Horizon, IllegalAction, Instance, Result, Table
from cheaptalk.styles import style

INSTANCE = Instance()
STYLE = style("bargaining")
discounts = st.floats(0.05, 1.0)


def game(**parameters: Any) -> Bargaining:
    return Bargaining.model_validate({"messages": False, **parameters})


def new_table(**parameters: Any) -> Table:
    return Table(game(**parameters), INSTANCE, "seed")


def propose(table: Table, alice: float, bob: float) -> None:
    (seat,) = table.pending
    table.answer(seat, Offer(alice_gain=alice, bob_gain=bob))


def reply(table: Table, decision: str) -> None:
    (seat,) = table.pending
    table.answer(seat, Reply.model_validate({"decision": decision}))


# Rules.


def test_proposers_take_turns_until_an_offer_is_accepted() -> None:
    table = new_table(money=100)
    for proposer, responder in (("alice", "bob"), ("bob", "alice"), ("alice", "bob")):
        assert list(table.pending) == [proposer]
        propose(table, 70, 30)
        assert list(table.pending) == [responder]
        reply(table, "accept" if table.requests == 5 else "reject")
    assert table.outcome == Division(stage=3, alice_gain=70, bob_gain=30)
    payoffs = table.game.payoffs(table.outcome)
    assert payoffs == pytest.approx({"alice": 56.7, "bob": 24.3})
    for seat in ("alice", "bob"):
        assert table.heard[seat][-1].event == Agreement(3, 70, 30, payoffs[seat])
    assert [m.event for m in table.heard["alice"] if isinstance(m.event, OfferRejected)] == [
        OfferRejected(1)
    ]


def test_no_agreement_notifies_both_players() -> None:
    table = new_table(money=100, horizon=2)
    for _ in range(2):
        propose(table, 70, 30)
        reply(table, "reject")
    assert table.outcome == Division()
    for seat in ("alice", "bob"):
        assert table.heard[seat][-1].event == NoAgreement()


@pytest.mark.parametrize(
    ("alice", "bob", "reason"),
    [
        (70, 31, "the two parts must add up to 100, not 101"),
        (70, 29.99, "the two parts must add up to 100, not 99.99"),
        (101, -1, "no part of a division can be negative"),
        (-0.01, 100.01, "no part of a division can be negative"),
    ],
)
def test_invalid_divisions_are_rejected(alice: float, bob: float, reason: str) -> None:
    table = new_table(money=100)
    with pytest.raises(IllegalAction, match=f"^{re.escape(reason)}$"):
        propose(table, alice, bob)
    assert table.requests == 0


def test_offer_sum_tolerates_rounding_errors() -> None:
    table = new_table(money=0.3)
    propose(table, 0.1, 0.2)
    assert list(table.pending) == ["bob"]


def test_offers_carry_messages_only_if_enabled() -> None:
    table = new_table(messages=True)
    assert table.pending["alice"].action is SpokenOffer
    table.answer("alice", SpokenOffer(alice_gain=5_000, bob_gain=5_000, message=" Half.\n"))
    event = table.request("bob").event
    assert isinstance(event, OfferMade)
    assert event.message == " Half.\n"
    table = new_table(messages=False)
    assert table.pending["alice"].action is Offer
    propose(table, 5_000, 5_000)
    assert table.request("bob").event.message is None


def test_complete_information_reveals_both_discounts() -> None:
    table = new_table(discounts=(0.9, 0.8), horizon=3)
    assert table.heard["alice"][0].event == Briefing("alice", "bob", 10_000, 0.9, 0.8, 3, False)
    assert table.heard["bob"][0].event == Briefing("bob", "alice", 10_000, 0.8, 0.9, 3, False)
    assert table.request("alice").event == Turn(1, 10_000, False, None, None)
    propose(table, 1, 9_999)
    reply(table, "reject")
    assert table.request("bob").event == Turn(2, 10_000, False, 0.8, 0.9)
    propose(table, 1, 9_999)
    assert table.request("alice").event == OfferMade(2, "bob", 1, 9_999, None, False, 0.9, 0.8)
    reply(table, "reject")
    propose(table, 1, 9_999)
    worth = 0.8**2, 0.9**2
    assert table.request("bob").event == OfferMade(3, "alice", 1, 9_999, None, True, *worth)


def test_incomplete_information_hides_rival_discount() -> None:
    table = new_table(discounts=(0.9, 0.8), complete_information=False)
    assert table.heard["alice"][0].event.rival_discount is None  # type: ignore[attr-defined]
    propose(table, 1, 9_999)
    reply(table, "reject")
    assert table.request("bob").event == Turn(2, 10_000, False, 0.8, None)


def test_hidden_horizon_is_not_revealed() -> None:
    table = new_table(horizon={"rounds": 1, "hidden": True})
    assert table.heard["alice"][0].event.rounds is None  # type: ignore[attr-defined]  # a briefing
    propose(table, 1, 9_999)
    assert table.request("bob").event.last is False
    reply(table, "reject")
    assert table.outcome == Division()


def test_reminders_can_be_disabled() -> None:
    table = new_table(reminders=False)
    propose(table, 1, 9_999)
    reply(table, "reject")
    assert table.request("bob").event == Turn(2, 10_000, False, None, None)


@pytest.mark.parametrize(
    "parameters",
    [
        {"money": 0},
        {"money": -1},
        {"discounts": (0, 0.9)},
        {"discounts": (0.9, 1.01)},
        {"horizon": 0},
    ],
)
def test_out_of_range_parameters_are_rejected(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        game(**parameters)


def test_default_parameters() -> None:
    assert Bargaining() == Bargaining(
        money=10_000,
        discounts=(0.9, 0.9),
        horizon=Horizon(rounds=12),
        complete_information=True,
        messages=True,
        reminders=True,
    )


def test_only_private_discounts_are_secrets() -> None:
    assert list(game().secrets(INSTANCE)) == []
    first, second = game(complete_information=False, discounts=(0.9, 0.5)).secrets(INSTANCE)
    assert first.owners == {"alice"}
    assert second.owners == {"bob"}
    changed = [secret.game.discounts for secret in (first, second)]  # type: ignore[attr-defined]
    assert changed == [(0.5, 0.5), (0.9, 0.7)]


def test_forfeit_ends_match() -> None:
    table = new_table()
    table.forfeit("alice")
    assert table.over
    assert table.outcome is None
    assert table.forfeited == {"alice"}


# Payoffs and metrics, calculated by hand: $100, discounts 0.9 and 0.8.

GAME = game(money=100, discounts=(0.9, 0.8), horizon=5)
AGREED = Division(stage=3, alice_gain=60, bob_gain=40)
FAILED = Division()


def test_payoffs_are_discounted_by_stage() -> None:
    assert GAME.payoffs(AGREED) == pytest.approx({"alice": 48.6, "bob": 25.6})
    first = Division(stage=1, alice_gain=60, bob_gain=40)
    assert GAME.payoffs(first) == {"alice": 60, "bob": 40}
    assert GAME.payoffs(FAILED) == {"alice": 0, "bob": 0}
    assert GAME.payoff_bounds() == {"alice": (0, 100), "bob": (0, 100)}


@pytest.mark.parametrize(
    ("metric", "outcome", "paper", "published"),
    [
        ("alice_gain", AGREED, 0.486, 0.486),
        ("alice_gain", FAILED, 0, 0),
        ("bob_gain", AGREED, 0.256, 0.256),
        ("bob_gain", FAILED, 0, 0.4096),
        ("efficiency", AGREED, 0.742, 0.742),
        ("efficiency", FAILED, 0, 0.4096),
        ("fairness", AGREED, 0.96, 0.96),
        ("fairness", FAILED, 1, 0),
        ("fairness", Division(stage=1, alice_gain=100, bob_gain=0), 0, 0),
        ("fairness", Division(stage=1, alice_gain=50, bob_gain=50), 1, 1),
        ("agreement", AGREED, 1, 1),
        ("agreement", FAILED, 0, 0),
        ("rounds", AGREED, 3, 3),
        ("rounds", FAILED, 5, 5),
    ],
)
def test_metrics_match_paper_and_published_code(
    metric: str, outcome: Division, paper: float, published: float
) -> None:
    result = Result.of(GAME, INSTANCE, outcome)
    assert SPEC.metrics[metric].variant(as_published=False)(result) == pytest.approx(paper)
    assert SPEC.metrics[metric].variant(as_published=True)(result) == pytest.approx(published)


@given(st.integers(1, 12), st.floats(0, 100), discounts, discounts)
def test_metrics_lie_between_0_and_1(
    stage: int, alice: float, discount: float, rival: float
) -> None:
    result = Result.of(
        game(money=100, discounts=(discount, rival)),
        INSTANCE,
        Division(stage=stage, alice_gain=alice, bob_gain=100 - alice),
    )
    for name in ("alice_gain", "bob_gain", "efficiency", "fairness"):
        value = SPEC.metrics[name].of(result)
        assert value is not None
        assert -1e-9 <= value <= 1 + 1e-9


# Prompts.


def render(event: Any, seat: str = "alice", **parameters: Any) -> str:
    return STYLE.tell(event, game(**parameters), seat)


def briefing(seat: str = "alice", **parameters: Any) -> str:
    table = new_table(**parameters)
    return STYLE.tell(table.heard[seat][0].event, table.game, seat)


def test_briefing_contains_known_parameters() -> None:
    words = briefing(discounts=(0.9, 0.8), money=1_000_000, messages=True)
    assert words.startswith("You are Alice. You and Bob have $1,000,000 to divide")
    assert "worth 10% less to you" in words
    assert "To Bob it is worth 20% less" in words
    assert "at most 12 rounds" in words
    assert "can add a message" in words


@pytest.mark.parametrize("seat", ["alice", "bob"])
def test_briefing_omits_unknown_parameters(seat: str) -> None:
    words = briefing(seat, discounts=(0.83, 0.83), complete_information=False)
    assert words.count("17%") == 1
    assert "You do not know whether, or how fast" in words
    hidden = briefing(seat, horizon={"rounds": 99, "hidden": True})
    assert "99" not in hidden
    assert "You are not told how many rounds" in hidden
    assert "message" not in briefing(seat, messages=False)


def test_briefing_describes_absence_of_discounting() -> None:
    words = briefing(discounts=(1, 1))
    assert "Time costs you nothing" in words
    assert "To Bob it does not lose any of its worth" in words
    assert "%" not in words


def test_briefing_announces_single_round() -> None:
    assert "There is only one round" in briefing(horizon=1)


def test_offers_are_rendered_as_text() -> None:
    offer = OfferMade(2, "bob", 1_000.5, 8_999.5, 'Take "it"\nor leave it', True, 0.9, 0.81)
    assert render(offer) == (
        "Round 2, the last one. A dollar is now worth 90 cents to you and 81 cents to Bob.\n"
        "Bob proposes: $1,000.50 for Alice and $8,999.50 for Bob.\n"
        'Bob says: "Take \\"it\\"\\nor leave it"\n'
        "Do you accept? If you reject, the game is over and both of you get nothing."
    )
    quiet = OfferMade(1, "bob", 1_000, 9_000, None, False, None, None)
    assert render(quiet) == (
        "Round 1.\nBob proposes: $1,000 for Alice and $9,000 for Bob.\nDo you accept?"
    )


def test_texts_use_configured_player_names() -> None:
    names = {"alice": "Ann", "bob": "Ben"}
    assert render(Turn(2, 100, False, 0.9, 0.5), "bob", names=names) == (
        "Round 2. A dollar is now worth 90 cents to you and 50 cents to Ann.\n"
        "It is your turn to propose how to divide $100."
    )
    assert render(Agreement(2, 60, 40, 54), names=names) == (
        "The proposal of round 2 was accepted: $60 for Ann and $40 for Ben. Counted at what a "
        "dollar is worth to you now, you get $54. The game is over."
    )
    assert render(Agreement(1, 60, 40, 60), names=names) == (
        "The proposal of round 1 was accepted: $60 for Ann and $40 for Ben. The game is over."
    )


def test_last_proposer_reads_consequence_of_rejection() -> None:
    table = new_table(horizon=2)
    assert not table.request("alice").event.last
    propose(table, 1, 9_999)
    reply(table, "reject")
    last = table.request("bob").event
    assert last.last
    assert render(last, "bob").endswith(
        "If Alice rejects this proposal, the game is over and both of you get nothing."
    )


def test_other_events_are_rendered_as_text() -> None:
    assert "still worth a full dollar to you." in render(Turn(2, 100, False, 1.0, None))
    assert render(OfferRejected(3)) == "Your proposal of round 3 was rejected."
    assert "without an agreement" in render(NoAgreement())


def test_instance_does_not_depend_on_chance() -> None:
    assert game().draw_instance(Chance("seed")) == INSTANCE
