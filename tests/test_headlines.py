"""The benchmark of headlines: it sees what sentences name, and goes on where it stopped."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from bench.headlines import BATCH, HEADLINES, Cell, Count, Simulator, limits, simulated, simulator


@pytest.fixture(scope="module")
def drawing() -> Iterator[Simulator]:
    with simulator() as made:
        yield made


@pytest.mark.parametrize("headline", [name for name in HEADLINES if name != "compare"])
def test_a_leader_far_ahead_is_named(drawing: Simulator, headline: str) -> None:
    cell = Cell(headline, 3, 30, 1, paired=True, outcome="skewed", ahead=9.0)
    said = HEADLINES[headline](drawing, cell, np.random.default_rng(1))
    assert said.named == "p0", said.text


def test_a_player_who_changed_much_is_named(drawing: Simulator) -> None:
    cell = Cell("compare", 2, 30, 1, paired=True, outcome="skewed", ahead=9.0)
    said = HEADLINES["compare"](drawing, cell, np.random.default_rng(1))
    assert said.named == "p0", said.text
    assert "of p0 rose by" in said.text


@pytest.mark.parametrize("headline", HEADLINES)
@pytest.mark.parametrize("paired", [True, False])
def test_of_few_matches_nothing_is_named(
    drawing: Simulator, headline: str, *, paired: bool
) -> None:
    cell = Cell(headline, 3, 10, 1, paired=paired, outcome="skewed")
    said = HEADLINES[headline](drawing, cell, np.random.default_rng(2))
    assert said.named is None, said.text


@pytest.mark.parametrize("instances", [2, 3, 5])
def test_a_metagame_of_few_instances_names_nobody(drawing: Simulator, instances: int) -> None:
    """Of two equal players one is ahead on all of five instances in one of sixteen studies."""
    cell = Cell("metagame", 2, instances, 1, paired=True, outcome="skewed", ahead=9.0)
    said = HEADLINES["metagame"](drawing, cell, np.random.default_rng(3))
    assert said.named is None, said.text
    assert f"the pair with the fewest has {instances} instances; at least 6 are needed" in said.text


def test_progress_is_kept_and_taken_up(tmp_path: Path) -> None:
    cells = [Cell("leaderboard", 2, 3, 1, paired=True, outcome="binary")]
    progress = tmp_path / "progress.jsonl"
    progress.write_text('[["leaderboard", 2, 3, 1, true, "binary", 0.0], [20, 3, 1]]\n')
    assert simulated(cells, 0, 1, progress) == {cells[0]: Count(20, 3, 1)}
    again = simulated(cells, 1e-6, 1, progress)[cells[0]]
    assert again.studies in (20, 20 + BATCH)


def test_limits_of_a_share_are_those_of_clopper_and_pearson() -> None:
    assert limits(0, 20) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    assert limits(20, 20) == pytest.approx((0.025 ** (1 / 20), 1))
    assert limits(3, 50) == pytest.approx((0.0125, 0.1655), abs=1e-4)
