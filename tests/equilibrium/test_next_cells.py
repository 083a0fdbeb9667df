from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cheaptalk.equilibrium.empirical.bootstrap import bootstrap_equilibrium, resampled
from cheaptalk.equilibrium.empirical.empirical_games import EmpiricalGame
from cheaptalk.equilibrium.empirical.metrics import at_equilibrium, regrets
from cheaptalk.equilibrium.empirical.next_cells import (
    Target,
    TargetVariance,
    allocated,
    broken_ties,
    gradients,
    propose_cells,
    shared_designs,
)
from cheaptalk.equilibrium.empirical.sampling_designs import compare_designs
from cheaptalk.equilibrium.solvers.payoffs import Floats
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.rules import CheaptalkError
from tests.equilibrium.matches import frame, match, studied

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
def test_gradients_are_the_slopes_of_the_solver(payoffs: Floats, target: Target) -> None:
    found, step = gradients(payoffs, target), 1e-4
    for cell in np.ndindex(payoffs.shape):
        up, down = payoffs.copy(), payoffs.copy()
        up[cell] += step
        down[cell] -= step
        slope = (targets(up, target) - targets(down, target)) / (2 * step)
        assert_allclose(found[:, *cell], slope, atol=1e-6)


def test_a_continuum_has_no_gradient() -> None:
    with pytest.raises(CheaptalkError, match="continuum"):
        gradients(np.ones((2, 2)), "payoff")


@pytest.mark.parametrize(("paired", "generosity"), [(False, 0.0), (True, 0.0), (True, 1.0)])
def test_the_first_order_error_is_the_bootstraps(paired: bool, generosity: float) -> None:
    matches = studied(MIXED, 200, np.random.default_rng(0), noise=0.5, generosity=generosity)
    game = EmpiricalGame.of_frame(matches)
    drawn = bootstrap_equilibrium(game, draws=2_000, paired=paired)
    for target, values in (
        ("payoff", drawn.payoff[:, None]), ("mixture", drawn.mixtures), ("regret", drawn.regrets),
    ):  # fmt: skip
        plan = propose_cells(game, 1, target=target, paired=paired)  # type: ignore[arg-type]
        spread = np.sqrt(values.var(axis=0).sum())
        assert plan.error == pytest.approx(spread, rel=0.06)


def test_mixed_games_are_drawn_by_themselves_and_planned_together() -> None:
    draw = np.random.default_rng(0)
    parts = [
        studied(MIXED, 150, draw, noise=noise, generosity=1.0).with_columns(
            pl.lit(name).alias("configuration")
        )
        for name, noise in (("calm", 0.2), ("wild", 2.0))
    ]
    game = EmpiricalGame.of_frame(pl.concat(parts))
    means = resampled(game, 2_000, paired=True)[:, 0]
    alone = [resampled(EmpiricalGame.of_frame(part), 2_000, paired=True)[:, 0] for part in parts]
    both = np.sqrt(alone[0].var(axis=0) + alone[1].var(axis=0)) / 2
    assert_allclose(means.std(axis=0), both, rtol=0.08)
    plan = propose_cells(game, 900, paired=False)
    assert plan.error == pytest.approx(
        bootstrap_equilibrium(game, draws=2_000, paired=False).payoff.std(), rel=0.06
    )
    added = plan.cells.group_by("sample").agg(pl.col("add_matches").sum())
    by_sample = dict(added.iter_rows())
    assert by_sample["wild"] > 2 * by_sample["calm"]
    assert " in wild: " in str(plan)


def test_budgets_go_where_they_count() -> None:
    game = EmpiricalGame.of_frame(studied(MIXED, 20, np.random.default_rng(0)))
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


@pytest.mark.parametrize("target", ["payoff", "regret"])
def test_the_error_foreseen_is_that_of_the_design_once_played(target: Target) -> None:
    """On average over studies, with the new instances shared by all cells that get some."""
    whole, cells = 160, [(0, 0), (0, 1), (2, 0)]
    foreseen, found = [], []
    for seed in range(120):
        matches = studied(MIXED, whole, np.random.default_rng(seed), noise=0.5, generosity=2.0)
        first = pl.col("instance").cast(pl.Int64) < 40
        game = EmpiricalGame.of_frame(matches.filter(first))
        pairs = [sorted(f"s{one}" for one in pair) for pair in cells]
        more = pl.concat_list("player_first", "player_second").list.sort().is_in(pairs)
        played = EmpiricalGame.of_frame(matches.filter(first | more))
        added = np.array([whole - 40 if key in ((0, 0), (0, 1), (0, 2)) else 0
                          for key in game.samples[0].cells])  # fmt: skip
        known = TargetVariance.of_game(game, gradients(game.payoffs(), target), paired=True)
        foreseen.append(known.error(added) ** 2)
        found.append(np.square(targets(played.payoffs(), target) - targets(MIXED, target)).sum())
    assert np.mean(foreseen) == pytest.approx(np.mean(found), rel=0.35)


def test_shared_instances_are_shared_by_what_is_proposed() -> None:
    matches = studied(MIXED, 50, np.random.default_rng(3), noise=0.3, generosity=3.0)
    game = EmpiricalGame.of_frame(matches)
    plan, apart = (propose_cells(game, 300, target="regret", paired=one) for one in (None, False))
    assert plan.paired
    assert not apart.paired
    assert plan.error < 0.5 * apart.error  # what instances give to all moves no regret
    assert plan.planned < plan.even < plan.error
    assert "all regrets (root of the variances summed" in str(plan)
    assert len(set(plan.cells["add_instances"]) - {0}) == 1
    even = plan.cells["even_matches"].to_numpy() / (plan.cells["matches"] / plan.cells["instances"])
    assert_allclose(even, even[0])


def test_what_cancels_out_is_known_exactly() -> None:
    outside = [
        match(one, other, gift, gift, instance)
        for instance, gift in (("d1", 1), ("d2", 2), ("d3", 5))
        for one in "ab"
        for other in "ab"
        if one == other == "a" or "b" in (one, other)
    ]
    game = EmpiricalGame.of_frame(frame(outside)).without(["a"])
    assert propose_cells(game, 10).error > 0
    with pytest.raises(CheaptalkError, match="does not depend on the instances"):
        propose_cells(game, 10, target="regret")


def test_the_same_new_instances_go_to_ever_more_cells() -> None:
    cells = np.array([1.0, 4, 0]), np.array([2, 1, 1])
    found = shared_designs(*cells, 8, np.arange(3))
    assert [one.tolist() for one in found] == [[0, 8, 0], [2, 2, 0]]
    tied = shared_designs(*cells, 8, np.array([0, 1, 1]))
    assert [one.tolist() for one in tied] == [[0, 4, 4], [2, 2, 2]]


def test_cells_that_tie_by_rule_get_the_same_new_instances() -> None:
    draw = np.random.default_rng(0)
    options, talks = draw.uniform(0, 600, 40), draw.uniform(0, 90, 40)

    def played(instances: dict[str, int]) -> EmpiricalGame:
        return EmpiricalGame.of_frame(
            frame(
                match(one, other, options[instance] + talk, options[instance] + talk, str(instance))
                for one in ("talk", "walk")
                for other in ("talk", "walk")
                for instance in range(instances.get(one + other, 30))
                for talk in [talks[instance] * (one == other == "talk")]
            )
        )

    plan = propose_cells(played({}), 60, target="regret")
    added = {
        tuple(row[:2]): row[2] for row in plan.cells.select("row", "column", "add_instances").rows()
    }
    assert added["talk", "walk"] == added["walk", "walk"] > 0
    more = {"talktalk": 40}
    assert [broken_ties(played(one).samples[0]) for one in ({}, more)] == [0, 0]
    assert broken_ties(played({"talkwalk": 40, "walktalk": 40} | more).samples[0]) == 2


def test_the_allocation_is_the_best_of_all() -> None:
    variances, instances, costs = np.array([4.0, 1, 0]), np.array([2, 2, 2]), np.array([1, 1, 1])
    found = allocated(variances, instances, costs, 5)
    assert_array_equal(found, [4, 1, 0])
    best = min(((4 / (2 + one) + 1 / (7 - one)), one) for one in range(6))
    assert found[0] == best[1]
    assert_array_equal(allocated(variances, np.array([50, 2, 2]), costs, 5), [0, 5, 0])
    assert_array_equal(allocated(variances, instances, np.array([4, 1, 1]), 8), [1, 2, 0])


def test_aimed_matches_make_the_same_interval_with_fewer() -> None:
    found = compare_designs(MIXED, 1.0, pilot=20, budget=600, studies=150)
    assert found.matches == 720
    assert found.planned < 0.85 * found.even
    assert found.even_matches > 1_000
    assert found.planned_mixture < found.even_mixture
    assert found.switched == 0


@pytest.mark.parametrize("wrong", [{"pilot": 1}, {"studies": 0}])
def test_designs_need_something_to_compare(wrong: dict[str, Any]) -> None:
    options = {"pilot": 20, "budget": 60, "studies": 2} | wrong
    with pytest.raises(ValueError, match="pilot must be 2 or more"):
        compare_designs(MIXED, 1.0, **options)


def test_what_is_known_needs_no_matches() -> None:
    same = [match("a", "a", 1, 1, instance) for instance in ("d1", "d2")]
    with pytest.raises(CheaptalkError, match="known exactly"):
        propose_cells(EmpiricalGame.of_frame(frame(same)), 10)
    with pytest.raises(ValueError, match="at least 1 match"):
        propose_cells(EmpiricalGame.of_frame(frame(same)), 0)
