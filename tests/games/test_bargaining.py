"""Bargaining: rules, metrics, equilibrium and scripted strategies."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cheaptalk as ct
from cheaptalk.games.bargaining import SPEC, rules, strategies
from cheaptalk.games.bargaining.strategies import equilibrium_share
from cheaptalk.rules import Decide
from tests.games.tables import metric

INSTANCE = ct.Instance()


def game(**parameters: Any) -> rules.Bargaining:
    return rules.Bargaining.model_validate({"messages": False, **parameters})


def new_table(**parameters: Any) -> ct.Table:
    return ct.Table(game(**parameters), INSTANCE, "seed")


def propose(table: ct.Table, alice: float, bob: float) -> None:
    (seat,) = table.pending
    table.answer(seat, rules.Offer(alice_gain=alice, bob_gain=bob))


def reply(table: ct.Table, decision: str) -> None:
    (seat,) = table.pending
    table.answer(seat, rules.Reply.model_validate({"decision": decision}))


def test_proposers_take_turns_until_an_offer_is_accepted() -> None:
    table = new_table(money=100)
    for proposer, responder in (("alice", "bob"), ("bob", "alice"), ("alice", "bob")):
        assert list(table.pending) == [proposer]
        propose(table, 70, 30)
        assert list(table.pending) == [responder]
        reply(table, "accept" if table.requests == 5 else "reject")
    assert table.outcome == rules.Division(stage=3, alice_gain=70, bob_gain=30)
    payoffs = table.game.payoffs(table.outcome)
    assert payoffs == pytest.approx({"alice": 56.7, "bob": 24.3})
    for seat in ("alice", "bob"):
        assert table.heard[seat][-1].event == rules.Agreement(3, 70, 30, payoffs[seat])
    assert [m.event for m in table.heard["alice"] if isinstance(m.event, rules.OfferRejected)] == [
        rules.OfferRejected(1)
    ]


def test_invalid_divisions_are_rejected() -> None:
    cases = [
        (70, 31, "the two parts must add up to 100, not 101"),
        (70, 29.99, "the two parts must add up to 100, not 99.99"),
        (101, -1, "no part of a division can be negative"),
        (-0.01, 100.01, "no part of a division can be negative"),
    ]
    for alice, bob, reason in cases:
        table = new_table(money=100)
        with pytest.raises(ct.rules.IllegalAction, match=f"^{re.escape(reason)}$"):
            propose(table, alice, bob)
        assert table.requests == 0
    rounded = new_table(money=0.3)
    propose(rounded, 0.1, 0.2)  # 0.30000000000000004
    assert rounded.requests == 1


def test_complete_information_reveals_both_discounts() -> None:
    table, silent = new_table(discounts=(0.9, 0.8), horizon=3), new_table(reminders=False)
    briefings = [heard[0].event for heard in table.heard.values()]
    assert briefings == [
        rules.Briefing("alice", "bob", 10_000, 0.9, 0.8, 3, False),
        rules.Briefing("bob", "alice", 10_000, 0.8, 0.9, 3, False),
    ]
    assert table.request("alice").event == rules.Turn(1, 10_000, False, None, None)
    for each in (table, silent):
        propose(each, 1, 9_999)
        reply(each, "reject")
    assert table.request("bob").event == rules.Turn(2, 10_000, False, 0.8, 0.9)
    assert silent.request("bob").event == rules.Turn(2, 10_000, False, None, None)
    propose(table, 1, 9_999)
    offer_made = rules.OfferMade(2, "bob", 1, 9_999, None, False, 0.9, 0.8)
    assert table.request("alice").event == offer_made
    reply(table, "reject")
    propose(table, 1, 9_999)
    worth = 0.8**2, 0.9**2
    assert table.request("bob").event == rules.OfferMade(3, "alice", 1, 9_999, None, True, *worth)


# Payoffs and metrics, calculated by hand: $100, discounts 0.9 and 0.8.

GAME = game(money=100, discounts=(0.9, 0.8), horizon=5)
AGREED = rules.Division(stage=3, alice_gain=60, bob_gain=40)
FAILED = rules.Division()


def test_metrics_match_paper_and_published_code() -> None:
    cases = [
        ("self_gain_alice", AGREED, 0.486, 0.486),
        ("self_gain_alice", FAILED, 0, 0),
        ("self_gain_bob", AGREED, 0.256, 0.256),
        ("self_gain_bob", FAILED, 0, 0.4096),
        ("efficiency", AGREED, 0.742, 0.742),
        ("efficiency", FAILED, 0, 0.4096),
        ("fairness", AGREED, 0.96, 0.96),
        ("fairness", FAILED, 1, 0),
        ("fairness", rules.Division(stage=1, alice_gain=100, bob_gain=0), 0, 0),
        ("fairness", rules.Division(stage=1, alice_gain=50, bob_gain=50), 1, 1),
        ("agreement", AGREED, 1, 1),
        ("agreement", FAILED, 0, 0),
        ("rounds_played", AGREED, 3, 3),
        ("rounds_played", FAILED, 5, 5),
    ]
    for name, outcome, paper, published in cases:
        result = ct.Result.of(GAME, INSTANCE, outcome)
        assert metric(name, result) == pytest.approx(paper)
        assert metric(name, result, as_published=True) == pytest.approx(published)


discounts = st.floats(0.05, 1.0)


def backward_induction_share(rounds: int, first: float, second: float) -> float:
    """Return the first proposer's share, computed backwards from the last stage."""
    worth = {"first": first, "second": second}
    continuation = {"first": 0.0, "second": 0.0}  # shares if the last offer is rejected
    for stage in range(rounds, 0, -1):
        proposer, responder = ("first", "second") if stage % 2 else ("second", "first")
        enough = worth[responder] * continuation[responder]
        continuation = {proposer: 1 - enough, responder: enough}
    return continuation["first"]


@given(st.integers(1, 60), discounts, discounts)
def test_equilibrium_matches_backward_induction(rounds: int, discount: float, rival: float) -> None:
    share = equilibrium_share(1, rounds, discount, rival)
    assert share == pytest.approx(backward_induction_share(rounds, discount, rival), abs=1e-9)
    assert -1e-9 <= share <= 1 + 1e-9


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_long_games_approach_rubinstein_division(discount: float, rival: float) -> None:
    endless = equilibrium_share(1, None, discount, rival)
    assert endless == pytest.approx((1 - rival) / (1 - discount * rival))
    assert equilibrium_share(1, 400, discount, rival) == pytest.approx(endless, abs=1e-6)


def test_equilibrium_players_agree_in_first_stage() -> None:
    cases: list[Any] = [1, 2, 3, 12, {"rounds": 99, "hidden": True}]
    for rounds in cases:
        for pair in ((0.9, 0.9), (0.8, 0.95), (0.95, 0.8), (1, 0.9), (0.9, 1), (1, 1)):
            bargaining = game(discounts=pair, horizon=rounds)
            players = dict.fromkeys(bargaining.roles, SPEC.strategies["subgame_perfect"])
            outcome = ct.play(bargaining, INSTANCE, "seed", players).result().outcome
            assert outcome.stage == 1
            last = rounds if isinstance(rounds, int) else None
            share = equilibrium_share(1, last, *pair)
            assert outcome.alice_gain == pytest.approx(10_000 * share, abs=0.01)


def test_unknown_rival_discount_defaults_to_own_discount() -> None:
    table = new_table(discounts=(0.8, 0.95), complete_information=False, horizon=3)
    offer = strategies.subgame_perfect(table.request("alice"))
    assert isinstance(offer, rules.Offer)
    assert offer.alice_gain == pytest.approx(10_000 * equilibrium_share(1, 3, 0.8, 0.8), abs=0.01)


def demands(name: str) -> list[float]:
    """Return Alice's demands by stage against a rival that never concedes."""
    players: dict[str, Decide] = {
        "alice": SPEC.strategies[name],
        "bob": SPEC.strategies["fixed_demand"].with_settings(share=1),
    }
    table = ct.play(game(horizon=11), INSTANCE, "seed", players)
    return [
        given.action.alice_gain / 10_000
        for given in table.given
        if given.actor == "alice" and isinstance(given.action, rules.Offer)
    ]


def test_concession_curves_run_from_start_to_end_demand() -> None:
    even, late, early = demands("linear"), demands("boulware"), demands("conceder")
    for curve in (even, late, early):
        assert curve[0] == pytest.approx(0.9)
        assert curve[-1] == pytest.approx(0.5)
        assert curve == sorted(curve, reverse=True)
    assert even == pytest.approx([0.9, 0.82, 0.74, 0.66, 0.58, 0.5])
    for late_demand, even_demand, early_demand in list(zip(late, even, early, strict=True))[1:-1]:
        assert late_demand > even_demand > early_demand


def test_strategies_reach_expected_outcomes() -> None:
    equal, fixed, linear, random = (
        SPEC.strategies[name] for name in ("equal_split", "fixed_demand", "linear", "random")
    )
    cases: list[tuple[Decide, Decide, rules.Division]] = [
        (equal, equal, rules.Division(stage=1, alice_gain=5_000, bob_gain=5_000)),
        (fixed, equal, rules.Division()),
        (
            fixed.with_settings(share=0.7),
            fixed.with_settings(share=0.3),
            rules.Division(stage=1, alice_gain=7_000, bob_gain=3_000),
        ),
        (linear, linear, rules.Division(stage=12, alice_gain=5_000, bob_gain=5_000)),
    ]
    for alice, bob, expected in cases:
        assert ct.play(game(), INSTANCE, "seed", {"alice": alice, "bob": bob}).outcome == expected
    for acceptance, stage in ((0.0, None), (1.0, 1)):
        players = dict.fromkeys(("alice", "bob"), random.with_settings(acceptance=acceptance))
        assert ct.play(game(), INSTANCE, "seed", players).result().outcome.stage == stage


def test_strategies_make_legal_offers_at_any_stake() -> None:
    for name in SPEC.strategies:
        for money in (0.01, 1.01, 1e12):
            players = dict.fromkeys(("alice", "bob"), SPEC.strategies[name])
            assert ct.play(game(money=money, horizon=4), INSTANCE, "seed", players).outcome
