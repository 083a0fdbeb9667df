"""Batches: one per ply, the same records as single calls, and no call paid for twice."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.calls.batches import SENDINGS, Batching
from cheaptalk.models import Reply
from cheaptalk.players import Kind, PersonCall
from cheaptalk.records import Status, Store
from cheaptalk.records.store import schema
from tests.batch_server import BatchServer
from tests.fakes import at_home, essence

QUICK = Batching(poll=0.01)
MODELS = ["openai/gpt-4o", "anthropic/claude-sonnet-4-5"]
GAMES: list[dict[str, Any]] = [
    {"game": "deal_or_no_deal"},
    {"game": "bargaining", "fixed": {"horizon": 3}},
    {"game": "negotiation", "fixed": {"horizon": 3}},
    {"game": "persuasion", "fixed": {"horizon": 2, "signal": "text"}},
]


def study(server: BatchServer, *models: str, **changes: Any) -> ct.Study:
    """Return a study of self-play in Deal or No Deal and GLEE's games, on two instances."""
    players = {
        model.partition("/")[0]: {"model": f"{model}@{server.url}", "max_tokens": 500}
        for model in models or MODELS[:1]
    }
    spec = {
        "name": "batched",
        "games": GAMES,
        "players": players,
        "pairing": "self",
        "instances": 2,
    }
    return ct.studies.parse_study(spec | changes, "batched")


def small(server: BatchServer, **changes: Any) -> ct.Study:
    """Return a study of four bargaining matches."""
    models = changes.pop("models", ())
    return study(server, *models, games=GAMES[1:2], instances=4, **changes)


def records(store: Store) -> dict[str, ct.MatchRecord]:
    return {record.id: record for record in store.records("batched", bodies=True)}


def comparable(matches: dict[str, ct.MatchRecord]) -> dict[str, dict[str, Any]]:
    """Return records without the fields that differ between batches and single calls."""
    data = {id_: essence(record) | {"dollars": None} for id_, record in matches.items()}
    for call in calls_of(data.values()):
        del call["reply"]["batch"]
        call["reply"].pop("dollars", None)
    return data


def calls_of(matches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for match in matches for answer in match["answers"] for call in answer["calls"]]


def calls(store: Store) -> list[dict[str, Any]]:
    return calls_of(record.as_json() for record in records(store).values())


def test_batched_records_match_unbatched_records_at_half_price(
    tmp_path: Path, store: Store
) -> None:
    with BatchServer() as server, Store.open(tmp_path / "single.sqlite", create=True) as single:
        plan = study(server, *MODELS, instances=1)
        assert ct.run(plan, store, batching=QUICK).counts == {Status.FINISHED: 8}
        assert server.singles == 0
        ct.run(plan, single)
        batched, direct = records(store), records(single)
    assert comparable(batched) == comparable(direct)
    assert len(calls(store)) == sum(server.sizes) == server.billed.total() == server.singles > 0
    assert all(call["reply"]["batch"] for call in calls(store))
    for id_, record in batched.items():
        assert 0 < (record.dollars or 0) == pytest.approx((direct[id_].dollars or 0) / 2)
    rows = batch_rows(store)
    sizes = {name: len(batch["lines"]) for name, batch in server.batches.items()}
    assert {row["name"]: row["calls"] for row in rows} == sizes
    assert {row["state"] for row in rows} == {"collected"}
    assert len({row["tag"] for row in rows}) == len(rows)
    assert all(row["planned"] <= row["submitted"] <= row["collected"] for row in rows)


def test_each_batch_advances_all_live_matches_by_one_ply(store: Store) -> None:
    games = [{"game": "guess_the_average", "fixed": {"players": 4, "rounds": 2}}]
    with BatchServer() as server:
        ct.run(small(server), store, batching=QUICK)
        decisions = [len(record.answers) for record in records(store).values()]
        assert server.sizes == [sum(n > ply for n in decisions) for ply in range(max(decisions))]
        assert server.sizes[0] == 4
        ct.run(study(server, games=games, name="at_once"), store, batching=QUICK)
        assert server.sizes[-2:] == [8, 8], "simultaneous requests share a batch"
        before = len(server.sizes)
        queued = small(server, name="queued", seed=2)
        assert ct.run(queued, store, batching=QUICK, concurrency=3).left == 0
        assert max(server.sizes[before:]) == 3


@pytest.mark.parametrize(
    ("models", "fate"),
    [
        (MODELS[:1], "overloaded"),
        (MODELS[1:], "expired"),
        (MODELS, "missing"),
        (MODELS, "cancelled"),
    ],
)
def test_transient_failures_are_retried_in_the_next_batch(
    store: Store, models: list[str], fate: str
) -> None:
    def first_time(call: str, times: int) -> str:
        return fate if times == 1 and call < "8" else "answered"

    with BatchServer(fate=first_time) as server:
        progress = ct.run(study(server, *models, games=GAMES[1:3]), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 4 * len(models)}
    lost = [call for id_ in records(store) for call in store.open_calls(id_)]
    assert len(lost) == sum(server.sizes) - len(calls(store)) > 0
    assert {call["state"] for call in lost} == {"unresolved" if fate == "missing" else "failed"}
    assert server.billed.total() == len(calls(store)) + len(store.unresolved())


@pytest.mark.parametrize(
    ("fate", "requests", "status", "kind"),
    [
        ("wrong", 1, Status.FAILED, None),
        ("overloaded", SENDINGS, Status.FAILED, None),
        ("refused", 3, Status.FORFEITED, Kind.REFUSED),
    ],
)
def test_failures_are_retried_a_limited_number_of_times(
    store: Store, fate: str, requests: int, status: Status, kind: Kind | None
) -> None:
    """A refusal is followed by a new request, which is a call of its own."""
    with BatchServer(fate=lambda call, times: fate) as server:
        ct.run(study(server, *MODELS, games=GAMES[1:2]), store, batching=QUICK)
    assert server.sizes == [2] * requests * len(MODELS)
    for record in records(store).values():
        assert record.status is status
        assert {call["sending"] for answer in record.answers for call in answer.calls} <= {1}
        assert [answer.kind for answer in record.answers] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("final", "sizes"),
    [("expired", [4, 4]), ("cancelled", [4, 4]), ("failed model_not_found", [4])],
)
def test_failed_batch_is_resubmitted_unless_the_error_is_permanent(
    store: Store, final: str, sizes: list[int]
) -> None:
    with BatchServer(final=lambda number: "completed" if number else final) as server:
        progress = ct.run(small(server), store, batching=QUICK)
    assert server.sizes[: len(sizes)] == sizes
    permanent = len(sizes) == 1
    assert progress.counts == {Status.FAILED if permanent else Status.FINISHED: 4}
    assert permanent is any("model_not_found" in problem for problem in progress.problems)


def test_batch_waits_for_the_token_limit(store: Store) -> None:
    def full(number: int) -> str:
        return "failed token_limit_exceeded" if number < 2 * SENDINGS else "completed"

    with BatchServer(final=full) as server:
        progress = ct.run(small(server), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 4}
    assert server.sizes[: 2 * SENDINGS + 1] == [4] * (2 * SENDINGS + 1)
    assert {call["sending"] for call in calls(store)} == {1}
    assert len({row["tag"] for row in batch_rows(store)}) == len(server.sizes) - 2 * SENDINGS


def test_run_can_exit_and_collect_batches_later(store: Store) -> None:
    later = QUICK._replace(wait=False)
    with BatchServer(looks=3) as server:
        plan = small(server)
        progress = ct.run(plan, store, batching=later)
        assert (progress.waiting, progress.left) == (4, 4)
        assert "resume the run later" in (progress.halted or "")
        with pytest.raises(ct.studies.StudyError, match=r"4 calls of .* are in a provider's batch"):
            ct.run(plan, store)
        other = small(server, name="other", players={"fair": {"strategy": "equal_split"}})
        assert ct.run(other, store).unresolved == 0, "its calls stay in their batches"
        for _ in range(100):
            progress = ct.run(plan, store, batching=later)
            if not progress.left:
                break
        assert progress.left == 0
        assert server.billed.total() == sum(server.sizes) == len(calls(store))
    assert not store.unresolved()


def test_progress_shows_the_state_of_each_batch(store: Store) -> None:
    seen = []
    with BatchServer(looks=2) as server:
        ct.run(small(server), store, batching=QUICK, progress=lambda p: seen.append(p.batches))
    assert "ply 1: validating 0 of 4 after 0 min" in seen
    assert "ply 1: in_progress 0 of 4 after 0 min" in seen
    assert "ply 1: completed 4 of 4 after 0 min" in seen
    assert any(state.startswith("ply 2: ") for state in seen)


def test_wrong_key_halts_the_run_until_it_is_corrected(store: Store) -> None:
    async def locked(step: str, request: Any) -> Any:
        body = {"error": {"message": f"no such key: {request.headers['Authorization']}"}}
        return web.json_response(body, status=401) if wrong else None

    wrong = True
    with BatchServer(before=locked) as server, at_home("openai", server.url):
        halted = ct.run(small(server), store, batching=QUICK).halted or ""
        assert "status 401: no such key: Bearer [key]" in halted
        assert "secret" not in halted
        assert not server.sizes
        wrong = False
        assert ct.run(small(server), store, batching=QUICK).counts == {Status.FINISHED: 4}
    assert server.billed.total() == len(calls(store)) == sum(server.sizes)


@pytest.mark.parametrize(
    ("model", "step"),
    [
        *((MODELS[0], step) for step in ("upload", "create", "created", "look", "list")),
        *((MODELS[1], step) for step in ("create", "created", "results", "list")),
    ],
)
def test_unavailable_server_is_retried_without_duplicate_submissions(
    store: Store, model: str, step: str
) -> None:
    away, steps = {"created": int(step == "list")} | {step: 2}, Counter[str]()

    async def stumble(now: str, request: Any) -> Any:
        steps[now] += 1
        if away.get(now):
            away[now] -= 1
            status = 429 if step == "create" else 503
            return web.json_response({"error": {"message": "overloaded"}}, status=status)
        return None

    with BatchServer(before=stumble) as server:
        progress = ct.run(small(server, models=[model]), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 4}
    assert server.billed.total() == len(calls(store)) == sum(server.sizes)
    uploads = len(server.sizes) + 2 * (step == "upload")
    assert steps["upload"] == (uploads if model == MODELS[0] else 0), "files are uploaded once"


def test_forgotten_batch_leaves_its_calls_unresolved(store: Store) -> None:
    with BatchServer() as server:
        plan = study(server, *MODELS, games=GAMES[1:2])
        ct.run(plan, store, batching=QUICK._replace(wait=False))
        server.batches.clear()
        progress = ct.run(plan, store, batching=QUICK)
        assert progress.left == 0
    assert len(store.unresolved()) == 4
    assert all("no such batch" in call["reply"]["detail"] for call in store.unresolved())


@pytest.mark.parametrize(
    ("player", "reason"),
    [
        ({"person": "terminal"}, "people cannot wait"),
        ({"model": "openai/gpt-4o", "stream": True}, "batches do not support streaming"),
        ({"model": "vllm/tiny"}, "vllm/tiny does not support batches"),
    ],
)
def test_players_without_batch_support_are_rejected_before_any_write(
    store: Store, player: dict[str, Any], reason: str
) -> None:
    async def no_person(call: PersonCall) -> Reply:
        raise AssertionError("no person should be asked")

    spec = {"name": "no", "games": GAMES[1:2], "players": {"one": player}, "pairing": "self"}
    plan = ct.studies.parse_study(spec, "no")
    with pytest.raises(ct.studies.StudyError, match=f"^players.one: {reason}"):
        ct.run(plan, store, batching=QUICK, ask_person=no_person)
    assert store.studies() == []


def batch_rows(store: Store) -> list[dict[str, Any]]:
    with store.engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(schema.batches)).mappings()]
