"""Sweeps: each combination of settings is trained once, by function or command."""

import pickle
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from tests.conftest import Command
from tests.learning.test_policies import RULES, registered

nfsp: Any = pytest.importorskip("cheaptalk.learning.nfsp")
VARIED = {"hidden": [4], "seed": [1, 2]}
FIXED = {"matches": 16, "policy_buffer": 300, "q_buffer": 200}


def loop(training: Any, learned: Any) -> tuple[Any, Any]:
    """Keep the random weights, because compiling updates takes most of a test's time."""
    return learned._replace(loops=learned.loops + 1), nfsp.jnp.zeros(4)


class SameProcess:
    """A pool that pickles tasks, but works in this process, which has compiled the functions."""

    def submit(self, *task: Any) -> Future[Any]:
        work, *arguments = pickle.loads(pickle.dumps(task))  # noqa: S301 - our own
        future = Future[Any]()
        future.set_result(work(*arguments))
        return future


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("cheaptalk.learning.sweeps.working", lambda *_: nullcontext(SameProcess()))
    algorithm = type("Idle", (nfsp.NFSP,), {"name": "idle", "_loop": loop})
    with registered(ct.learning.ALGORITHMS, "idle", algorithm):
        yield


def sweep(folder: Path, varied: dict[str, list[Any]] = VARIED, **options: Any) -> Any:
    return ct.learning.sweep("idle", RULES, FIXED, varied, 320, folder, **options)


def test_sweep_equals_separate_trainings(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    runs = sweep(tmp_path / "all", progress=lambda *state: reports.append(state))
    assert reports == [(1, 2), (2, 2)]
    assert [run.settings for run in runs] == [{"hidden": 4, "seed": 1}, {"hidden": 4, "seed": 2}]
    separate = tmp_path / "separate"
    settings = ct.learning.settings_of("idle", FIXED | {"hidden": 4, "seed": 2})
    ct.learning.train("idle", RULES, settings, 320, separate)
    assert runs[1].policy.read_bytes() == separate.read_bytes() != runs[0].policy.read_bytes()
    assert runs[1].last_row["matches"] == 320
    reports.clear()
    assert sweep(tmp_path / "all", progress=lambda *state: reports.append(state)) == runs
    assert reports == [], "existing results are not trained again"


def test_invalid_sweep_raises_error(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, list[Any]], str]] = [
        ({"q_buffer": [1, 2]}, "q_buffer: a setting is either fixed or varied, not both"),
        ({"seed": []}, "seed: no values given"),
        ({"hiden": [1]}, "hiden"),
        ({"seed": list(range(1_001))}, "more than 1,000 combinations"),
    ]
    for varied, message in cases:
        with pytest.raises(ct.CheaptalkError, match=message):
            sweep(tmp_path / "all", varied)
    assert not (tmp_path / "all").exists()


def test_command_prints_a_row_per_combination(cheaptalk: Command) -> None:
    small = [
        word for name, value in FIXED.items() for word in ("--hyperparameter", f"{name}={value}")
    ]
    game = ["--game", "item_bargaining", "--matches", "32"]
    for setting in ("quantities=[1, 1]", "highest_value=2", "rounds=2"):  # those of RULES
        game += ["--set", setting]
    done = cheaptalk(
        "train", "policy", "idle", *game, *small, "--vary", "hidden=[4]", "--out", "found"
    )
    assert done.status == 0, done
    header, first, where = done.out.strip().splitlines()
    assert header.split()[:3] == ["hidden", "matches", "returns"]
    assert first.split()[:2] == ["4", "32"]
    assert where == "Policies written to found"
