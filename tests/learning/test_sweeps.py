"""Sweeps: each combination of settings is trained once, by function or command."""

from pathlib import Path

import pytest

import cheaptalk as ct
from tests.conftest import Command
from tests.learning.test_training import RULES, SMALL

pytest.importorskip("jax")
VARIED = {"hidden": [4], "seed": [1, 2]}
FIXED = {name: value for name, value in SMALL["nfsp"].items() if name != "hidden"}


def test_sweep_equals_separate_trainings(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    runs = ct.learning.sweep(
        "nfsp",
        RULES,
        FIXED,
        VARIED,
        320,
        tmp_path / "all",
        progress=lambda done, count: reports.append((done, count)),
    )
    assert reports == [(1, 2), (2, 2)]
    assert [run.settings for run in runs] == [{"hidden": 4, "seed": 1}, {"hidden": 4, "seed": 2}]
    separate = tmp_path / "alone"
    settings = ct.learning.settings_of("nfsp", FIXED | {"hidden": 4, "seed": 2})
    ct.learning.train("nfsp", RULES, settings, 320, separate)
    assert runs[1].policy.read_bytes() == separate.read_bytes()
    assert runs[1].told["matches"] == 320
    again: list[tuple[int, int]] = []
    ct.learning.sweep(
        "nfsp", RULES, FIXED, VARIED, 320, tmp_path / "all", progress=lambda *now: again.append(now)
    )
    assert again == [], "existing results are not trained again"


def test_invalid_sweep_raises_error(tmp_path: Path) -> None:
    for varied, message in (
        ({"q_buffer": [1, 2]}, "q_buffer: a setting is either fixed or varied, not both"),
        ({"seed": []}, "seed: no values given"),
        ({"hiden": [1]}, "hiden"),
        ({"seed": list(range(1_001))}, "more than 1,000 combinations"),
    ):
        with pytest.raises(ct.CheaptalkError, match=message):
            ct.learning.sweep("nfsp", RULES, FIXED, varied, 320, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_command_prints_a_row_per_combination(cheaptalk: Command) -> None:
    small = [
        word for name, value in FIXED.items() for word in ("--hyperparameter", f"{name}={value}")
    ]
    game = ["--game", "item_bargaining", "--matches", "32"]
    for setting in ("quantities=[1, 1]", "highest_value=2", "rounds=2"):  # those of RULES
        game += ["--set", setting]
    done = cheaptalk(
        "train", "policy", "nfsp", *game, *small, "--vary", "hidden=[4]", "--out", "found"
    )
    assert done.status == 0, done
    header, first, where = done.out.strip().splitlines()
    assert header.split()[:3] == ["hidden", "matches", "returns"]
    assert first.split()[:2] == ["4", "32"]
    assert where == "Policies written to found"
