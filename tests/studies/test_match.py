"""Matches that are played step by step."""

from typing import Any

import pytest

import cheaptalk as ct
from tests.fakes import study
from tests.known import known

EVENTS = ct.games.bargaining.events
BARGAINING = ct.games.Bargaining(money=100, messages=False, horizon=ct.rules.Horizon(rounds=4))
OFFER = {"alice_gain": 90, "bob_gain": 10}


def test_caller_and_seated_players_alternate() -> None:
    match = ct.Match(BARGAINING, {"bob": "boulware"}, "lesson")
    assert known(match.request).actor == "alice"
    assert match.legal is None
    assert match.step(EVENTS.Offer(alice_gain=90, bob_gain=10)) is match
    assert [given.actor for given in match.table.given] == ["alice", "bob", "bob"]
    assert match.legal == [EVENTS.Reply(decision="accept"), EVENTS.Reply(decision="reject")]
    assert (match.done, match.outcome, match.payoffs) == (False, None, {})
    match.step('{"decision": "accept"}')
    assert (match.done, match.request, match.legal) == (True, None, None)
    assert match.payoffs == pytest.approx({"alice": 9.441, "bob": 80.559})
    with pytest.raises(ct.CheaptalkError, match="the match has ended"):
        match.step()


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"alice_gain": 70, "bob_gain": 40}, "the two parts must add up to 100, not 110"),
        ({"alice_gain": 70}, '"bob_gain": is missing'),
        (EVENTS.Reply(decision="accept"), "expected an Offer, not a Reply"),
        ("no idea", "it contains no JSON object"),
        ('{"alice_gain": 70, "bob_gain": 40}', "the two parts must add up to 100, not 110"),
    ],
)
def test_illegal_answer_changes_nothing(action: Any, reason: str) -> None:
    match = ct.Match(BARGAINING, {"bob": "boulware"})
    with pytest.raises(ct.rules.IllegalAction, match=reason):
        match.step(action)
    assert (match.table.given, known(match.request).number) == ([], 0)


def test_match_of_seated_players_is_stepped_overridden_and_copied() -> None:
    match = ct.Match(BARGAINING, {"alice": "linear", "bob": "boulware"})
    assert match.step().table.given[0].actor == "alice"
    fork = match.copy()
    assert fork.step({"decision": "accept"}).payoffs["bob"] == 10
    assert (fork.done, match.done, len(match.table.given)) == (True, False, 1)
    assert match.play().done


class Remembering:
    """A player that demands more at each of its requests."""

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, request: ct.DecisionRequest) -> ct.Action:
        self.requests += 1
        share = 0.5 + self.requests / 10
        return ct.games.bargaining.strategies.fixed_demand(request, share=share)


def test_copy_has_own_state_of_players() -> None:
    match = ct.Match(BARGAINING, {"alice": Remembering, "bob": "boulware"})
    assert match.step().table.given[0].action == EVENTS.Offer(alice_gain=60, bob_gain=40)
    match.step({"decision": "reject"}).step(OFFER)
    first, second = match.copy().play(), match.copy().play()
    assert first.table.given == second.table.given


def test_record_equals_that_of_a_study(store: ct.Store) -> None:
    game = {"game": "bargaining", "fixed": {"horizon": 4}}
    plan = ct.plan(study(games=[game], pairing=[["fair", "firm"]]))
    ct.run(plan, store)
    (planned,) = plan.matches
    stored = store.find(planned.id)
    seats = {"alice": "equal_split", "bob": {"strategy": "fixed_demand"}}
    match = ct.Match(planned.configuration.game, seats, planned.seed)
    assert match.record.status is ct.records.Status.LIVE
    record = match.play().record
    assert (record.id, record.outcome, record.answers) == (
        stored.id,
        stored.outcome,
        stored.answers,
    )
    assert match.transcript == ct.records.transcript(stored)
    assert record.result().outcome == match.outcome
    assert [record.label(seat) for seat in record.seats] == ["equal_split", "fixed_demand"]


def test_simultaneous_requests_are_answered_one_by_one() -> None:
    match = ct.Match("public_goods", {"player_2": "random"}, 1)
    first = known(match.request)
    match.step({"tokens_contributed": 5})
    assert known(match.request).number == first.number
    assert known(match.request).actor == "player_3"


def test_unusable_seats_raise_error() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"rob": "linear"}, 'bargaining has no seat or role "rob"'),
        ({"bob": "lineal"}, r'^bob: unknown strategy "lineal" \(did you mean "linear"\?\)'),
        ({"bob": "openai/gpt-4o"}, "bob: only scripted and Python players can be seated"),
        ({"bob": 5}, "bob: 5 is not a player"),
    ]
    for seats, message in cases:
        with pytest.raises(ct.CheaptalkError, match=message):
            ct.Match(BARGAINING, seats)
    with pytest.raises(ct.CheaptalkError, match='"alice" has no player; pass an action to step'):
        ct.Match(BARGAINING).step()


def test_displays_transcript_and_open_request() -> None:
    match = ct.Match(BARGAINING, {"bob": "boulware"})
    html = match.step(OFFER)._repr_html_()
    assert repr(match) == "<Match: bargaining, 3 answers, asks alice>"
    assert "Alice proposes: $90" in html
    assert ">{&quot;decision&quot;:&quot;reject&quot;}</td>" in html
    assert "<p>Round 2." in html
    assert "payoffs: " in match.step({"decision": "accept"})._repr_html_()
