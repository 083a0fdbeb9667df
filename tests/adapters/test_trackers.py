"""What trackers keep of runs, read back by their own readers."""

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeAlias

import pytest

import cheaptalk as ct
from cheaptalk.adapters import TRACKERS, Tracker, TrackerCallback, tracker
from cheaptalk.records import Status
from tests.conftest import Command
from tests.fakes import PATIENCE, Canned, study, with_model

pytestmark = pytest.mark.filterwarnings("ignore")  # of theirs
Kept: TypeAlias = dict[str, list[tuple[int, float]]]
"""Numbers by name, with their steps."""


def in_tensorboard(folder: Path) -> Kept:
    pytest.importorskip("tensorboard")
    module = import_module("tensorboard.backend.event_processing.event_accumulator")
    read = module.EventAccumulator(str(folder))
    read.Reload()
    return {
        name: [(one.step, one.value) for one in read.Scalars(name)]
        for name in read.Tags()["scalars"]
    }


def logged(file: bytes) -> Iterator[bytes]:
    """The records of a file in LevelDB's log format, behind the seven bytes of its head.

    A record is cut where a block of 32 KiB ends; before each piece stand its sum, its length, and
    whether it is whole (1) or the first, a middle or the last one (2 to 4).
    """
    assert file.startswith(b":W&B")
    place, record = 7, b""
    while place + 7 <= len(file):
        if 2**15 - place % 2**15 < 7:
            place += 2**15 - place % 2**15
        _, length, kind = struct.unpack_from("<IHB", file, place)
        place += 7 + length
        if place > len(file):
            return  # it is being written
        record += file[place - length : place]
        if kind in (1, 4):
            yield record
            record = b""


def in_wandb(folder: Path) -> Kept:
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    read = import_module("wandb.proto.wandb_internal_pb2").Record.FromString
    records: list[Any] = []
    give_up = monotonic() + PATIENCE
    while not records or not records[-1].HasField("exit"):  # a process of its own writes it
        assert monotonic() < give_up
        sleep(0.05)
        records = [read(data) for data in logged(file.read_bytes())]
    kept: Kept = {}
    for record in records:
        items = record.history.item
        row = {one.key or "/".join(one.nested_key): json.loads(one.value_json) for one in items}
        for name, number in row.items():
            if not name.startswith("_"):
                kept.setdefault(name, []).append((row["_step"], number))
    return kept


def in_mlflow(where: str, run: str) -> Kept:
    client = import_module("mlflow").MlflowClient(where)
    experiment = client.get_experiment_by_name("cheaptalk")
    (found,) = client.search_runs([experiment.experiment_id])
    assert (found.info.run_name, found.info.status) == (run, "FINISHED")
    return {
        name: [(one.step, one.value) for one in client.get_metric_history(found.info.run_id, name)]
        for name in found.data.metrics
    }


@pytest.fixture(params=["tensorboard", "wandb", "mlflow"])
def kept(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Any]:
    """How a tracker is written that keeps things here, and what reads these."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    if request.param == "tensorboard":
        return "tensorboard:board", lambda run: in_tensorboard(tmp_path / "board" / run)
    pytest.importorskip(request.param)
    if request.param == "wandb":
        return "wandb:ours", lambda run: in_wandb(tmp_path)
    where = f"sqlite:///{tmp_path / 'ml.db'}"
    return f"mlflow:{where}", lambda run: in_mlflow(where, run)


def test_a_run_is_kept_with_its_steps_and_what_it_came_to(
    kept: tuple[str, Any], tmp_path: Path
) -> None:
    written, read = kept
    changes = with_model() | {"pairing": "all"}
    changes["players"] |= {"tiny (hot)": {"model": "vllm/tiny", "temperature": 1.5}}
    played = study(**changes)
    with tracker(written, "small") as board, ct.Store.open(tmp_path / "s", create=True) as store:
        follower = TrackerCallback(board, pace=0)
        done = ct.run(played, store, models=Canned(), progress=follower, concurrency=1)
        follower.conclude(store, played, done)
        records = list(store.records("small"))
    found: Kept = read("small")
    matches = found["matches/done"]
    assert [step for step, _ in matches] == sorted(step for step, _ in matches)
    assert all(step == number for step, number in matches)
    assert (matches[0][1], matches[-1][1]) == (0, done.planned)
    assert len({step for step, _ in matches}) > 10
    last = {name: numbers[-1][1] for name, numbers in found.items()}
    assert done.cost is not None
    assert last["cost/calls"] == done.cost.calls
    assert last["cost/tokens"] == done.cost.tokens
    assert last["answers/tiny_hot_/ok"] == done.kinds["tiny (hot)"]["ok"]
    paid: dict[str, list[float]] = {}
    for one in records:
        if one.status is Status.FINISHED and one.payoffs:
            for place, got in one.payoffs.items():
                paid.setdefault(f"payoff/bargaining/{place}/{one.label(place)}", []).append(got)
    assert len(paid) == 6
    for name, all_ in paid.items():
        mean = pytest.approx(sum(all_) / len(all_), rel=1e-6)
        assert last[name.replace("tiny (hot)", "tiny_hot_")] == mean


class InMemory(Tracker):
    """Keeps what it is told."""

    def __init__(self, where: str, run: str) -> None:
        self.told: list[tuple[int, Mapping[str, float]]] = []
        self.closed = Counter[str]()
        self.named = (where, run)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.told.append((step, dict(values)))

    def close(self) -> None:
        self.closed[self.named[1]] += 1


@pytest.fixture
def in_memory() -> Iterator[list[InMemory]]:
    """A tracker of this program; those of it that were opened."""
    opened: list[InMemory] = []

    class Noted(InMemory):
        def __init__(self, where: str, run: str) -> None:
            super().__init__(where, run)
            opened.append(self)

    TRACKERS.add("memory", Noted)
    yield opened
    TRACKERS.remove("memory")


def test_the_command_tells_every_tracker_what_it_plays_and_closes_it(
    cheaptalk: Command, tmp_path: Path, in_memory: list[InMemory]
) -> None:
    words = ["run", "quickstart", "--store", str(tmp_path / "s"), "--game", "persuasion"]
    done = cheaptalk(*words, "--track", "memory:a:b", "--track", "memory")
    assert done.status == 0, done.err
    assert [one.named for one in in_memory] == [("a:b", "quickstart"), ("", "quickstart")]
    assert [one.closed.total() for one in in_memory] == [1, 1]
    step, values = in_memory[0].told[-1]
    assert step == values["matches/done"] > 100
    assert [name for name in values if name.startswith("payoff/persuasion/bob/")]
    before = len(in_memory)
    lost = cheaptalk(*words, "--track", "memry")
    assert (lost.status, len(in_memory)) == (2, before)
    assert 'unknown tracker "memry" (did you mean "memory"?)' in lost.err


def test_players_whose_names_differ_in_signs_alone_are_kept_apart() -> None:
    board = InMemory("", "")
    progress = ct.Progress(2, 0)
    for label, ok in (("a b", 1), ("a/b", 2), ("a_b", 3)):
        progress.kinds[label] = Counter(ok=ok)
    TrackerCallback(board)(progress)
    ((_, values),) = board.told
    assert {name: n for name, n in values.items() if "answers" in name} == {
        "answers/a_b/ok": 1, "answers/a_b_2/ok": 2, "answers/a_b_3/ok": 3,
    }  # fmt: skip


def test_numbers_that_a_killed_process_left_are_hidden(tmp_path: Path) -> None:
    where = f"tensorboard:{tmp_path}"
    for steps in ((1, 2, 3, 4), (3, 5)):
        with tracker(where, "run") as board:
            for step in steps:
                board.log(step, {"loss": step + len(steps) / 10})
    values = in_tensorboard(tmp_path / "run")["loss"]
    assert [(step, round(value, 1)) for step, value in values] == [
        (1, 1.4), (2, 2.4), (3, 3.2), (5, 5.2),
    ]  # fmt: skip
