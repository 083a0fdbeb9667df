"""Batches: one for each ply, the same records as call by call, and nothing bought twice."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from aiohttp import web

import cheaptalk as ct
from cheaptalk.calls.batches import SENDINGS, Batching
from cheaptalk.mock_server import formats
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


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")


def study(server: BatchServer, *models: str, **changes: Any) -> ct.Study:
    """Each model with itself at Deal or No Deal and at GLEE's games, on two instances."""
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
    """Four matches of bargaining."""
    models = changes.pop("models", ())
    return study(server, *models, games=GAMES[1:2], instances=4, **changes)


def records(store: Store) -> dict[str, ct.MatchRecord]:
    return {record.id: record for record in store.records("batched", bodies=True)}


def bare(record: ct.MatchRecord) -> dict[str, Any]:
    """A record without what differs between a batch and single calls."""
    data = essence(record)
    for answer in data["answers"]:
        for call in answer["calls"]:
            del call["reply"]["batch"]
            call["reply"].pop("dollars", None)
    return data | {"dollars": None}


def calls(store: Store) -> list[dict[str, Any]]:
    """All recorded calls."""
    return [
        call
        for record in records(store).values()
        for answer in record.answers
        for call in answer.calls
    ]


@pytest.mark.parametrize("models", [MODELS[:1], MODELS[1:], MODELS], ids=["open", "ant", "both"])
def test_records_are_the_same_as_call_by_call(
    tmp_path: Path, store: Store, models: list[str]
) -> None:
    with BatchServer() as server, Store.open(tmp_path / "single.sqlite", create=True) as single:
        plan = study(server, *models)
        assert ct.run(plan, store, batching=QUICK).counts == {Status.FINISHED: 8 * len(models)}
        assert server.singles == 0
        ct.run(plan, single)
        assert server.singles > 0
        assert {k: bare(one) for k, one in records(store).items()} == {
            k: bare(one) for k, one in records(single).items()
        }
    assert len(calls(store)) == sum(server.sizes) == server.billed.total() == server.singles
    assert all(call["reply"]["batch"] for call in calls(store))


def test_all_live_matches_go_one_ply_with_each_batch(store: Store) -> None:
    with BatchServer() as server:
        ct.run(small(server), store, batching=QUICK)
    questions = [len(record.answers) for record in records(store).values()]
    most = max(questions)
    assert server.sizes == [sum(n > ply for n in questions) for ply in range(most)]
    assert server.sizes[0] == 4


def test_simultaneous_questions_go_into_one_batch(store: Store) -> None:
    games = [{"game": "guess_the_average", "fixed": {"players": 4, "rounds": 2}}]
    with BatchServer() as server:
        ct.run(study(server, games=games), store, batching=QUICK)
    assert server.sizes == [8, 8]


def test_with_more_matches_than_play_at_once_the_next_ones_join(store: Store) -> None:
    with BatchServer() as server:
        progress = ct.run(small(server), store, batching=QUICK, concurrency=3)
    assert progress.counts == {Status.FINISHED: 4}
    assert max(server.sizes) == 3


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fate", ["overloaded", "expired", "missing"])
def test_a_call_that_failed_for_a_passing_reason_is_in_the_next_batch(
    store: Store, model: str, fate: str
) -> None:
    def first_time(call: str, times: int) -> str:
        return fate if times == 1 and call < "8" else "answered"

    with BatchServer(fate=first_time) as server:
        progress = ct.run(study(server, model), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 8}
    lost = [call for id_ in records(store) for call in store.open_calls(id_)]
    assert len(lost) == sum(server.sizes) - len(calls(store)) > 0
    assert {call["state"] for call in lost} == {"unresolved" if fate == "missing" else "failed"}
    assert server.billed.total() == len(calls(store)) + len(store.unresolved())


def test_a_call_is_not_put_into_batches_for_ever(store: Store) -> None:
    with BatchServer(fate=lambda call, times: "overloaded") as server:
        progress = ct.run(small(server), store, batching=QUICK)
    assert progress.counts == {Status.FAILED: 4}
    assert server.sizes == [4] * SENDINGS


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("fate", "asked", "status", "kind"),
    [("wrong", 1, Status.FAILED, None), ("refused", 3, Status.FORFEITED, Kind.REFUSED)],
)
def test_a_call_that_failed_for_good_is_not_sent_again(
    store: Store, model: str, fate: str, asked: int, status: Status, kind: Kind | None
) -> None:
    """After a refusal the question is asked again, in a call of its own."""
    with BatchServer(fate=lambda call, times: fate) as server:
        ct.run(study(server, model, games=GAMES[1:2]), store, batching=QUICK)
    assert server.sizes == [2] * asked
    for record in records(store).values():
        assert record.status is status
        assert {call["sending"] for answer in record.answers for call in answer.calls} <= {1}
        assert [answer.kind for answer in record.answers] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("final", "sizes"),
    [
        ("expired", [4, 4]),
        ("cancelled", [4, 4]),
        ("failed model_not_found", [4]),
    ],
)
def test_a_batch_that_came_to_nothing_is_submitted_again_where_that_helps(
    store: Store, final: str, sizes: list[int]
) -> None:
    with BatchServer(final=lambda number: "completed" if number else final) as server:
        progress = ct.run(small(server), store, batching=QUICK)
    assert server.sizes[: len(sizes)] == sizes
    if len(sizes) == 1:
        assert progress.counts == {Status.FAILED: 4}
        assert "model_not_found" in next(iter(progress.problems))
    else:
        assert progress.counts == {Status.FINISHED: 4}


def test_a_batch_for_which_there_is_no_room_waits_for_it(store: Store) -> None:
    def full(number: int) -> str:
        return "failed token_limit_exceeded" if number < 2 * SENDINGS else "completed"

    with BatchServer(final=full) as server:
        progress = ct.run(small(server), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 4}
    assert server.sizes[: 2 * SENDINGS + 1] == [4] * (2 * SENDINGS + 1)
    assert {call["sending"] for call in calls(store)} == {1}
    assert len({row["tag"] for row in batches(store)}) == len(server.sizes) - 2 * SENDINGS


def test_a_run_need_not_wait(store: Store) -> None:
    later = QUICK._replace(wait=False)
    with BatchServer(looks=3) as server:
        plan = small(server)
        progress = ct.run(plan, store, batching=later)
        assert (progress.waiting, progress.left) == (4, 4)
        assert progress.halted is not None
        assert "resume the run later" in progress.halted
        with pytest.raises(ct.StudyError, match=r"4 calls of .* are in a provider's batch"):
            ct.run(plan, store)
        rounds = 0
        while progress.left:
            progress = ct.run(plan, store, batching=later)
            rounds += 1
            assert rounds < 100
        assert server.billed.total() == sum(server.sizes) == len(calls(store))
    assert not store.unresolved()


def test_a_call_in_a_batch_is_neither_unresolved_nor_lost_to_another_study(store: Store) -> None:
    later = QUICK._replace(wait=False)
    with BatchServer() as server:
        ct.run(small(server), store, batching=later)
        other = {"name": "other", "players": {"fair": {"strategy": "equal_split"}}}
        progress = ct.run(small(server, **other), store)
        assert progress.unresolved == 0
        assert ct.run(small(server), store, batching=QUICK).unresolved == 0
    assert server.billed.total() == len(calls(store)) == sum(server.sizes)


def test_a_budget_is_spent_to_its_end_and_the_rest_resumes(store: Store) -> None:
    with BatchServer() as server:
        progress = ct.run(small(server, budget={"calls": 6}), store, batching=QUICK)
        assert progress.halted == "the budget of 6 calls is exhausted"
        assert sum(server.sizes) == server.billed.total() == 6
        assert not store.unresolved()
        assert progress.waiting == 0
        assert ct.run(small(server), store, batching=QUICK).left == 0
    assert server.billed.total() == len(calls(store))


def test_a_batch_is_cheaper(store: Store, tmp_path: Path) -> None:
    with BatchServer() as server:
        ct.run(small(server), store, batching=QUICK)
        with Store.open(tmp_path / "single", create=True) as single:
            ct.run(small(server), single)
            pairs = zip(records(store).values(), records(single).values(), strict=True)
            for batched, direct in pairs:
                assert batched.dollars is not None
                assert direct.dollars is not None
                assert 0 < batched.dollars == pytest.approx(direct.dollars / 2)


def test_usage_that_cannot_be_true_is_counted_by_us_in_batches_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "counted", lambda conversation, text: (1, 0))
    with BatchServer() as server:
        cost = ct.run(small(server, models=MODELS), store, batching=QUICK).cost
    assert cost is not None
    assert cost.implausible == cost.calls > 0
    assert cost.usage.input_tokens > 100 * cost.calls


def test_what_was_asked_is_told_while_it_waits(store: Store) -> None:
    told = []
    with BatchServer(looks=2) as server:
        ct.run(small(server), store, batching=QUICK, progress=lambda p: told.append(p.batches))
    assert "ply 1: validating 0 of 4 after 0 min" in told
    assert "ply 1: in_progress 0 of 4 after 0 min" in told
    assert "ply 1: completed 4 of 4 after 0 min" in told
    assert any(one.startswith("ply 2: ") for one in told)


def test_a_wrong_key_halts_the_run_and_the_right_one_goes_on(store: Store) -> None:
    async def locked(step: str, request: Any) -> Any:
        said = {"error": {"message": f"no such key: {request.headers['Authorization']}"}}
        return web.json_response(said, status=401) if wrong else None

    wrong = True
    with BatchServer(before=locked) as server, at_home("openai", server.url):
        progress = ct.run(small(server), store, batching=QUICK)
        assert progress.halted is not None
        assert "status 401: no such key: Bearer [key]" in progress.halted
        assert "secret" not in progress.halted
        assert not server.sizes
        wrong = False
        assert ct.run(small(server), store, batching=QUICK).counts == {Status.FINISHED: 4}
    assert server.billed.total() == len(calls(store)) == sum(server.sizes)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("step", ["upload", "create", "created", "look", "results", "list"])
def test_a_server_that_is_away_for_a_while_is_asked_again_and_nothing_is_submitted_twice(
    store: Store, model: str, step: str
) -> None:
    away = {"created": int(step == "list")} | {step: 2}

    async def stumble(now: str, request: Any) -> Any:
        if away.get(now):
            away[now] -= 1
            return web.json_response({"error": {"message": "overloaded"}}, status=503)
        return None

    with BatchServer(before=stumble) as server:
        progress = ct.run(study(server, model), store, batching=QUICK)
    assert progress.counts == {Status.FINISHED: 8}
    assert server.billed.total() == len(calls(store)) == sum(server.sizes)


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_that_the_provider_no_longer_knows_is_listed_as_unresolved(
    store: Store, model: str
) -> None:
    with BatchServer() as server:
        plan = study(server, model, games=GAMES[1:2])
        ct.run(plan, store, batching=QUICK._replace(wait=False))
        server.batches.clear()
        progress = ct.run(plan, store, batching=QUICK)
        assert progress.left == 0
    assert len(store.unresolved()) == 2
    assert all("no such batch" in call["reply"]["detail"] for call in store.unresolved())


async def nobody(call: PersonCall) -> Reply:
    raise AssertionError("nobody is asked")


def test_what_cannot_be_batched_is_refused_before_anything_is_written(store: Store) -> None:
    def refused(players: dict[str, Any]) -> str:
        plan = {"name": "no", "games": GAMES[1:2], "players": players, "pairing": "self"}
        with pytest.raises(ct.StudyError) as problem:
            ct.run(ct.studies.parse_study(plan, "no"), store, batching=QUICK, ask_person=nobody)
        assert store.studies() == []
        return str(problem.value)

    assert refused({"me": {"person": "terminal"}}).startswith("players.me: people cannot wait")
    streamed = {"model": "openai/gpt-4o", "stream": True}
    assert refused({"one": streamed}).startswith("players.one: batches do not support streaming")
    told = refused({"tiny": {"model": "vllm/tiny"}})
    assert told.startswith("players.tiny: vllm/tiny does not support batches")


def batches(store: Store) -> list[dict[str, Any]]:
    with store.engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.select(schema.batches)).mappings()]


def test_the_store_says_what_became_of_every_batch(store: Store) -> None:
    with BatchServer() as server:
        ct.run(small(server), store, batching=QUICK)
    rows = batches(store)
    assert [row["name"] for row in rows] == list(server.batches)
    assert {row["state"] for row in rows} == {"collected"}
    assert [row["calls"] for row in rows] == server.sizes
    assert len({row["tag"] for row in rows}) == len(rows)
    assert all(row["planned"] <= row["submitted"] <= row["collected"] for row in rows)
