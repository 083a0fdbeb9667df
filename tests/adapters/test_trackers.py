"""Metrics of runs in experiment trackers, read back by their own readers."""

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

pytestmark = pytest.mark.filterwarnings("ignore")  # raised in the trackers' own code
Metrics: TypeAlias = dict[str, list[tuple[int, float]]]
"""Steps and values by name of the metric."""


def read_tensorboard(folder: Path) -> Metrics:
    pytest.importorskip("tensorboard")
    module = import_module("tensorboard.backend.event_processing.event_accumulator")
    read = module.EventAccumulator(str(folder))
    read.Reload()
    return {
        name: [(event.step, event.value) for event in read.Scalars(name)]
        for name in read.Tags()["scalars"]
    }


def leveldb_records(file: bytes) -> Iterator[bytes]:
    """Yield the records of a file in LevelDB's log format, after the seven bytes of its header.

    A record is split at the end of a block of 32 KiB. Each piece is preceded by its checksum, its
    length, and its type: complete (1), or the first, a middle or the last piece (2 to 4).
    """
    assert file.startswith(b":W&B")
    place, record = 7, b""
    while place + 7 <= len(file):
        if 2**15 - place % 2**15 < 7:
            place += 2**15 - place % 2**15
        _, length, kind = struct.unpack_from("<IHB", file, place)
        place += 7 + length
        if place > len(file):
            return  # not completely written yet
        record += file[place - length : place]
        if kind in (1, 4):
            yield record
            record = b""


def read_wandb(folder: Path) -> Metrics:
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    read = import_module("wandb.proto.wandb_internal_pb2").Record.FromString
    records: list[Any] = []
    deadline = monotonic() + PATIENCE
    while not records or not records[-1].HasField("exit"):  # written by a separate process
        assert monotonic() < deadline
        sleep(0.05)
        records = [read(data) for data in leveldb_records(file.read_bytes())]
    tracked: Metrics = {}
    for record in records:
        items = record.history.item
        row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
        for name, number in row.items():
            if not name.startswith("_"):
                tracked.setdefault(name, []).append((row["_step"], number))
    return tracked


def read_mlflow(uri: str, run: str) -> Metrics:
    client = import_module("mlflow").MlflowClient(uri)
    experiment = client.get_experiment_by_name("cheaptalk")
    (saved,) = client.search_runs([experiment.experiment_id])
    assert (saved.info.run_name, saved.info.status) == (run, "FINISHED")
    return {
        name: [
            (point.step, point.value)
            for point in client.get_metric_history(saved.info.run_id, name)
        ]
        for name in saved.data.metrics
    }


@pytest.fixture(params=["tensorboard", "wandb", "mlflow"])
def tracked(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Any]:
    """Return the setting of a tracker that writes to a folder, and a reader of its metrics."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    if request.param == "tensorboard":
        return "tensorboard:board", lambda run: read_tensorboard(tmp_path / "board" / run)
    pytest.importorskip(request.param)
    if request.param == "wandb":
        return "wandb:ours", lambda run: read_wandb(tmp_path)
    uri = f"sqlite:///{tmp_path / 'ml.db'}"
    return f"mlflow:{uri}", lambda run: read_mlflow(uri, run)


def test_run_is_tracked_with_steps_and_outcome(tracked: tuple[str, Any], tmp_path: Path) -> None:
    written, read = tracked
    changes = with_model() | {"pairing": "all"}
    changes["players"] |= {"tiny (hot)": {"model": "vllm/tiny", "temperature": 1.5}}
    played = study(**changes)
    with tracker(written, "small") as board, ct.Store.open(tmp_path / "s", create=True) as store:
        follower = TrackerCallback(board, pace=0)
        done = ct.run(played, store, models=Canned(), progress=follower, concurrency=1)
        follower.conclude(store, played, done)
        records = list(store.records("small"))
    metrics: Metrics = read("small")
    matches = metrics["matches/done"]
    assert [step for step, _ in matches] == sorted(step for step, _ in matches)
    assert all(step == number for step, number in matches)
    assert (matches[0][1], matches[-1][1]) == (0, done.planned)
    assert len({step for step, _ in matches}) > 10
    last = {name: numbers[-1][1] for name, numbers in metrics.items()}
    assert done.cost is not None
    assert last["cost/calls"] == done.cost.calls
    assert last["cost/tokens"] == done.cost.tokens
    assert last["answers/tiny_hot_/ok"] == done.kinds["tiny (hot)"]["ok"]
    paid: dict[str, list[float]] = {}
    for match in records:
        if match.status is Status.FINISHED and match.payoffs:
            for place, got in match.payoffs.items():
                paid.setdefault(f"payoff/bargaining/{place}/{match.label(place)}", []).append(got)
    assert len(paid) == 6
    for name, payoffs in paid.items():
        mean = pytest.approx(sum(payoffs) / len(payoffs), rel=1e-6)
        assert last[name.replace("tiny (hot)", "tiny_hot_")] == mean


class InMemory(Tracker):
    """A tracker that keeps its values in memory."""

    def __init__(self, uri: str, run: str) -> None:
        self.logged: list[tuple[int, Mapping[str, float]]] = []
        self.closed = Counter[str]()
        self.named = (uri, run)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.logged.append((step, dict(values)))

    def close(self) -> None:
        self.closed[self.named[1]] += 1


@pytest.fixture
def in_memory() -> Iterator[list[InMemory]]:
    """Register an in-memory tracker and yield its open instances."""
    opened: list[InMemory] = []

    class Registered(InMemory):
        def __init__(self, uri: str, run: str) -> None:
            super().__init__(uri, run)
            opened.append(self)

    TRACKERS.add("memory", Registered)
    yield opened
    TRACKERS.remove("memory")


def test_command_logs_to_every_tracker_and_closes_it(
    cheaptalk: Command, tmp_path: Path, in_memory: list[InMemory]
) -> None:
    command = ["run", "quickstart", "--store", str(tmp_path / "s"), "--game", "persuasion"]
    command += ["--max-matches", "40"]
    done = cheaptalk(*command, "--track", "memory:a:b", "--track", "memory")
    assert done.status == 0, done.err
    assert [board.named for board in in_memory] == [("a:b", "quickstart"), ("", "quickstart")]
    assert [board.closed.total() for board in in_memory] == [1, 1]
    step, values = in_memory[0].logged[-1]
    assert step == values["matches/done"] == 40
    assert [name for name in values if name.startswith("payoff/persuasion/bob/")]
    before = len(in_memory)
    misspelt = cheaptalk(*command, "--track", "memry")
    assert (misspelt.status, len(in_memory)) == (2, before)
    assert 'unknown tracker "memry" (did you mean "memory"?)' in misspelt.err


def test_similar_player_names_stay_distinct() -> None:
    board = InMemory("", "")
    progress = ct.Progress(2, 0)
    for label, ok in (("a b", 1), ("a/b", 2), ("a_b", 3)):
        progress.kinds[label] = Counter(ok=ok)
    TrackerCallback(board)(progress)
    ((_, values),) = board.logged
    assert {name: n for name, n in values.items() if "answers" in name} == {
        "answers/a_b/ok": 1,
        "answers/a_b_2/ok": 2,
        "answers/a_b_3/ok": 3,
    }


def test_values_of_killed_process_are_hidden(tmp_path: Path) -> None:
    uri = f"tensorboard:{tmp_path}"
    for steps in ((1, 2, 3, 4), (3, 5)):
        with tracker(uri, "run") as board:
            for step in steps:
                board.log(step, {"loss": step + len(steps) / 10})
    values = read_tensorboard(tmp_path / "run")["loss"]
    assert [(step, round(value, 1)) for step, value in values] == [
        (1, 1.4),
        (2, 2.4),
        (3, 3.2),
        (5, 5.2),
    ]
