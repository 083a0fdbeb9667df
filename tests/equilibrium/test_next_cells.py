import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cheaptalk.equilibrium.empirical.bootstrap import bootstrap_equilibrium, resample
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import at_equilibrium, regrets
from cheaptalk.equilibrium.empirical.next_cells import (
    Target,
    TargetVariance,
    allocated,
    broken_ties,
    compare_designs,
    gradients,
    propose_cells,
    shared_designs,
)
from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.rules import CheaptalkError
from tests.equilibrium.matches import frame, match, simulate

GAME = np.array([[-1.0, 2, 0, -3], [0, 1, -1, -3], [-3, -3, -3, -3], [-2.0, -2, 4, 0]])
MIXED = np.array([[-2.0, 6, -9], [0, 3, -9], [-9, -9, -9]])
NOT_PLAYED = "s2"


def targets(payoffs: Floats, target: str) -> Floats:
    x = mene_mixtures(payoffs[None])[0]
    if target == "mixture":
        return np.asarray(x)
    if target == "regret":
        return regrets(payoffs, x)
    return np.array([at_equilibrium(payoffs, x)])


@pytest.mark.parametrize("target", ["payoff", "mixture", "regret"])
@pytest.mark.parametrize("payoffs", [GAME, MIXED])
def test_gradients_match_finite_differences(payoffs: Floats, target: Target) -> None:
    jacobian, step = gradients(payoffs, target), 1e-4
    for cell in np.ndindex(payoffs.shape):
        up, down = payoffs.copy(), payoffs.copy()
        up[cell] += step
        down[cell] -= step
        slope = (targets(up, target) - targets(down, target)) / (2 * step)
        assert_allclose(jacobian[:, *cell], slope, atol=1e-6)


def test_first_order_error_matches_the_bootstrap() -> None:
    for paired, generosity in [(False, 0.0), (True, 0.0), (True, 1.0)]:
        matches = simulate(MIXED, 200, np.random.default_rng(0), noise=0.5, generosity=generosity)
        game = EmpiricalGame.of_frame(matches)
        drawn = bootstrap_equilibrium(game, draws=2_000, paired=paired)
        for target, values in (
            ("payoff", drawn.payoff[:, None]),
            ("mixture", drawn.mixtures),
            ("regret", drawn.regrets),
        ):
            plan = propose_cells(game, 1, target=target, paired=paired)  # type: ignore[arg-type]
            spread = np.sqrt(values.var(axis=0).sum())
            assert plan.error == pytest.approx(spread, rel=0.06)


def test_mixed_games_are_resampled_separately_and_planned_jointly() -> None:
    draw = np.random.default_rng(0)
    parts = [
        simulate(MIXED, 150, draw, noise=noise, generosity=1.0).with_columns(
            pl.lit(name).alias("configuration")
        )
        for name, noise in (("calm", 0.2), ("wild", 2.0))
    ]
    game = EmpiricalGame.of_frame(pl.concat(parts))
    means = resample(game, 2_000, paired=True)[:, 0]
    separate = [resample(EmpiricalGame.of_frame(part), 2_000, paired=True)[:, 0] for part in parts]
    both = np.sqrt(separate[0].var(axis=0) + separate[1].var(axis=0)) / 2
    assert_allclose(means.std(axis=0), both, rtol=0.08)
    plan = propose_cells(game, 900, paired=False)
    assert plan.error == pytest.approx(
        bootstrap_equilibrium(game, draws=2_000, paired=False).payoff.std(), rel=0.06
    )
    added = plan.cells.group_by("sample").agg(pl.col("add_matches").sum())
    by_sample = dict(added.iter_rows())
    assert by_sample["wild"] > 2 * by_sample["calm"]
    assert " in wild: " in str(plan)


def test_matches_go_to_cells_that_reduce_the_error() -> None:
    game = EmpiricalGame.of_frame(simulate(MIXED, 20, np.random.default_rng(0)))
    plan = propose_cells(game, 600, paired=False)
    added = {
        tuple(row[:2]): row[2] for row in plan.cells.select("row", "column", "add_matches").rows()
    }
    assert 594 <= sum(added.values()) <= 600
    assert all(not more for pair, more in added.items() if NOT_PLAYED in pair)
    assert plan.planned < plan.even < plan.error
    assert plan.even_matches > 1_000
    assert "s0 / s1: " in str(plan)
    watched = propose_cells(game, 600, target="regret", paired=False).cells
    outside = watched.filter((pl.col("row") == NOT_PLAYED) | (pl.col("column") == NOT_PLAYED))
    assert outside["add_matches"].sum() > 0


def test_predicted_error_matches_the_error_after_play() -> None:
    """On average over studies; all cells that receive new instances share them."""
    begun, total, cells = 40, 160, [(0, 0), (0, 1), (0, 2)]
    pairs = [[f"s{row}", f"s{column}"] for row, column in cells]
    first = pl.col("instance").cast(pl.Int64) < begun
    more = pl.concat_list("player_first", "player_second").list.sort().is_in(pairs)
    predicted, observed = [], []
    for seed in range(80):
        matches = simulate(MIXED, total, np.random.default_rng(seed), noise=0.5, generosity=2.0)
        game, played = map(
            EmpiricalGame.of_frame, (matches.filter(first), matches.filter(first | more))
        )
        added = np.array([(total - begun) * (key in cells) for key in game.samples[0].cells])
        known = TargetVariance.of_game(game, gradients(game.payoffs(), "regret"), paired=True)
        predicted.append(known.error(added) ** 2)
        errors = targets(played.payoffs(), "regret") - targets(MIXED, "regret")
        observed.append(np.square(errors).sum())
    assert np.mean(predicted) == pytest.approx(np.mean(observed), rel=0.35)


def test_proposed_cells_share_new_instances() -> None:
    matches = simulate(MIXED, 50, np.random.default_rng(3), noise=0.3, generosity=3.0)
    game = EmpiricalGame.of_frame(matches)
    plan, unpaired = (
        propose_cells(game, 300, target="regret", paired=paired) for paired in (None, False)
    )
    assert plan.paired
    assert not unpaired.paired
    assert plan.error < 0.5 * unpaired.error  # effects common to all cells change no regret
    assert plan.planned < plan.even < plan.error
    assert "all regrets (root of the variances summed" in str(plan)
    assert len(set(plan.cells["add_instances"]) - {0}) == 1
    even = plan.cells["even_matches"].to_numpy() / (plan.cells["matches"] / plan.cells["instances"])
    assert_allclose(even, even[0])


def test_target_independent_of_instances_raises_error() -> None:
    outside = [
        match(row, column, payoff, payoff, instance)
        for instance, payoff in (("d1", 1), ("d2", 2), ("d3", 5))
        for row in "ab"
        for column in "ab"
        if row == column == "a" or "b" in (row, column)
    ]
    game = EmpiricalGame.of_frame(frame(outside)).without(["a"])
    assert propose_cells(game, 10).error > 0
    with pytest.raises(CheaptalkError, match="does not depend on the instances"):
        propose_cells(game, 10, target="regret")


def test_shared_designs_extend_new_instances_to_more_cells() -> None:
    cells = np.array([1.0, 4, 0]), np.array([2, 1, 1])
    designs = shared_designs(*cells, 8, np.arange(3))
    assert [design.tolist() for design in designs] == [[0, 8, 0], [2, 2, 0]]
    tied = shared_designs(*cells, 8, np.array([0, 1, 1]))
    assert [design.tolist() for design in tied] == [[0, 4, 4], [2, 2, 2]]


def test_cells_tied_by_rule_get_the_same_new_instances() -> None:
    draw = np.random.default_rng(0)
    options, talks = draw.uniform(0, 600, 40), draw.uniform(0, 90, 40)

    def played(instances: dict[str, int]) -> EmpiricalGame:
        return EmpiricalGame.of_frame(
            frame(
                match(row, other, options[instance] + talk, options[instance] + talk, str(instance))
                for row in ("talk", "walk")
                for other in ("talk", "walk")
                for instance in range(instances.get(row + other, 30))
                for talk in [talks[instance] * (row == other == "talk")]
            )
        )

    plan = propose_cells(played({}), 60, target="regret")
    added = {
        tuple(row[:2]): row[2] for row in plan.cells.select("row", "column", "add_instances").rows()
    }
    assert added["talk", "walk"] == added["walk", "walk"] > 0
    more = {"talktalk": 40}
    assert [broken_ties(played(extra).samples[0]) for extra in ({}, more)] == [0, 0]
    assert broken_ties(played({"talkwalk": 40, "walktalk": 40} | more).samples[0]) == 2


def test_allocation_is_optimal() -> None:
    variances, instances, costs = np.array([4.0, 1, 0]), np.array([2, 2, 2]), np.array([1, 1, 1])
    allocation = allocated(variances, instances, costs, 5)
    assert_array_equal(allocation, [4, 1, 0])
    best = min(((4 / (2 + count) + 1 / (7 - count)), count) for count in range(6))
    assert allocation[0] == best[1]
    assert_array_equal(allocated(variances, np.array([50, 2, 2]), costs, 5), [0, 5, 0])
    assert_array_equal(allocated(variances, instances, np.array([4, 1, 1]), 8), [1, 2, 0])


def test_planned_design_is_more_precise_than_even_design() -> None:
    comparison = compare_designs(MIXED, 1.0, pilot=20, budget=600, studies=150)
    assert comparison.matches == 720
    assert comparison.planned < 0.85 * comparison.even
    assert comparison.even_matches > 1_000
    assert comparison.planned_mixture < comparison.even_mixture
    assert comparison.switched == 0


def test_undefined_proposals_are_rejected() -> None:
    with pytest.raises(CheaptalkError, match="continuum"):
        gradients(np.ones((2, 2)), "payoff")
    game = EmpiricalGame.of_frame(frame(match("a", "a", 1, 1, name) for name in ("d1", "d2")))
    with pytest.raises(CheaptalkError, match="known exactly"):
        propose_cells(game, 10)
    with pytest.raises(ValueError, match="at least 1 match"):
        propose_cells(game, 0)
    with pytest.raises(ValueError, match="pilot must be 2 or more"):
        compare_designs(MIXED, 1.0, pilot=1, budget=60)
