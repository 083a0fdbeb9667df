"""Bargaining: rules, payoffs, metrics and words."""

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
WORDS = style("bargaining")
discounts = st.floats(0.05, 1.0)


def game(**parameters: Any) -> Bargaining:
    return Bargaining.model_validate({"messages": False, **parameters})


def table(**parameters: Any) -> Table:
    return Table(game(**parameters), INSTANCE, "seed")


def propose(here: Table, alice: float, bob: float) -> None:
    (seat,) = here.pending
    here.answer(seat, Offer(alice_gain=alice, bob_gain=bob))


def reply(here: Table, decision: str) -> None:
    (seat,) = here.pending
    here.answer(seat, Reply.model_validate({"decision": decision}))


# Rules.


def test_proposers_take_turns_until_an_offer_is_accepted() -> None:
    here = table(money=100)
    for proposer, responder in (("alice", "bob"), ("bob", "alice"), ("alice", "bob")):
        assert list(here.pending) == [proposer]
        propose(here, 70, 30)
        assert list(here.pending) == [responder]
        reply(here, "accept" if here.requests == 5 else "reject")
    assert here.outcome == Division(stage=3, alice_gain=70, bob_gain=30)
    payoffs = here.game.payoffs(here.outcome)
    assert payoffs == pytest.approx({"alice": 56.7, "bob": 24.3})
    for seat in ("alice", "bob"):
        assert here.heard[seat][-1].event == Agreement(3, 70, 30, payoffs[seat])
    assert [m.event for m in here.heard["alice"] if isinstance(m.event, OfferRejected)] == [
        OfferRejected(1)
    ]


def test_without_an_agreement_both_are_told_so() -> None:
    here = table(money=100, horizon=2)
    for _ in range(2):
        propose(here, 70, 30)
        reply(here, "reject")
    assert here.outcome == Division()
    for seat in ("alice", "bob"):
        assert here.heard[seat][-1].event == NoAgreement()


@pytest.mark.parametrize(
    ("alice", "bob", "why"),
    [
        (70, 31, "the two parts must add up to 100, not 101"),
        (70, 29.99, "the two parts must add up to 100, not 99.99"),
        (101, -1, "no part of a division can be negative"),
        (-0.01, 100.01, "no part of a division can be negative"),
    ],
)
def test_an_offer_divides_the_whole_sum(alice: float, bob: float, why: str) -> None:
    here = table(money=100)
    with pytest.raises(IllegalAction, match=f"^{re.escape(why)}$"):
        propose(here, alice, bob)
    assert here.requests == 0


def test_an_offer_may_be_a_rounding_error_away_from_the_sum() -> None:
    here = table(money=0.3)
    propose(here, 0.1, 0.2)
    assert list(here.pending) == ["bob"]


def test_messages_travel_with_offers_only_where_they_are_allowed() -> None:
    here = table(messages=True)
    assert here.pending["alice"].action is SpokenOffer
    here.answer("alice", SpokenOffer(alice_gain=5_000, bob_gain=5_000, message=" Half.\n"))
    made = here.request("bob").event
    assert isinstance(made, OfferMade)
    assert made.message == " Half.\n"
    here = table(messages=False)
    assert here.pending["alice"].action is Offer
    propose(here, 5_000, 5_000)
    assert here.request("bob").event.message is None


def test_everybody_knows_what_time_costs_where_information_is_complete() -> None:
    here = table(discounts=(0.9, 0.8), horizon=3)
    assert here.heard["alice"][0].event == Briefing("alice", "bob", 10_000, 0.9, 0.8, 3, False)
    assert here.heard["bob"][0].event == Briefing("bob", "alice", 10_000, 0.8, 0.9, 3, False)
    assert here.request("alice").event == Turn(1, 10_000, False, None, None)
    propose(here, 1, 9_999)
    reply(here, "reject")
    assert here.request("bob").event == Turn(2, 10_000, False, 0.8, 0.9)
    propose(here, 1, 9_999)
    assert here.request("alice").event == OfferMade(2, "bob", 1, 9_999, None, False, 0.9, 0.8)
    reply(here, "reject")
    propose(here, 1, 9_999)
    worth = 0.8**2, 0.9**2
    assert here.request("bob").event == OfferMade(3, "alice", 1, 9_999, None, True, *worth)


def test_nobody_knows_the_other_s_discount_where_information_is_incomplete() -> None:
    here = table(discounts=(0.9, 0.8), complete_information=False)
    assert here.heard["alice"][0].event.rival_discount is None  # type: ignore[attr-defined]
    propose(here, 1, 9_999)
    reply(here, "reject")
    assert here.request("bob").event == Turn(2, 10_000, False, 0.8, None)


def test_a_hidden_horizon_is_neither_told_nor_hinted_at() -> None:
    here = table(horizon={"rounds": 1, "hidden": True})
    assert here.heard["alice"][0].event.rounds is None  # type: ignore[attr-defined]  # a briefing
    propose(here, 1, 9_999)
    assert here.request("bob").event.last is False
    reply(here, "reject")
    assert here.outcome == Division()


def test_reminders_can_be_left_out() -> None:
    here = table(reminders=False)
    propose(here, 1, 9_999)
    reply(here, "reject")
    assert here.request("bob").event == Turn(2, 10_000, False, None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"money": 0},
        {"money": -1},
        {"discounts": (0, 0.9)},
        {"discounts": (0.9, 1.01)},
        {"horizon": 0},
    ],
)
def test_parameters_have_ranges(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        game(**wrong)


def test_by_default_all_is_told_and_said() -> None:
    assert Bargaining() == Bargaining(
        money=10_000,
        discounts=(0.9, 0.9),
        horizon=Horizon(rounds=12),
        complete_information=True,
        messages=True,
        reminders=True,
    )


def test_secrets_are_the_discounts_and_only_where_they_are_private() -> None:
    assert list(game().secrets(INSTANCE)) == []
    first, second = game(complete_information=False, discounts=(0.9, 0.5)).secrets(INSTANCE)
    assert first.owners == {"alice"}
    assert second.owners == {"bob"}
    changed = [secret.game.discounts for secret in (first, second)]  # type: ignore[attr-defined]
    assert changed == [(0.5, 0.5), (0.9, 0.7)]


def test_a_forfeit_ends_the_match() -> None:
    here = table()
    here.forfeit("alice")
    assert here.over
    assert here.outcome is None
    assert here.forfeited == {"alice"}


# Payoffs and metrics, worked by hand: $100, discounts 0.9 and 0.8.

PLAYED = game(money=100, discounts=(0.9, 0.8), horizon=5)
AGREED = Division(stage=3, alice_gain=60, bob_gain=40)
FAILED = Division()


def test_payoffs_shrink_with_every_stage() -> None:
    assert PLAYED.payoffs(AGREED) == pytest.approx({"alice": 48.6, "bob": 25.6})
    first = Division(stage=1, alice_gain=60, bob_gain=40)
    assert PLAYED.payoffs(first) == {"alice": 60, "bob": 40}
    assert PLAYED.payoffs(FAILED) == {"alice": 0, "bob": 0}
    assert PLAYED.payoff_bounds() == {"alice": (0, 100), "bob": (0, 100)}


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
def test_measures_follow_the_paper_and_have_its_code_s_variant(
    metric: str, outcome: Division, paper: float, published: float
) -> None:
    result = Result.of(PLAYED, INSTANCE, outcome)
    assert SPEC.metrics[metric].variant(as_published=False)(result) == pytest.approx(paper)
    assert SPEC.metrics[metric].variant(as_published=True)(result) == pytest.approx(published)


@given(st.integers(1, 12), st.floats(0, 100), discounts, discounts)
def test_shares_lie_between_nothing_and_everything(
    stage: int, alice: float, mine: float, rival: float
) -> None:
    result = Result.of(
        game(money=100, discounts=(mine, rival)),
        INSTANCE,
        Division(stage=stage, alice_gain=alice, bob_gain=100 - alice),
    )
    for name in ("alice_gain", "bob_gain", "efficiency", "fairness"):
        value = SPEC.metrics[name].of(result)
        assert value is not None
        assert -1e-9 <= value <= 1 + 1e-9


# Words.


def told(event: Any, seat: str = "alice", **parameters: Any) -> str:
    return WORDS.tell(event, game(**parameters), seat)


def briefing(seat: str = "alice", **parameters: Any) -> str:
    here = table(**parameters)
    return WORDS.tell(here.heard[seat][0].event, here.game, seat)


def test_the_briefing_says_what_the_seat_knows() -> None:
    words = briefing(discounts=(0.9, 0.8), money=1_000_000, messages=True)
    assert words.startswith("You are Alice. You and Bob have $1,000,000 to divide")
    assert "worth 10% less to you" in words
    assert "To Bob it is worth 20% less" in words
    assert "at most 12 rounds" in words
    assert "can add a message" in words


@pytest.mark.parametrize("seat", ["alice", "bob"])
def test_what_is_not_known_is_not_said(seat: str) -> None:
    words = briefing(seat, discounts=(0.83, 0.83), complete_information=False)
    assert words.count("17%") == 1
    assert "You do not know whether, or how fast" in words
    hidden = briefing(seat, horizon={"rounds": 99, "hidden": True})
    assert "99" not in hidden
    assert "You are not told how many rounds" in hidden
    assert "message" not in briefing(seat, messages=False)


def test_no_cost_of_time_is_said_in_words() -> None:
    words = briefing(discounts=(1, 1))
    assert "Time costs you nothing" in words
    assert "To Bob it does not lose any of its worth" in words
    assert "%" not in words


def test_one_round_is_one_round() -> None:
    assert "There is only one round" in briefing(horizon=1)


def test_an_offer_reads_the_same_to_everybody() -> None:
    made = OfferMade(2, "bob", 1_000.5, 8_999.5, 'Take "it"\nor leave it', True, 0.9, 0.81)
    assert told(made) == (
        "Round 2, the last one. A dollar is now worth 90 cents to you and 81 cents to Bob.\n"
        "Bob proposes: $1,000.50 for Alice and $8,999.50 for Bob.\n"
        'Bob says: "Take \\"it\\"\\nor leave it"\n'
        "Do you accept? If you reject, the game is over and both of you get nothing."
    )
    quiet = OfferMade(1, "bob", 1_000, 9_000, None, False, None, None)
    assert told(quiet) == (
        "Round 1.\nBob proposes: $1,000 for Alice and $9,000 for Bob.\nDo you accept?"
    )


def test_players_are_called_as_they_are_named() -> None:
    names = {"alice": "Ann", "bob": "Ben"}
    assert told(Turn(2, 100, False, 0.9, 0.5), "bob", names=names) == (
        "Round 2. A dollar is now worth 90 cents to you and 50 cents to Ann.\n"
        "It is your turn to propose how to divide $100."
    )
    assert told(Agreement(2, 60, 40, 54), names=names) == (
        "The proposal of round 2 was accepted: $60 for Ann and $40 for Ben. Counted at what a "
        "dollar is worth to you now, you get $54. The game is over."
    )
    assert told(Agreement(1, 60, 40, 60), names=names) == (
        "The proposal of round 1 was accepted: $60 for Ann and $40 for Ben. The game is over."
    )


def test_who_proposes_last_is_told_what_a_rejection_means() -> None:
    here = table(horizon=2)
    assert not here.request("alice").event.last
    propose(here, 1, 9_999)
    reply(here, "reject")
    last = here.request("bob").event
    assert last.last
    assert told(last, "bob").endswith(
        "If Alice rejects this proposal, the game is over and both of you get nothing."
    )


def test_a_full_dollar_is_called_so() -> None:
    assert "still worth a full dollar to you." in told(Turn(2, 100, False, 1.0, None))
    assert told(OfferRejected(3)) == "Your proposal of round 3 was rejected."
    assert "without an agreement" in told(NoAgreement())


def test_nature_decides_nothing() -> None:
    assert game().draw_instance(Chance("seed")) == INSTANCE
