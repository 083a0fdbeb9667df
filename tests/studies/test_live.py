"""Matches with models and people: answers are recorded, and no call is repeated."""

import asyncio
import gc
import json
import re
import signal
import threading
from collections import Counter
from datetime import date
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.calls import control
from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.flow_control import SENDINGS, Trouble
from cheaptalk.models.prices import Price, Prices
from cheaptalk.players import Kind, PersonCall
from cheaptalk.records import Status, Store
from cheaptalk.records.ledger.ledger import mark_unresolved
from cheaptalk.records.ledger.spending import spent
from cheaptalk.records.store import schema
from cheaptalk.rules import DecisionRequest
from cheaptalk.studies import INTERRUPTED, Halted, plan_in_store
from cheaptalk.text import plain
from tests.fakes import Answers, Canned, broken, essence, late, legal, study, with_model
from tests.toys import SPEC

GUESSING = {
    "games": [{"game": "guessing", "fixed": {"horizon": 2}}],
    "players": {"tiny": {"model": "vllm/tiny"}, "luck": {"strategy": "random"}},
    "pairing": [["tiny", "tiny"]],
}
GUESS = json.dumps({"number": 9, "message": "Nine."})


def records(store: Store) -> list[ct.MatchRecord]:
    return list(store.records("small", bodies=True))


def numbers(record: ct.MatchRecord) -> list[str]:
    """Return the numbers under which a record's calls were sent."""
    return [
        f"{record.id}/{answer.request}/{answer.actor}/{attempt}/{call['sending']}"
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]


def test_records_contain_calls_replies_and_counts(store: Store) -> None:
    models = Canned(tokens=10)
    ct.run(study(**with_model(temperature=0.5)), store, models=models)
    for record in records(store):
        calls = [call for answer in record.answers for call in answer.calls]
        assert record.calls == len(calls) > 0
        assert (record.input_tokens, record.output_tokens) == (9 * len(calls), len(calls))
        assert {call["call"]["settings"]["temperature"] for call in calls} == {0.5}
        assert {call["reply"]["model"] for call in calls} == {"canned"}
    sent = {json.dumps(call.model_dump(mode="json", exclude_none=True)) for call in models.calls}
    recorded = {json.dumps(c["call"]) for r in records(store) for a in r.answers for c in a.calls}
    assert recorded == sent


def test_repaired_answers_are_counted(store: Store) -> None:
    def mumble_first(call: ModelCall, number: str) -> str:
        return "Hm?" if number.split("/")[3] == "0" else legal(call)

    ct.run(study(**with_model()), store, models=Canned(mumble_first))
    for record in records(store):
        role = next(role for role in ("alice", "bob") if record.label(role) == "tiny")
        assert set(record.kinds[role]) == {Kind.REPAIRED}
        assert record.calls == 2 * record.kinds[role][Kind.REPAIRED]


@pytest.mark.parametrize(
    ("answers", "kind", "calls"),
    [
        (lambda call, number: "Hm?", Kind.UNPARSABLE, 3),
        (lambda call, number: Reply(failure="refused", detail="No."), Kind.REFUSED, 3),
        (lambda call, number: late(), Kind.TIMED_OUT, 1),
    ],
)
def test_failed_answer_forfeits_the_match(
    store: Store, no_waits: None, answers: Answers, kind: Kind, calls: int
) -> None:
    made = with_model() | {"instances": 1, "pairing": [["tiny", "fair"]]}
    progress = ct.run(study(**made), store, models=Canned(answers))
    assert progress.counts == {Status.FORFEITED: 1}
    assert progress.problems == {f"bargaining, forfeited by tiny as alice: {plain(kind)}": 1}
    (record,) = records(store)
    assert (record.status, record.reason) == (Status.FORFEITED, "forfeited by alice")
    assert (record.payoffs, record.kinds, record.calls) == (None, {"alice": {kind: 1}}, calls)
    assert ct.run(study(**made), store, models=Canned()).before == 1, "a forfeit settles a match"


def test_failed_calls_are_retried_and_all_attempts_recorded(store: Store, no_waits: None) -> None:
    def stumble(call: ModelCall, number: str) -> Reply | str:
        return legal(call) if number.endswith("/3") else broken()

    models = Canned(stumble)
    progress = ct.run(study(**with_model()), store, models=models)
    assert progress.counts == {Status.FINISHED: 6}
    for record in records(store):
        assert {number.rpartition("/")[2] for number in numbers(record)} == {"3"}
        failed = store.open_calls(record.id)
        assert {call["state"] for call in failed} == {"failed"}
        assert len(failed) == 2 * record.calls
    assert spent(store, 1).calls == len(models.calls)


def test_provider_outage_fails_matches_and_resume_continues(store: Store, no_waits: None) -> None:
    def down_later(call: ModelCall, number: str) -> Reply | str:
        return broken("out of order") if len(call.messages) > 2 else legal(call)

    made = study(**with_model(), games=[{"game": "bargaining", "fixed": {"horizon": 6}}])
    first = Canned(down_later)
    progress = ct.run(made, store, models=first, concurrency=1)
    failed = [record for record in records(store) if record.status is Status.FAILED]
    assert progress.failed == len(failed) > 0
    assert all(record.reason == _failure_reason(store, record.id) for record in failed)
    down = Counter(number.rpartition("/")[0] for number in first.numbers)
    assert {down[key] for key in down} == {1, SENDINGS[Trouble.BROKEN]}

    permanent = Canned(lambda call, number: broken("status 401: no such key", retry=False))
    assert ct.run(made, store, models=permanent).failed == len(failed)
    assert len(permanent.calls) == len(failed), "permanent errors are not retried"
    second = Canned()
    progress = ct.run(made, store, models=second)
    assert (progress.done, progress.left) == (6, 0)
    answered = {key for key, times in down.items() if times == 1}
    again = {number.rpartition("/")[0] for number in second.numbers}
    assert answered
    assert not answered & again, "an answer was bought twice"
    attempts = {number.rpartition("/")[2] for number in second.numbers}
    assert f"{SENDINGS[Trouble.BROKEN] + 2}" in attempts


def _failure_reason(store: Store, match_id: str) -> str:
    last = store.open_calls(match_id)[-1]
    return f'call for "{last["actor"]}" in request {last["request"]}: out of order'


def test_resumed_run_ends_like_uninterrupted_run(store: Store, tmp_path: Any) -> None:
    made = with_model() | {"games": [{"game": "bargaining", "fixed": {"horizon": 4}}]}
    with Store.open(tmp_path / "quiet.sqlite", create=True) as other:
        ct.run(study(**made), other, models=Canned())
        expected = {record.id: essence(record) for record in records(other)}
        calls = spent(other, 1).calls
    bought = []
    for cap in range(1, calls + 1):
        models = Canned()
        progress = ct.run(study(**made, budget={"calls": cap}), store, models=models)
        bought += [number.rpartition("/")[0] for number in models.numbers]
        assert len(models.calls) == 1
    assert progress.left == 0
    assert len(set(bought)) == len(bought) == calls
    assert {record.id: essence(record) for record in records(store)} == expected


def test_simultaneous_answers_are_recorded_each(store: Store, toys: None, no_waits: None) -> None:
    def right_is_down(call: ModelCall, number: str) -> Reply | str:
        return broken() if "/right/" in number else GUESS

    progress = ct.run(study(**GUESSING), store, models=Canned(right_is_down))
    assert progress.counts == {Status.FAILED: 1}
    models = Canned(lambda call, number: GUESS)
    assert ct.run(study(**GUESSING), store, models=models).done == 1
    requests = [number.split("/")[1:3] for number in models.numbers]
    assert sorted(requests) == [["0", "right"], ["1", "left"], ["1", "right"]]
    (record,) = records(store)
    order = [(request, seat) for request in (0, 1) for seat in ("left", "right")]
    assert [(answer.request, answer.actor) for answer in record.answers] == order


def test_timeout_accepted_by_the_rules_is_final(store: Store, toys: None, no_waits: None) -> None:
    """If the rules accept a seat's silence, a resume must not ask that seat again."""
    made = GUESSING | {"games": [{"game": "guessing", "fixed": {"horizon": 2, "lenient": True}}]}

    def left_sleeps(call: ModelCall, number: str) -> Reply | str:
        return late() if "/0/left/" in number else GUESS

    first = Canned(left_sleeps)
    calls = SENDINGS[Trouble.TIMED_OUT] + 2
    halted = ct.run(study(**made, budget={"calls": calls}), store, models=first)
    assert halted.halted
    second = Canned(lambda call, number: GUESS)
    assert ct.run(study(**made), store, models=second).counts == {Status.FINISHED: 1}
    assert {number.split("/")[1] for number in second.numbers} == {"1"}
    (record,) = records(store)
    assert record.answers[0].kind is Kind.TIMED_OUT


def tamper(store: Store) -> str:
    """Change the recorded call of a live match and return the match's id."""
    calls = schema.calls
    with store.transaction() as connection:
        row = connection.execute(sa.select(calls)).first()
        assert row is not None
        changed = {**row.call, "messages": row.call["messages"][:1]}
        connection.execute(sa.update(calls).where(calls.c.id == row.id).values(call=changed))
    return str(row.match_id)


def test_changed_call_fails_resume_and_leaves_match_unchanged(store: Store) -> None:
    made = with_model() | {"games": [{"game": "bargaining", "fixed": {"horizon": 6}}]}
    ct.run(study(**made, budget={"calls": 1}), store, models=Canned())
    changed = tamper(store)
    before = store.open_calls(changed)
    progress = ct.run(study(**made), store, models=Canned())
    assert (progress.done, progress.failed, progress.left) == (5, 1, 1)
    (problem,) = progress.problems
    assert problem.startswith(f"match {changed}: the call ")
    assert problem.endswith("differs from the recorded one (other messages or settings)")
    assert store.find(changed).status is Status.LIVE
    assert store.open_calls(changed) == before


def test_failing_strategy_fails_only_its_match(
    store: Store, toys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(request: DecisionRequest) -> Any:
        raise KeyError("lost")

    assert isinstance(SPEC.strategies, dict)
    failing = SPEC.strategies["random"].__class__(
        "random", ("left", "right"), fail, SPEC.strategies["random"].settings
    )
    monkeypatch.setitem(SPEC.strategies, "random", failing)
    made = GUESSING | {"pairing": [["tiny", "luck"], ["tiny", "tiny"]]}
    progress = ct.run(study(**made), store, models=Canned(lambda call, number: GUESS))
    assert progress.counts == {Status.FINISHED: 1, Status.FAILED: 1}
    (reason,) = store.problems("small")
    assert re.search("KeyError.*lost", reason)


def test_recorded_player_repeats_its_moves_against_a_model(store: Store) -> None:
    fair = {"strategy": "equal_split"}
    ct.run(study(name="before", players={"fair": fair}, pairing="self"), store)
    (old,) = store.records("before", bodies=True)
    players = {"old": {"recorded": old.id[:12]}, "tiny": {"model": "vllm/tiny"}}
    made = study(players=players, pairing=[["old", "tiny"]])
    assert ct.run(made, store, models=Canned()).done == 1
    (record,) = records(store)
    assert record.answers[0].action == old.answers[0].action
    assert "old" in record.label("alice")


def test_unavailable_players_raise_error_before_writing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stopped = study(**with_model(), name="stopped", budget={"calls": 1})
    ct.run(stopped, store, models=Canned())
    luck, games = {"luck": {"strategy": "random"}}, [{"game": "negotiation"}]
    ct.run(study(name="others", games=games, players=luck, pairing="self"), store)
    live_match = next(r.id for r in store.records("stopped") if r.status is Status.LIVE)
    other = next(store.records("others")).id
    for player, message in (
        ({"recorded": "ffff"}, 'players.a: no match id begins with "ffff" in '),
        ({"recorded": live_match}, "has not ended"),
        ({"recorded": other}, "was played in negotiation, not in bargaining"),
        ({"model": "openai/gpt-4o"}, "players.a: set the environment variable OPENAI_API_KEY"),
        ({"person": "terminal"}, "players.a: a person plays with: cheaptalk play"),
    ):
        with pytest.raises(ct.studies.StudyError) as caught:
            ct.run(study(players={"a": player}, pairing="self"), store)
        assert message in str(caught.value)
        assert [summary.name for summary in store.studies()] == ["stopped", "others"]
    planned = plan_in_store(study(players={"a": {"recorded": "ffff"}}, pairing="self"), None)
    with pytest.raises(ct.studies.StudyError, match="there is no store with match ffff"):
        ct.studies.check(planned, None)


PEOPLE = {
    "players": {"ann": {"person": "terminal"}, "fair": {"strategy": "equal_split"}},
    "pairing": [["ann", "fair"]],
    "games": [{"game": "bargaining", "fixed": {"horizon": 4}}],
}


def test_interrupted_person_can_return_with_answers_kept(store: Store) -> None:
    calls: list[PersonCall] = []
    offer = {"alice_gain": 6000, "bob_gain": 4000, "message": ""}

    async def offer_then_leave(call: PersonCall) -> Reply:
        calls.append(call)
        if len(calls) > 1:
            raise Halted(INTERRUPTED)
        return Reply(text=json.dumps(offer), seconds=3)

    with pytest.raises(KeyboardInterrupt):
        ct.run(study(**PEOPLE), store, ask_person=offer_then_leave)
    (record,) = records(store)
    assert record.status is Status.LIVE
    assert [call["state"] for call in store.open_calls(record.id)] == ["answered", "failed"]

    async def accept(call: PersonCall) -> Reply:
        calls.append(call)
        return Reply(text='{"decision": "accept"}')

    assert ct.run(study(**PEOPLE), store, ask_person=accept).done == 1
    assert calls[1] == calls[2], "the same request is sent again"
    (record,) = records(store)
    assert record.calls == 0, "answers of people are not model calls"
    replies = [answer.calls[0]["reply"] for answer in record.answers if answer.calls]
    assert [reply["seconds"] for reply in replies] == [3, 0]
    assert not store.unresolved()


def test_unresolved_calls_are_listed_and_sent_again(store: Store) -> None:
    made = with_model() | {"games": [{"game": "bargaining", "fixed": {"horizon": 6}}]}
    ct.run(study(**made, budget={"calls": 1}), store, models=Canned())
    with store.transaction() as connection:
        connection.execute(sa.update(schema.calls).values(state="sent", reply=None))
    models = Canned()
    progress = ct.run(study(**made), store, models=models)
    assert (progress.unresolved, progress.done) == (1, 6)
    (lost,) = store.unresolved()
    place = "/".join(str(lost[key]) for key in ("match_id", "request", "actor", "attempt"))
    assert f"{place}/2" in models.numbers
    assert f"{place}/1" not in models.numbers
    assert mark_unresolved(store) == 0
    assert ct.run(study(**made), store, models=models).unresolved == 0


def test_notebook_interrupt_waits_for_calls_in_flight(store: Store) -> None:
    def interrupt_and_answer(call: ModelCall, number: str) -> str:
        if len(models.calls) == 1:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return legal(call)

    async def cell() -> None:
        made = study(**with_model() | {"games": [{"game": "bargaining", "fixed": {"horizon": 6}}]})
        ct.run(made, store, models=models, concurrency=1)

    models, loop = Canned(interrupt_and_answer), asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    loop.close()
    begun = records(store)  # the number depends on thread scheduling
    open_calls = [call for record in begun for call in store.open_calls(record.id)]
    assert {call["state"] for call in open_calls} <= {"answered"}
    assert len(open_calls) + sum(len(numbers(record)) for record in begun) == len(models.numbers)

    async def next_cell() -> ct.Progress:
        return ct.run(study(**with_model()), store, models=Canned())

    assert asyncio.run(next_cell()).done == 6, "a run works within a running event loop"


def test_store_error_stops_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_to_write(*_: Any) -> None:
        raise ct.records.StoreError("the disk is gone")

    models = Canned()
    monkeypatch.setattr("cheaptalk.records.ledger.ledger.write_matches", fail_to_write)
    with pytest.raises(ct.records.StoreError, match="the disk is gone"):
        ct.run(study(**with_model()), store, models=models)
    monkeypatch.undo()
    again = Canned()
    assert ct.run(study(**with_model()), store, models=again).done == 6
    keys = [number.rpartition("/")[0] for number in models.numbers + again.numbers]
    unresolved = len(store.unresolved())
    assert len(keys) - len(set(keys)) <= unresolved, "a recorded answer was bought again"


def test_run_restores_garbage_collector_thresholds(store: Store) -> None:
    during: list[tuple[int, int, int]] = []

    def note_threshold(call: ModelCall, number: str) -> str:
        during.append(gc.get_threshold())
        return legal(call, number)

    before = gc.get_threshold()
    ct.run(study(**with_model()), store, models=Canned(note_threshold))
    assert gc.get_threshold() == before
    assert during
    assert min(during) > before, "live matches are collected too often"


def test_progress_estimates_remaining_time_and_cost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "BEAT", 0.0)
    monkeypatch.setattr("cheaptalk.studies.runs.progress.BEGINNING", 0.0)
    reports: list[tuple[int, float | None, float | None]] = []

    def note(progress: ct.Progress) -> None:
        reports.append((progress.done, progress.seconds_left, progress.dollars_left))

    price = Price(models=("vllm/*",), input=1_000, output=1_000, as_of=date(2026, 1, 1))
    made = study(**with_model() | {"instances": 20})
    prices = Prices({"test": (price,)})
    cost = ct.run(made, store, models=Canned(), prices=prices, concurrency=1, progress=note).cost
    assert all(seconds is None for done, seconds, _ in reports if done < 3)
    middle = [report for report in reports if 20 <= report[0] <= 30]
    assert middle
    assert all(seconds is not None and seconds > 0 for _, seconds, _ in middle)
    assert cost is not None
    for done, _, dollars in middle:
        assert dollars == pytest.approx(cost.dollars * (40 - done) / 40, rel=0.3)
    reports.clear()
    again, cap = made.model_copy(update={"seed": 9}), ct.studies.Cap(calls=cost.calls // 2)
    ct.run(again, store, models=Canned(), prices=prices, concurrency=1, cap=cap, progress=note)
    assert any(seconds for _, seconds, _ in reports)
    assert reports[-1][1:] == (None, None), "no forecast when the run has stopped"
