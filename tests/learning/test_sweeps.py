"""Sweeps: all combinations of settings are trained, once each, wherever they are."""

from pathlib import Path

import pytest

import cheaptalk as ct
from tests.conftest import Command
from tests.learning.test_training import RULES, SMALL

pytest.importorskip("jax")
VARIED = {"hidden": [5], "seed": [1, 2]}
FIXED = {name: value for name, value in SMALL["nfsp"].items() if name != "hidden"}


def test_each_combination_is_the_training_of_its_own(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    found = ct.learning.sweep(
        "nfsp", RULES, FIXED, VARIED, 320, tmp_path / "all",
        progress=lambda done, count: told.append((done, count)),
    )  # fmt: skip
    assert told == [(1, 2), (2, 2)]
    assert [one.settings for one in found] == [{"hidden": 5, "seed": 1}, {"hidden": 5, "seed": 2}]
    alone = tmp_path / "alone"
    settings = ct.learning.settings_of("nfsp", FIXED | {"hidden": 5, "seed": 2})
    ct.learning.train("nfsp", RULES, settings, 320, alone)
    assert found[1].policy.read_bytes() == alone.read_bytes()
    assert found[1].told["matches"] == 320
    again: list[tuple[int, int]] = []
    ct.learning.sweep(
        "nfsp", RULES, FIXED, VARIED, 320, tmp_path / "all",
        progress=lambda *now: again.append(now),
    )  # fmt: skip
    assert again == [], "what is there is not trained again"


@pytest.mark.parametrize(
    ("varied", "said"),
    [
        ({"q_buffer": [1, 2]}, "q_buffer: a setting is either fixed or varied, not both"),
        ({"seed": []}, "seed: no values given"),
        ({"hiden": [1]}, "hiden"),
        ({"seed": list(range(1_001))}, "more than 1,000 combinations"),
    ],
)
def test_what_cannot_be_swept_is_told(
    tmp_path: Path, varied: dict[str, list[int]], said: str
) -> None:
    with pytest.raises(ct.CheaptalkError, match=said):
        ct.learning.sweep("nfsp", RULES, FIXED, varied, 320, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_the_command_line_says_how_each_went(cheaptalk: Command) -> None:
    small = [
        one for name, value in FIXED.items() for one in ("--hyperparameter", f"{name}={value}")
    ]
    game = ["--game", "BG4", "--set", "rounds=2", "--matches", "32"]
    done = cheaptalk(
        "train", "policy", "nfsp", *game, *small, "--vary", "hidden=[4]", "--out", "found"
    )
    assert done.status == 0, done
    header, first, where = done.out.strip().splitlines()
    assert header.split()[:3] == ["hidden", "matches", "returns"]
    assert first.split()[:2] == ["4", "32"]
    assert where == "Policies written to found"
