"""Batches whose provider stumbles: every token is recorded or listed, none bought twice."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.calls.batches import READINGS
from cheaptalk.records import Status, Store
from cheaptalk.records.costs import cost_of
from cheaptalk.records.store import schema
from tests.batch_server import FORMS, BatchServer
from tests.calls.test_batching import GAMES, MODELS, QUICK, bare, calls, records, small, study

LATER = QUICK._replace(wait=False)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")


def rows(store: Store) -> list[dict[str, Any]]:
    """The ledger: calls that failed, are open or belong to no record yet."""
    with store.engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(schema.calls)).mappings()]


def ways(store: Store) -> list[str]:
    """How the answers of the calls that failed were asked for."""
    return [row["reply"]["route"] for row in rows(store) if row["state"] == "failed"]


@pytest.mark.parametrize(
    ("model", "takes", "refused", "taken"),
    [
        (MODELS[0], ["tools"], ["schema"], "tool"),
        (MODELS[0], [], ["schema", "tool"], "text"),
        (MODELS[1], [], ["tool"], "text"),
    ],
)
def test_a_form_that_is_refused_is_asked_for_by_the_next_way_in_the_next_batch_and_ever_after(
    store: Store, model: str, takes: list[str], refused: list[str], taken: str
) -> None:
    with BatchServer(takes=takes) as server:
        progress = ct.run(small(server, models=[model]), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 4}
    assert server.sizes[: len(refused) + 1] == [4] * (len(refused) + 1)
    assert ways(store) == [way for way in refused for _ in range(4)]
    assert {call["reply"]["route"] for call in calls(store)} == {taken}
    assert sum(server.sizes) == server.billed.total() + 4 * len(refused)
    assert server.billed.total() == len(calls(store))


def test_a_run_that_comes_back_knows_what_was_refused_and_records_the_same(
    store: Store, tmp_path: Any
) -> None:
    with BatchServer(takes=[]) as server, Store.open(tmp_path / "whole", create=True) as whole:
        while ct.run(small(server), store, batching=LATER).left:
            assert len(server.sizes) < 20
        assert ways(store) == ["schema"] * 4 + ["tool"] * 4
        ct.run(small(server), whole, batching=QUICK)
    assert {k: bare(one) for k, one in records(store).items()} == {
        k: bare(one) for k, one in records(whole).items()
    }


def test_a_run_call_by_call_goes_on_from_batches_that_asked_by_another_way(store: Store) -> None:
    with BatchServer(takes=[]) as server:
        ct.run(small(server, budget={"calls": 12}), store, batching=QUICK)
        assert any(row["state"] == "answered" for row in rows(store))
        assert ct.run(small(server), store).counts == {Status.FINISHED: 4}


def test_a_way_that_the_study_demands_is_the_only_one(store: Store) -> None:
    demanding = {"model": MODELS[0], "answers": "schema", "max_tokens": 500}
    with BatchServer(takes=[]) as server:
        demanding["model"] = f"{MODELS[0]}@{server.url}"
        progress = ct.run(small(server, players={"one": demanding}), store, batching=QUICK)
    assert progress.counts == {Status.FAILED: 4}
    assert server.sizes == [4]


@pytest.mark.parametrize("model", ["openai/gpt-4-turbo", "openai/gpt-3.5-turbo", "openai/gpt-4"])
def test_a_model_that_is_known_to_take_no_schema_is_asked_to_call_a_tool(
    store: Store, model: str
) -> None:
    with BatchServer(takes=["tools"]) as server:
        ct.run(small(server, models=[model]), store, batching=QUICK)
    assert sum(server.sizes) == server.billed.total() == len(calls(store))
    assert FORMS[0] not in next(iter(server.batches.values()))["lines"][0][1]


class Cut:
    """Serves results that break off in the middle, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.server: BatchServer

    async def before(self, step: str, request: web.Request) -> web.StreamResponse | None:
        if step != "results" or self.times == 0:
            return None
        self.times -= 1
        name = request.match_info["name"]
        whole = self.server.files.get(name) or self.server.batches[name]["results"]
        return web.Response(body=whole[: len(whole) // 2])


def forty(server: BatchServer, model: str) -> ct.Study:
    """Forty matches."""
    return study(server, model, games=GAMES[1:3], instances=20)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("times", [1, READINGS - 1])
def test_results_that_break_off_are_read_again(store: Store, model: str, times: int) -> None:
    cut = Cut(times)
    with BatchServer(before=cut.before) as server:
        cut.server = server
        progress = ct.run(forty(server, model), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 40}
    assert sum(server.sizes) == server.billed.total() == len(calls(store))
    assert store.unresolved() == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("batching", [QUICK, LATER], ids=["waits", "comes back"])
def test_replies_that_are_lost_for_good_are_listed_and_their_calls_sent_again(
    store: Store, model: str, batching: ct.studies.Batching
) -> None:
    cut = Cut(READINGS)
    with BatchServer(before=cut.before) as server:
        cut.server = server
        while (progress := ct.run(forty(server, model), store, batching=batching)).left:
            assert len(server.sizes) < 30
    assert progress.planned == 40
    lost = store.unresolved()
    assert 10 < len(lost) < 40
    assert server.billed.total() == len(calls(store)) + len(lost)
    assert max(server.billed.values()) == 1


def unlucky(call: str, times: int) -> str:
    """A fate for every call, whatever came of it before; one in two is answered."""
    fates = ["answered", "expired", "overloaded", "answered", "missing", "answered", "refused"]
    return "answered" if times > 3 else fates[(int(call[:8], 16) + times) % len(fates)]


@pytest.mark.parametrize("model", MODELS)
def test_the_provider_s_account_is_what_is_recorded_and_what_is_listed(
    store: Store, model: str
) -> None:
    with BatchServer(fate=unlucky) as server:
        progress = ct.run(forty(server, model), store, batching=QUICK)
    assert sum(progress.counts.values()) == 40
    open_calls = {row["state"] for row in rows(store)}
    assert open_calls <= {"failed", "unresolved"}
    assert store.unresolved()
    assert server.billed.total() == len(calls(store)) + len(store.unresolved())


@pytest.mark.parametrize("model", MODELS)
def test_a_provider_that_takes_no_batch_just_now_is_sent_the_file_once(
    store: Store, model: str
) -> None:
    steps: list[str] = []

    async def busy(step: str, request: web.Request) -> web.StreamResponse | None:
        steps.append(step)
        if step == "create" and steps.count("create") <= 3:
            return web.json_response({"error": {"message": "too many"}}, status=429)
        return None

    with BatchServer(before=busy) as server:
        progress = ct.run(forty(server, model), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 40}
    assert steps.count("upload") == (len(server.sizes) if model == MODELS[0] else 0)
    assert sum(server.sizes) == server.billed.total() == len(calls(store))


def test_an_account_without_money_halts_the_run_and_goes_on_once_it_has_some(store: Store) -> None:
    broke = True

    async def spent(step: str, request: web.Request) -> web.StreamResponse | None:
        error = {"error": {"message": "pay first", "code": "insufficient_quota"}}
        return web.json_response(error, status=429) if broke and step == "create" else None

    with BatchServer(before=spent) as server:
        progress = ct.run(small(server), store, batching=QUICK)
        assert progress.halted is not None
        assert "pay first" in progress.halted
        assert progress.failed == 0
        broke = False
        assert ct.run(small(server), store, batching=QUICK).counts == {Status.FINISHED: 4}
    assert sum(server.sizes) == server.billed.total() == len(calls(store))


Budget = Callable[[Store], dict[str, float]]
BUDGETS: dict[str, Budget] = {
    "calls": lambda whole: {"calls": len(calls(whole)) // 2},
    "tokens": lambda whole: {"tokens": whole_cost(whole).tokens // 2},
    "dollars": lambda whole: {"dollars": whole_cost(whole).dollars / 2},
}


def largest(store: Store, unit: str) -> float:
    """What the largest call took."""
    return float(max(getattr(cost_of(call["reply"]), unit) for call in calls(store)))


def whole_cost(store: Store) -> ct.records.Cost:
    return ct.records.study_cost(store, "batched")


@pytest.mark.parametrize("batching", [QUICK, LATER], ids=["waits", "comes back"])
@pytest.mark.parametrize("unit", list(BUDGETS))
def test_half_the_needed_budget_stops_and_goes_on_when_it_is_raised(
    store: Store, tmp_path: Any, unit: str, batching: ct.studies.Batching
) -> None:
    with BatchServer() as server, Store.open(tmp_path / "whole", create=True) as whole:
        ct.run(study(server, games=GAMES[1:3], instances=5), whole, batching=QUICK)
        needed = server.billed.total()
        cap = BUDGETS[unit](whole)

        def play(**budget: Any) -> Any:
            plan = study(server, games=GAMES[1:3], instances=5, **budget)
            return ct.run(plan, store, batching=batching)

        while (progress := play(budget=cap)).waiting:
            assert len(server.sizes) < 40
        assert "the budget of" in progress.halted
        assert 0 < progress.left <= 10
        cost = whole_cost(store)
        one_call = 0 if unit == "calls" else largest(whole, unit)  # its size is an estimate
        assert getattr(cost, unit) - one_call <= cap[unit]
        assert cost.calls == server.billed.total() - needed
        assert store.unresolved() == []
        assert progress.waiting == 0
        while play().left:
            pass
        assert whole_cost(store) == whole_cost(whole)
        assert server.billed.total() == 2 * needed
