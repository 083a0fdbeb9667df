"""Bargaining: rules, payoffs, metrics and prompts."""

import re
from typing import Any

import pytest
from hypothesis import strategies as st

from cheaptalk.games.bargaining import SPEC
from cheaptalk.games.bargaining.rules import (
    Agreement,
    Bargaining,
    Briefing,
    Division,
    Offer,
    OfferMade,
    OfferRejected,
    Reply,
    Turn,
)
from cheaptalk.rules import IllegalAction, Instance, Result, Table

INSTANCE = Instance()
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


def test_invalid_divisions_are_rejected() -> None:
    cases = [
        (70, 31, "the two parts must add up to 100, not 101"),
        (70, 29.99, "the two parts must add up to 100, not 99.99"),
        (101, -1, "no part of a division can be negative"),
        (-0.01, 100.01, "no part of a division can be negative"),
    ]
    for alice, bob, reason in cases:
        table = new_table(money=100)
        with pytest.raises(IllegalAction, match=f"^{re.escape(reason)}$"):
            propose(table, alice, bob)
        assert table.requests == 0


def test_offer_sum_tolerates_rounding_errors() -> None:
    table = new_table(money=0.3)
    propose(table, 0.1, 0.2)
    assert list(table.pending) == ["bob"]


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


def test_reminders_can_be_disabled() -> None:
    table = new_table(reminders=False)
    propose(table, 1, 9_999)
    reply(table, "reject")
    assert table.request("bob").event == Turn(2, 10_000, False, None, None)


def test_only_private_discounts_are_secrets() -> None:
    assert list(game().secrets(INSTANCE)) == []
    first, second = game(complete_information=False, discounts=(0.9, 0.5)).secrets(INSTANCE)
    assert first.owners == {"alice"}
    assert second.owners == {"bob"}
    changed = [secret.game.discounts for secret in (first, second)]  # type: ignore[attr-defined]
    assert changed == [(0.5, 0.5), (0.9, 0.7)]


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


def test_metrics_match_paper_and_published_code() -> None:
    cases = [
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
    ]
    for metric, outcome, paper, published in cases:
        result = Result.of(GAME, INSTANCE, outcome)
        assert SPEC.metrics[metric].variant(as_published=False)(result) == pytest.approx(paper)
        assert SPEC.metrics[metric].variant(as_published=True)(result) == pytest.approx(published)
