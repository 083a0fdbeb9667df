import itertools

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from cheaptalk.equilibrium.empirical.bootstrap import (
    bootstrap_equilibrium,
    instances_in_all,
    resample,
    summary,
)
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalBimatrix, EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import EquilibriumMetric
from cheaptalk.rules import CheaptalkError
from tests.equilibrium.matches import frame, match, simulate

HAWK_DOVE = np.array([[-2.0, 6, -9], [0, 3, -9], [-9, -9, -9]])
"""Hawk 3/5, dove 2/5, and a third strategy that is never played: u(x, x) = 6/5."""
JOINT = EquilibriumMetric("joint", "joint")


def game_of(seed: int, instances: int = 40, **noise: float) -> EmpiricalGame:
    matches = simulate(HAWK_DOVE, instances, np.random.default_rng(seed), **noise)
    return EmpiricalGame.of_frame(matches, metrics=["joint"])


def test_seed_fixes_results_for_any_number_of_processes() -> None:
    game = game_of(0)
    first, same, other = (
        bootstrap_equilibrium(game, [JOINT], draws=130, seed=seed) for seed in (1, 1, 2)
    )
    assert_array_equal(first.mixtures, same.mixtures)
    assert not (first.payoffs == other.payoffs).any()
    spread = bootstrap_equilibrium(game, [JOINT], draws=130, seed=1, processes=2)
    assert_array_equal(first.mixtures, spread.mixtures)
    assert_array_equal(first.at_equilibrium("joint"), spread.at_equilibrium("joint"))


def test_metrics_of_a_cell_share_its_draws() -> None:
    for paired in [True, False]:
        means = resample(game_of(0), 50, paired=paired)
        payoffs, joint = means[:, 0], means[:, 1]
        assert_allclose(joint, payoffs + payoffs.swapaxes(1, 2))
        assert means.std(axis=0).min() > 0


def test_standard_error_is_clustered_by_instance() -> None:
    game = game_of(0, instances=200, generosity=3.0)
    drawn = resample(game, 2_000, paired=False)[:, 0]
    error = np.sqrt(game.samples[0].cells[0, 1].deviations[:, 0].var(ddof=1) / 200)
    assert drawn[:, 0, 1].std() == pytest.approx(error, rel=0.06)
    assert drawn[:, 0, 1].std() > 2 * 1 / np.sqrt(400)  # as if matches were independent


def test_only_paired_draws_share_instances() -> None:
    game = game_of(0, instances=100, noise=0.1, generosity=5.0)
    assert bootstrap_equilibrium(game, draws=2).paired
    shared, separate = (resample(game, 500, paired=paired)[:, 0] for paired in (True, False))
    assert np.corrcoef(shared[:, 0, 0], shared[:, 1, 1])[0, 1] > 0.99
    assert abs(np.corrcoef(separate[:, 0, 0], separate[:, 1, 1])[0, 1]) < 0.2


def test_cells_sharing_half_their_instances_are_paired() -> None:
    """One cell has the instances of the given numbers, all others the first 40."""
    ranges = {(20, 60): True, (21, 61): False, (0, 20): True, (0, 200): True, (0, 3): False}
    for (first, last), paired in ranges.items():
        matches = simulate(HAWK_DOVE, 200, np.random.default_rng(0), generosity=1.0)
        cell = (pl.col("player_first") == "s0") & (pl.col("player_second") == "s0")
        number = pl.col("instance").cast(pl.Int64)
        game = EmpiricalGame.of_frame(
            matches.filter((~cell & (number < 40)) | (cell & (number >= first) & (number < last)))
        )
        assert bootstrap_equilibrium(game, draws=2).paired == paired
        shared, instances = instances_in_all(game)
        assert shared == max(0, min(last, 40) - first)
        assert instances == max(last, 40)


def test_extra_instances_in_a_cell_preserve_exact_ties() -> None:
    """The outside option is the same against any rival, in every draw."""
    draw = np.random.default_rng(0)
    options = draw.uniform(0, 600, 150)
    matches = [
        match(row, column, options[instance] + talk, options[instance] + talk, str(instance))
        for instance in range(150)
        for row, column in itertools.product(("talk", "walk"), repeat=2)
        for talk in [20.0 * (row == column == "talk")]
        if instance < 50 or row == column == "talk"
    ]
    drawn = bootstrap_equilibrium(EmpiricalGame.of_frame(frame(matches)), draws=300)
    assert drawn.paired
    assert drawn.mixtures[:, 0].mean() > 0.7


def test_cells_with_separate_instances_are_not_paired() -> None:
    matches = [
        match(row, column, 1, 1, f"{min(row, column)}{max(row, column)}{instance}")
        for instance in range(2)
        for row, column in itertools.product("ab", repeat=2)
    ]
    game = EmpiricalGame.of_frame(frame(matches))
    assert not bootstrap_equilibrium(game, draws=2).paired
    with pytest.raises(CheaptalkError, match="share too few"):
        bootstrap_equilibrium(game, draws=200, paired=True)


def test_intervals_cover_the_equilibrium_payoff() -> None:
    covered = []
    for seed in range(120):
        drawn = bootstrap_equilibrium(game_of(seed, 50, generosity=2.0), draws=200)
        low, high = drawn.overall().select("low", "high").row(0)
        covered.append(low <= 1.2 <= high)
    assert 0.88 <= np.mean(covered) <= 0.99


def test_tables_contain_estimates_errors_and_intervals() -> None:
    drawn = bootstrap_equilibrium(game_of(0, 200, noise=0.2), [JOINT])
    table = drawn.table()
    assert table["metric"].unique(maintain_order=True).to_list() == ["mixture", "regret", "joint"]
    rows = {(row["strategy"], row["metric"]): row for row in table.iter_rows(named=True)}
    assert rows["s0", "mixture"]["estimate"] == pytest.approx(0.6, abs=0.02)
    assert rows["s2", "regret"]["mean"] == pytest.approx(10.2, abs=0.1)
    for row in rows.values():
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["undefined"] == 0
    assert rows["s0", "mixture"]["error"] == pytest.approx(drawn.mixtures[:, 0].std(ddof=1))
    overall = drawn.overall()
    assert overall["metric"].to_list() == ["payoff", "joint"]
    payoff, joint = overall["estimate"]
    assert joint == pytest.approx(2 * payoff)
    assert drawn.slack.max() < 1e-8
    assert drawn.against("regret").min() > -1e-8
    assert "payoff at equilibrium 1.19 (0.011)" in str(drawn)
    assert drawn.regrets[:, :2].any() == 0
    with pytest.raises(ValueError, match=r'No metric "envy" .known: joint'):
        drawn.against("envy")


def test_basic_intervals_mirror_percentiles() -> None:
    drawn, many = np.arange(101.0)[:, None], 10**9
    percentile = summary(np.array([40.0]), drawn, many, level=0.9).row(0, named=True)
    basic = summary(np.array([40.0]), drawn, many, level=0.9, basic=True).row(0, named=True)
    assert (percentile["low"], percentile["high"]) == pytest.approx((5, 95))
    assert (basic["low"], basic["high"]) == pytest.approx((-15, 75))
    with pytest.raises(ValueError, match="between 0 and 1"):
        summary(np.array([40.0]), drawn, many, level=95)
    few = summary(np.array([40.0]), drawn, 4, level=0.9).row(0, named=True)
    tail = 100 * stats.norm.cdf(stats.t.ppf(0.05, 4) * (5 / 4) ** 0.5)
    assert (few["low"], few["high"]) == pytest.approx((tail, 100 - tail))
    half = summary(np.array([np.nan]), np.array([[np.nan], [1.0]]), 9).row(0)
    assert half == (None, 1.0, None, 1.0, 1.0, 0.5)
    with pytest.raises(ValueError, match="at least 2 draws, not 1"):
        resample(game_of(0), 1)


def test_best_responses_count_ties_separately() -> None:
    payoffs = {("a", "a"): (1, 1), ("a", "b"): (0, 2), ("b", "a"): (2, 0), ("b", "b"): (0, 0)}
    matches = [
        match(row, column, first, second, instance)
        for instance in ("d1", "d2")
        for (row, column), (first, second) in payoffs.items()
    ]
    game = EmpiricalGame.of_frame(frame(matches))
    responses = bootstrap_equilibrium(game, draws=20).best_responses()
    assert_array_equal(responses.unique, [[0, 0], [1, 0]])
    assert_array_equal(responses.tied, [[0, 1], [0, 1]])
    assert_array_equal(responses.payoffs, [[1, 0], [2, 0]])


def test_adjacent_ranks_are_compared_draw_by_draw() -> None:
    drawn = bootstrap_equilibrium(game_of(0, 200, noise=0.2), [JOINT])
    gaps = drawn.differences("joint")
    assert gaps["ahead"].to_list()[1:] == gaps["behind"].to_list()[:-1]
    assert (gaps["difference"] > 0).all()
    first = gaps.row(0, named=True)
    assert first["p"] == pytest.approx(2 / 1001)
    assert first["p_holm"] >= first["p"]
    least = drawn.differences("regret").row(-1, named=True)
    assert least["behind"] == "s2"
    assert least["difference"] < -10


def test_undefined_draws_are_excluded_from_comparisons() -> None:
    def with_player(label: str) -> pl.Expr:
        return (pl.col("player_first") == label) | (pl.col("player_second") == label)

    lost = with_player("s2") | (with_player("s0") & (pl.col("instance").cast(pl.Int64) > 2))
    matches = simulate(HAWK_DOVE, 8, np.random.default_rng(0)).with_columns(
        rare=pl.when(~lost).then(pl.col("joint"))
    )
    game = EmpiricalGame.of_frame(matches, metrics=["rare"])
    drawn = bootstrap_equilibrium(game, [EquilibriumMetric("rare", "rare")], draws=300)
    assert 0 < np.isnan(drawn.against("rare")[:, 0]).mean() < 0.1
    gaps = drawn.differences("rare")
    assert set(gaps.select("ahead", "behind").row(0)) == {"s0", "s1"}
    assert gaps.null_count().sum_horizontal().item() == 0
    assert np.isfinite(gaps["low"].to_numpy()).all()
    row = drawn.table().filter(strategy="s2", metric="rare").row(0, named=True)
    assert row["undefined"] == 1
    assert "N/A" in str(drawn)


def test_bimatrix_can_be_resampled() -> None:
    matches = simulate(HAWK_DOVE, 30, np.random.default_rng(0))
    means = resample(EmpiricalBimatrix.of_frame(matches), 20)
    assert means.shape == (20, 2, 3, 3)
    assert_allclose(means[:, 0].mean(axis=0), HAWK_DOVE, atol=1)
    assert_allclose(means[:, 1].mean(axis=0), HAWK_DOVE.T, atol=1)
