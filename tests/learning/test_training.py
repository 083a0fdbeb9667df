"""Trainings in files: resumption, non-finite numbers, and rejected settings."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.arrays.games import array_game
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from tests.conftest import Command

jax = pytest.importorskip("jax")
jnp = jax.numpy
training = pytest.importorskip("cheaptalk.learning.training")
checkpoints = pytest.importorskip("cheaptalk.learning.checkpoints")
algorithms = pytest.importorskip("cheaptalk.learning.algorithms")

RULES = ItemBargaining(quantities=(1, 1), highest_value=2, rounds=2)
SMALL: dict[str, dict[str, Any]] = {
    "nfsp": {"hidden": 4, "matches": 16, "policy_buffer": 300, "q_buffer": 200, "target": 3},
    "rnad": {"hidden": 4, "matches": 16, "sizes": [3], "repeats": [1], "fine_tune": 150},
}


NOTHING_DEFERRED = """
import sys
from importlib.util import _LazyModule
assert not [name for name, module in sys.modules.items() if isinstance(module, _LazyModule)]
"""


def settings(algorithm: str, **more: Any) -> Any:
    return training.settings_of(algorithm, SMALL[algorithm] | more)


def rows(file: Path) -> list[dict[str, Any]]:
    text = file.with_name(f"{file.name}.log.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_all_algorithms_are_covered_and_their_metrics_documented() -> None:
    assert set(SMALL) == {
        name for name in algorithms.ALGORITHMS if algorithms.ALGORITHMS.origin(name) == "cheaptalk"
    }
    page = (Path(__file__).parents[2] / "docs" / "reference" / "learning.md").read_text()
    for name in SMALL:
        assert f"| `{name}` |" in page
        assert all(f"| `{metric}` |" in page for metric in algorithms.ALGORITHMS[name].metrics)


@pytest.mark.parametrize("algorithm", list(SMALL))
def test_interrupted_and_evaluated_training_gives_the_same_results(
    algorithm: str, tmp_path: Path
) -> None:
    """It resumes from the last checkpoint, and its log repeats no line."""
    complete, resumed = tmp_path / "whole", tmp_path / "part"
    tracked: list[tuple[int, Mapping[str, float]]] = []

    def resume(matches: int) -> Any:
        return training.train(
            algorithm,
            RULES,
            settings(algorithm),
            matches,
            resumed,
            examined_every=4000,
            tracks=[lambda *entry: tracked.append(entry)],
        )

    training.train(algorithm, RULES, settings(algorithm), 16 * 350, complete)
    resume(16 * 100)
    log = resumed.with_name("part.log.jsonl")
    log.write_text(log.read_text() + '{"matches": 3200, "seconds": 9}\n{"matches": 48')
    resume(16 * 350)
    policies = [ct.learning.read_policy(file) for file in (complete, resumed)]
    for name, array in policies[0].weights.items():
        np.testing.assert_array_equal(array, policies[1].weights[name])
    assert policies[0].rounding == policies[1].rounding
    expected, again = rows(complete), rows(resumed)
    assert [row["matches"] for row in expected] == [1600, 3200, 4800, 5600]
    changed = {"seconds": 0, "gains": None}
    assert [row | changed for row in expected] == [row | changed for row in again]
    assert [row["seconds"] for row in again] == sorted(row["seconds"] for row in again)
    metrics = set(algorithms.ALGORITHMS[algorithm].metrics)
    assert metrics < set(expected[0])
    assert resume(16 * 350) is None

    evaluated = [row["matches"] for row in again if "gains" in row]
    assert evaluated == [1600, 4800, 5600]  # 1600 and 5600 are the ends of runs
    now = ct.learning.exploitability(policies[1]).gains
    np.testing.assert_allclose(again[-1]["gains"], [[gain.gain, 0] for gain in now], atol=1e-6)
    assert [matches for matches, _ in tracked] == [row["matches"] for row in again]
    for (_, numbers), row in zip(tracked, again, strict=True):
        assert all(numbers[name] == row[name] for name in metrics)
        assert numbers["returns/player_1"] == row["returns"][0]
        assert numbers.get("gains/player_2") == (row["gains"][1][0] if "gains" in row else None)


def test_non_finite_weights_stop_training_and_keep_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm, file = "nfsp", tmp_path / "p"
    kind = algorithms.ALGORITHMS[algorithm]
    loop = kind._loop

    def broken(self: Any, learned: Any) -> Any:
        """Make the weights NaN after the last of 200 loops, before any loss shows it."""
        learned, metrics = loop(self, learned)
        scale = jnp.where(learned.loops == 200, jnp.nan, 1.0)
        return jax.tree.map(
            lambda leaf: leaf * scale if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, learned
        ), metrics

    monkeypatch.setattr(kind, "_loop", broken)
    monkeypatch.setattr(training, "SECONDS", 0.0)
    with pytest.raises(
        algorithms.Diverged, match=r"after 3,200 matches .* lower the learning rate"
    ):
        training.train(algorithm, RULES, settings(algorithm), 16 * 350, file)
    assert ct.learning.read_policy(file).about["matches"] == 1600
    monkeypatch.undo()
    assert training.train(algorithm, RULES, settings(algorithm), 16 * 250, file).matches == 4000


def test_mismatched_and_truncated_checkpoints_are_rejected(tmp_path: Path) -> None:
    file, game = tmp_path / "c", array_game(RULES)
    nfsp, rnad = (algorithms.ALGORITHMS[name](game, settings(name)) for name in ("nfsp", "rnad"))
    checkpoints.save(nfsp, nfsp.begin(), file)
    with pytest.raises(checkpoints.CheckpointError, match="algorithm name nfsp, not rnad"):
        checkpoints.load(rnad, file)
    other = algorithms.ALGORITHMS["nfsp"](game, settings("nfsp", batch=64))
    with pytest.raises(checkpoints.CheckpointError, match="settings batch 128, not 64"):
        checkpoints.load(other, file)
    file.write_bytes(file.read_bytes()[:500])
    with pytest.raises(checkpoints.CheckpointError, match="truncated"):
        checkpoints.load(nfsp, file)


def test_presets_are_valid() -> None:
    for preset in ct.learning.TRAININGS.values():
        training.settings_of(preset.algorithm, preset.settings)
        assert array_game(training.game_of(preset.game, {})).longest in (6, 10, 24)
    changed = ct.learning.get_preset("nfsp-bg6", None, 5_000, {"hidden": 8})
    assert (changed.game, changed.matches) == ("BG6", 5_000)
    assert training.settings_of(changed.algorithm, changed.settings).updates == 10


def test_command_trains_a_preset_and_reports_invalid_arguments(
    cheaptalk: Command, tmp_path: Path
) -> None:
    out = tmp_path / "p"
    page = tmp_path / "curves.html"
    words = ["train", "policy", "rnad-bg4", "--out", str(out), "--matches", "512"]
    words += ["--device", "cpu", "--set", "quantities=[1, 1]", "--set", "highest_value=2"]
    words += ["--set", "rounds=2"]
    for setting in ("hidden=4", "matches=16", "sizes=[5, 10]", "repeats=[1, 1]"):
        words += ["--hyperparameter", setting]
    words += ["--progress-page", str(page), "--track", f"tensorboard:{tmp_path / 'board'}"]
    done = cheaptalk(*words, "--json")
    assert done.status == 0, done.err
    assert "The policy has been trained on 512 matches" in page.read_text()
    assert 'http-equiv="refresh"' not in page.read_text()
    assert [path.name for path in (tmp_path / "board" / "p").iterdir()]
    summary = json.loads(done.out)["told"]
    assert summary["matches"] == 512
    evaluated = cheaptalk("train", "exploitability", str(out))
    assert "player_2: payoff " in evaluated.out
    assert "exactly on the full game tree" in evaluated.out
    policy = ct.learning.read_policy(out)
    assert policy.game.rules.discount == 0.9
    assert policy.about["settings"]["sizes"] == [5, 10]
    for arguments, message in (
        (["rnad", "--out", str(out)], "name a game, or use"),
        (["sarsa", "--game", "BG4", "--out", str(out)], "unknown learning algorithm"),
        (["rnad-bg4", "--out", str(out), "--device", "gpu"], "no gpu; use the device auto"),
        (["rnad-bg4", "--out", str(out), "--hyperparameter", "sizes=[5]"], "the same length"),
    ):
        done = cheaptalk("train", "policy", *arguments)
        assert done.status != 0
        assert message in done.err


@pytest.mark.parametrize(
    "code",
    [
        "import cheaptalk.games.chip_trading.metrics, numpy.random, scipy.stats",
        "import cheaptalk as ct; ct.learning.train; ct.reports.write_curves",
        "import cheaptalk as ct, jax; ct.arrays.array_game; import numpy.linalg, scipy.linalg",
    ],
)
def test_modules_can_be_imported_in_any_order(code: str) -> None:
    """A deferred module must not be half imported when another one needs it."""
    done = subprocess.run(
        [sys.executable, "-c", code + NOTHING_DEFERRED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_unregistered_network_is_rejected_before_training(tmp_path: Path) -> None:
    kind = algorithms.ALGORITHMS["nfsp"]
    odd = type("Odd", (kind,), {"name": "odd", "network": "nowhere"})
    ct.register(odd, name="odd")
    try:
        with pytest.raises(ct.CheaptalkError, match='registers the network "nowhere"'):
            training.train("odd", RULES, settings("nfsp"), 16 * 100, tmp_path / "p")
    finally:
        algorithms.ALGORITHMS.remove("odd")
    assert not list(tmp_path.iterdir())
