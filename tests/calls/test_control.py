"""Control of a running study from another process: no order is lost or applied to another run."""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.calls import commands, control
from cheaptalk.models import ModelCall, Reply
from cheaptalk.records import Status, Store
from cheaptalk.records.store.sqlite import SqliteBackend
from cheaptalk.studies import ControlError, RunState, control_run, run_state
from tests.fakes import Answers, Canned, Server, broken, legal, spec, study, with_model

TIMEOUT = 60.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs report their state every few milliseconds."""
    monkeypatch.setattr(control, "BEAT", 0.01)
    monkeypatch.setattr(commands, "LOOK", 0.005)


class Gated(Canned):
    """A model that answers only while its gate is open."""

    def __init__(self, answers: Answers = legal) -> None:
        super().__init__(answers)
        self.open = threading.Event()
        self.arrived = threading.Semaphore(0)

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.arrived.release()
        while not self.open.is_set():
            await asyncio.sleep(0.005)
        return await super().call(call, number, deadline)


@contextmanager
def background_run(
    store: Store, gate: Gated, concurrency: int = 2, **changes: Any
) -> Iterator[Future[ct.Progress]]:
    """Run 20 matches in another thread, stopped at the latest when the test ends."""
    twenty_matches = study(**with_model() | {"instances": 10} | changes)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(ct.run, twenty_matches, store, models=gate, concurrency=concurrency)
        try:
            gate.arrived.acquire()
            wait_for(store, lambda state: state.live and state.limiters)
            yield run
        finally:
            gate.open.set()
            with suppress(ControlError):
                order(store, "stop")
            run.exception(TIMEOUT)


def order(store: Store, action: str, **settings: Any) -> RunState:
    """Send an order to the running study, as another process would."""
    return control_run(store.backend.address, "small", action, **settings)


def wait_for(store: Store, condition: Callable[[RunState], object]) -> RunState:
    """Return the first reported state of the run that satisfies a condition."""
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        try:
            state = run_state(store.backend.address, "small")
        except ControlError:
            state = None
        if state is not None and condition(state):
            return state
        time.sleep(0.02)
    raise AssertionError("it never came true")


def control_files(store: Store) -> set[str]:
    """Return the names of the control files beside a store."""
    if not isinstance(store.backend, SqliteBackend):
        return set()
    names = {path.name for path in store.path.parent.iterdir()}
    return {name for name in names if "run.json" in name or "commands" in name}


def test_running_study_reports_its_state_until_it_ends(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "QUIET", 0.05)
    gate = Gated()
    with background_run(store, gate, budget={"calls": 900}) as run:
        state = wait_for(store, lambda state: state.limiters and state.limiters[0].in_flight == 2)
        assert (state.study, state.state, state.planned, state.live) == ("small", "running", 20, 2)
        assert (state.done, state.failed, state.left, state.concurrency) == (0, 0, 20, 2)
        assert (state.budget["calls"], state.eta) == (900, None)
        (limiter,) = state.limiters
        assert (limiter.model, limiter.waiting) == ("vllm/tiny", 0)
        assert (limiter.failures, limiter.given_up) == ({}, None)
        idle = wait_for(store, lambda state: state.notice)
        assert idle.notice == "no replies for 0 min"
        with pytest.raises(ControlError) as caught:
            control_run(store.backend.address, "other", "pause")
        assert str(caught.value) == f'"other" is not running on {store.name}; "small" is'
        gate.open.set()
        assert run.result(TIMEOUT).done == 20
    assert control_files(store) == set()
    assert store.backend.mailbox.read_state() is None
    with pytest.raises(ControlError, match=r'"small" has ended \(20 of 20 matches ended\); report'):
        run_state(store.backend.address, "small")


def test_pause_sends_no_calls_and_collects_those_in_flight(store: Store) -> None:
    gate = Gated()
    with background_run(store, gate) as run:
        assert order(store, "pause").state == "paused"
        gate.open.set()
        state = wait_for(store, lambda state: state.limiters[0].in_flight == 0)
        later = wait_for(store, lambda later: later.written > state.written)
        assert later.limiters[0].answered == state.limiters[0].answered
        assert state.notice == "paused"
        assert not run.done()
        assert order(store, "resume").state == "running"
        assert run.result(TIMEOUT).done == 20


def test_stopped_run_resumes_without_duplicate_calls(store: Store) -> None:
    gate = Gated()
    with background_run(store, gate) as run:
        assert order(store, "stop").state == "stopping"
        gate.open.set()
        progress = run.result(TIMEOUT)
    assert progress.halted == control.STOPPED
    assert progress.left > 12
    assert not store.unresolved()
    again = Canned()
    assert ct.run(study(**with_model() | {"instances": 10}), store, models=again).done == 20
    assert len({*gate.numbers, *again.numbers}) == len(gate.numbers) + len(again.numbers)


def test_stop_does_not_wait_for_calls_in_backoff(store: Store) -> None:
    busy = broken("busy").model_copy(update={"status": 429, "retry_after": 3600})
    gate = Gated(lambda call, number: busy)
    with background_run(store, gate) as run:
        gate.open.set()
        wait_for(store, lambda state: state.limiters[0].failures)
        order(store, "stop")
        assert run.result(TIMEOUT / 2).halted == control.STOPPED


def test_concurrency_and_limits_can_be_set_during_a_run(store: Store) -> None:
    model = "vllm/tiny@http://gpu:81/v1"
    players = with_model("http://gpu:81/v1")["players"]
    with background_run(store, Gated(), concurrency=1, instances=20, players=players):
        for limit, name in enumerate(["tiny", "vllm/tiny@gpu:81", model], 3):
            state = order(store, "set", concurrency=30, limits={name: limit})
            (limiter,) = state.limiters
            assert (limiter.model, limiter.limit, state.concurrency) == (model, limit, 30)
        state = wait_for(store, lambda state: state.limiters[0].waiting == 25)
        assert (state.live, state.limiters[0].fixed, state.limiters[0].in_flight) == (30, True, 5)
        order(store, "set", limits={"tiny": None})
        state = wait_for(store, lambda state: state.limiters[0].in_flight == 30)
        assert not state.limiters[0].fixed


def test_budget_can_be_changed_but_not_below_the_amount_spent(store: Store) -> None:
    gate = Gated()
    with background_run(store, gate, concurrency=1, budget={"tokens": 10**6}) as run:
        gate.open.set()
        wait_for(store, lambda state: state.calls > 3)
        order(store, "pause")
        spent = wait_for(store, lambda state: state.limiters[0].in_flight == 0).calls
        for budget in ({"calls": spent}, {"tokens": 5, "calls": 900}):
            with pytest.raises(ControlError, match=r"^budget: the study has already used "):
                order(store, "set", budget=budget)
        assert set(run_state(store.backend.address, "small").budget) == {"per_match", "tokens"}
        state = order(store, "set", budget={"calls": spent + 1, "tokens": None})
        assert state.budget["calls"] == spent + 1
        assert "tokens" not in state.budget
        order(store, "resume")
        assert run.result(TIMEOUT).halted == f"the budget of {spent + 1} calls is exhausted"


def test_watching_a_study_that_is_not_running_explains_why(store: Store, tmp_path: Path) -> None:
    path = store.name

    def reason(name: str) -> str:
        with pytest.raises(ControlError) as caught:
            run_state(store.backend.address, name)
        return str(caught.value)

    played = study(**with_model())
    ct.run(played, store, models=Canned(), cap=ct.studies.Cap(calls=4))
    assert re.fullmatch(
        r"\"small\" is not running \(\d of 6 matches ended; the last run halted: this run's limit "
        rf"of 4 calls is exhausted\); resume it with: cheaptalk resume small --store "
        rf"{re.escape(path)}",
        reason("small"),
    )
    assert reason("smal") == f'no study "smal" (did you mean "small"?) in {path}'
    with store.writing():
        assert "is not running" in reason("small")
    ct.run(played, store, models=Canned())
    assert reason("small").startswith('"small" has ended (6 of 6 matches ended); report it with: ')
    store.register_study("taken_in", {"imported": True})
    assert reason("taken_in") == '"taken_in" was imported and cannot be run'
    gone = tmp_path / "gone.sqlite"
    with pytest.raises(ControlError, match="no store at "):
        run_state(gone, "small")
    assert not gone.exists()


def test_invalid_orders_are_rejected_and_change_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[tuple[dict[str, Any], str]] = [
        ({"limits": {"together/od": 3}}, 'has not called a model "together/od" (did you mean "t'),
        ({"limits": {"tine": 3}}, 'with a model has the label "tine" (did you mean "tiny"?)'),
        ({"limits": {"fair": 3}}, 'no player with a model has the label "fair" (known: tiny)'),
        ({"limits": {"tiny": 0}}, "limits.together/odd: should be greater than or equal to 1"),
        ({"budget": {"cals": 3}}, 'budget: unknown key "cals" (did you mean "calls"?)'),
        ({"budget": {"calls": -1}}, "budget: calls: should be greater than or equal to 1"),
        ({"budget": {"dollars": 3}}, "no price is known for together/odd, so a budget"),
        ({"concurrency": 0}, "concurrency of control_run must be at least 1, not 0"),
    ]
    monkeypatch.setenv("TOGETHER_API_KEY", "a key")
    players = with_model()["players"] | {"tiny": {"model": "together/odd"}}
    with background_run(store, Gated(), players=players):
        for settings, message in orders:
            with pytest.raises(ct.CheaptalkError) as caught:
                order(store, "set", **settings)
            assert message in str(caught.value)
        state = run_state(store.backend.address, "small")
        assert (state.concurrency, state.limiters[0].fixed) == (2, False)
        assert set(state.budget) <= {"per_match"}


def test_concurrent_orders_are_all_executed(store: Store) -> None:
    with background_run(store, Gated()):
        with ThreadPoolExecutor(8) as pool:
            states = [
                pool.submit(order, store, "set", concurrency=number) for number in range(3, 43)
            ]
            replies = {id_ for state in states for id_ in state.result(TIMEOUT).replies}
        assert len(replies) == 40
        assert 3 <= run_state(store.backend.address, "small").concurrency <= 42


@pytest.mark.file
def test_orders_apply_only_to_the_run_they_name(store: Store) -> None:
    with background_run(store, Gated()):
        state = run_state(store.backend.address, "small")
        earlier = commands.Command(id="0", run="earlier", action="stop")
        folder = Path(f"{store.path}.commands")
        (folder / "!.json").mkdir()
        os.mkfifo(folder / "#.json")
        for name, data in (("0", earlier.model_dump_json().encode()), ("1", b"\xff\x00{")):
            (store.path.parent / name).write_bytes(data)
            (store.path.parent / name).rename(folder / f"{name}.json")  # atomic
        later = wait_for(store, lambda later: later.replies)
        assert list(later.replies) == ["1"]
        assert (later.state, later.run) == ("running", state.run)
        assert list(folder.iterdir()) == [folder / "!.json"]
    Path(f"{store.path}.run.json").write_text("{")
    with pytest.raises(ControlError, match=r"run\.json cannot be read: "):
        run_state(store.backend.address, "small")


async def never(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    """Wait until the caller disconnects."""
    await asyncio.Event().wait()
    return None


def test_killed_run_is_reported_as_not_running(tmp_path: Path, store: Store) -> None:
    with Server(handler=never) as server:
        (tmp_path / "small.json").write_text(json.dumps(spec(**with_model(server.url))))
        command = [sys.executable, "-m", "cheaptalk", "run", "small.json", "--store"]
        with subprocess.Popen(
            [*command, store.backend.address], cwd=tmp_path, stderr=subprocess.DEVNULL
        ) as process:
            state = wait_for(store, lambda state: state.limiters)
            assert state.pid == process.pid
            process.kill()
    assert store.backend.mailbox.read_state()
    with pytest.raises(ControlError, match=r'"small" is not running \(0 of 6 matches ended'):
        run_state(store.backend.address, "small")
    with store.writing():
        assert run_state(store.backend.address, "small").pid == process.pid, "slow, but alive"


def test_scripted_matches_can_be_stopped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 2)
    stopping = threading.Event()

    def stop_once(progress: ct.Progress) -> None:
        if progress.done >= 4 and not stopping.is_set():
            stopping.set()
            mailbox = store.backend.mailbox
            run = json.loads(mailbox.read_state() or "")["run"]
            order = commands.Command(id="1", run=run, action="stop")
            mailbox.post("1", order.model_dump_json())

    monkeypatch.setattr(control, "BEAT", 0.0)
    progress = ct.run(study(instances=20), store, progress=stop_once)
    assert progress.halted == control.STOPPED
    assert progress.counts == {Status.FINISHED: 4}


async def test_scripted_matches_do_not_predict_when_matches_with_models_end(store: Store) -> None:
    done, states = 0, list[RunState]()
    mailbox = store.backend.mailbox
    run = control.Control(mailbox, "made", lambda: commands.MatchCounts(24, done, 0))
    run.publish_state()
    done = 21
    assert run.publish_state().eta is not None
    async with run.minding(None, states.append):  # type: ignore[arg-type] # without limits
        while not states:
            await asyncio.sleep(0)
    assert states[0].eta is None
