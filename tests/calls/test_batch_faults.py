"""Provider faults during batches: every token is recorded or listed, no call is paid for twice."""

from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.calls.batches import READINGS
from cheaptalk.records import Status, Store
from cheaptalk.records.costs import cost_of
from cheaptalk.records.store import schema
from tests.batch_server import BatchServer
from tests.calls.test_batching import GAMES, MODELS, QUICK, calls, comparable, records, small, study

LATER = QUICK._replace(wait=False)


def ledger_rows(store: Store) -> list[dict[str, Any]]:
    """Return the ledger: calls that failed, are open or belong to no record yet."""
    with store.engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(schema.calls)).mappings()]


def failed_routes(store: Store) -> list[str]:
    """Return the answer form requested by each failed call."""
    return [row["reply"]["route"] for row in ledger_rows(store) if row["state"] == "failed"]


@pytest.mark.parametrize(
    ("model", "supported", "rejected", "accepted"),
    [
        (MODELS[0], ["tools"], ["schema"], "tool"),
        (MODELS[0], [], ["schema", "tool"], "text"),
        (MODELS[1], [], ["tool"], "text"),
        ("openai/gpt-4", ["tools"], [], "tool"),
    ],
)
def test_rejected_answer_form_falls_back_in_the_next_batch(
    store: Store, model: str, supported: list[str], rejected: list[str], accepted: str
) -> None:
    with BatchServer(takes=supported) as server:
        progress = ct.run(small(server, models=[model]), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 4}
    assert server.sizes[: len(rejected) + 1] == [4] * (len(rejected) + 1)
    assert failed_routes(store) == [route for route in rejected for _ in range(4)]
    assert {call["reply"]["route"] for call in calls(store)} == {accepted}
    assert sum(server.sizes) == server.billed.total() + 4 * len(rejected)
    assert server.billed.total() == len(calls(store))


def test_resumed_run_remembers_rejected_answer_forms(store: Store, tmp_path: Any) -> None:
    with BatchServer(takes=[]) as server, Store.open(tmp_path / "whole", create=True) as complete:
        while ct.run(small(server), store, batching=LATER).left:
            assert len(server.sizes) < 20
        assert failed_routes(store) == ["schema"] * 4 + ["tool"] * 4
        ct.run(small(server), complete, batching=QUICK)
    assert comparable(records(store)) == comparable(records(complete))


def test_unbatched_run_resumes_batched_run_with_another_answer_form(store: Store) -> None:
    with BatchServer(takes=[]) as server:
        ct.run(small(server, budget={"calls": 12}), store, batching=QUICK)
        assert any(row["state"] == "answered" for row in ledger_rows(store))
        assert ct.run(small(server), store).counts == {Status.FINISHED: 4}
        before = len(server.sizes)
        required = {"one": {"model": f"{MODELS[0]}@{server.url}", "answers": "schema"}}
        failed = ct.run(small(server, players=required, name="strict"), store, batching=QUICK)
        assert failed.counts == {Status.FAILED: 4}
        assert server.sizes[before:] == [4], "a required answer form has no fallback"


class TruncatingServer(BatchServer):
    """A server that truncates results a given number of times."""

    def __init__(self, times: int) -> None:
        super().__init__(before=self.truncate)
        self.times = times

    async def truncate(self, step: str, request: web.Request) -> web.StreamResponse | None:
        if step != "results" or self.times == 0:
            return None
        self.times -= 1
        body = self.results_of(request)
        return web.Response(body=body[: len(body) // 2])


def six_matches(server: BatchServer, *models: str, **changes: Any) -> ct.Study:
    """Return a study of six matches of each model."""
    return study(server, *models, games=GAMES[1:3], instances=3, **changes)


@pytest.mark.parametrize(
    ("model", "batching", "times"),
    [
        (MODELS[0], QUICK, 1),
        (MODELS[1], QUICK, READINGS - 1),
        (MODELS[0], QUICK, READINGS),
        (MODELS[1], LATER, READINGS),
    ],
)
def test_lost_replies_are_read_again_then_listed_and_resent(
    store: Store, model: str, batching: ct.studies.Batching, times: int
) -> None:
    with TruncatingServer(times) as server:
        while (progress := ct.run(six_matches(server, model), store, batching=batching)).left:
            assert len(server.sizes) < 30
    assert progress.planned == 6
    lost = store.unresolved()
    assert (1 < len(lost) < 6) if times == READINGS else not lost
    assert server.billed.total() == len(calls(store)) + len(lost)
    assert max(server.billed.values()) == 1


def mixed_fate(call: str, times: int) -> str:
    """Return a call's fate, regardless of its earlier ones; half of the fates are answers."""
    fates = ["answered", "expired", "overloaded", "answered", "missing", "answered", "refused"]
    return "answered" if times > 3 else fates[(int(call[:8], 16) + times) % len(fates)]


def test_every_billed_call_is_recorded_or_unresolved(store: Store) -> None:
    with BatchServer(fate=mixed_fate) as server:
        progress = ct.run(six_matches(server, *MODELS), store, batching=QUICK)
    assert sum(progress.counts.values()) == 12
    assert {row["state"] for row in ledger_rows(store)} <= {"failed", "unresolved"}
    assert store.unresolved()
    assert server.billed.total() == len(calls(store)) + len(store.unresolved())


@pytest.mark.parametrize(
    ("unit", "batching"), [("calls", LATER), ("tokens", QUICK), ("dollars", QUICK)]
)
def test_run_stops_at_half_the_budget_and_resumes_without_it(
    store: Store, tmp_path: Any, unit: str, batching: ct.studies.Batching
) -> None:
    def cost_in(store: Store) -> ct.records.Cost:
        return ct.records.study_cost(store, "batched")

    with BatchServer() as server, Store.open(tmp_path / "whole", create=True) as uncapped:

        def play(store: Store, batching: ct.studies.Batching = batching, **budget: Any) -> Any:
            return ct.run(six_matches(server, MODELS[0], **budget), store, batching=batching)

        play(uncapped, QUICK)
        needed, total = server.billed.total(), getattr(cost_in(uncapped), unit)
        cap = total / 2 if unit == "dollars" else total // 2
        while (progress := play(store, budget={unit: cap})).waiting:
            assert len(server.sizes) < 40
        assert "the budget of" in progress.halted
        assert 0 < progress.left <= 6
        cost = cost_in(store)
        largest = max(getattr(cost_of(call["reply"]), unit) for call in calls(uncapped))
        excess = 0 if unit == "calls" else largest  # the size of a call is an estimate
        assert getattr(cost, unit) - excess <= cap
        assert cost.calls == server.billed.total() - needed
        assert (store.unresolved(), progress.waiting) == ([], 0)
        while play(store).left:
            pass
        assert cost_in(store) == cost_in(uncapped)
        assert server.billed.total() == 2 * needed
