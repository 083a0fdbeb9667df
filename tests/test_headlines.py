"""The headline benchmark: it detects the players that sentences name, and resumes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from bench.headlines import BATCH, HEADLINES, Cell, Count, Simulator, limits, simulated, simulator


@pytest.fixture(scope="module")
def simulation() -> Iterator[Simulator]:
    with simulator() as made:
        yield made


@pytest.mark.parametrize("headline", [name for name in HEADLINES if name != "compare"])
def test_clear_leader_is_named(simulation: Simulator, headline: str) -> None:
    cell = Cell(headline, 3, 30, 1, paired=True, outcome="skewed", ahead=9.0)
    result = HEADLINES[headline](simulation, cell, np.random.default_rng(1))
    assert result.named == "p0", result.text


def test_large_change_is_named(simulation: Simulator) -> None:
    cell = Cell("compare", 2, 30, 1, paired=True, outcome="skewed", ahead=9.0)
    result = HEADLINES["compare"](simulation, cell, np.random.default_rng(1))
    assert result.named == "p0", result.text
    assert "of p0 rose by" in result.text


@pytest.mark.parametrize("headline", HEADLINES)
@pytest.mark.parametrize("paired", [True, False])
def test_few_matches_name_no_player(simulation: Simulator, headline: str, *, paired: bool) -> None:
    cell = Cell(headline, 3, 10, 1, paired=paired, outcome="skewed")
    result = HEADLINES[headline](simulation, cell, np.random.default_rng(2))
    assert result.named is None, result.text


@pytest.mark.parametrize("instances", [2, 3, 5])
def test_few_instances_name_no_player_in_metagame(simulation: Simulator, instances: int) -> None:
    """One of two equal players leads on all of five instances in 1 of 16 studies."""
    cell = Cell("metagame", 2, instances, 1, paired=True, outcome="skewed", ahead=9.0)
    result = HEADLINES["metagame"](simulation, cell, np.random.default_rng(3))
    assert result.named is None, result.text
    assert (
        f"the pair with the fewest has {instances} instances; at least 6 are needed" in result.text
    )


def test_progress_is_saved_and_resumed(tmp_path: Path) -> None:
    cells = [Cell("leaderboard", 2, 3, 1, paired=True, outcome="binary")]
    progress = tmp_path / "progress.jsonl"
    progress.write_text('[["leaderboard", 2, 3, 1, true, "binary", 0.0], [20, 3, 1]]\n')
    assert simulated(cells, 0, 1, progress) == {cells[0]: Count(20, 3, 1)}
    again = simulated(cells, 1e-6, 1, progress)[cells[0]]
    assert again.studies in (20, 20 + BATCH)


def test_limits_match_clopper_pearson() -> None:
    assert limits(0, 20) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    assert limits(20, 20) == pytest.approx((0.025 ** (1 / 20), 1))
    assert limits(3, 50) == pytest.approx((0.0125, 0.1655), abs=1e-4)
