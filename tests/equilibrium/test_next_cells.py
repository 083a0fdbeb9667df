from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cheaptalk.equilibrium.bootstrap import bootstrap_equilibrium
from cheaptalk.equilibrium.designs import compare_designs
from cheaptalk.equilibrium.drawing import resampled
from cheaptalk.equilibrium.games import EmpiricalGame
from cheaptalk.equilibrium.metrics import at_equilibrium, regrets
from cheaptalk.equilibrium.next_cells import Target, allocated, gradients, propose_cells
from cheaptalk.equilibrium.payoffs import Floats
from cheaptalk.equilibrium.symmetric import mene_mixtures
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


def test_the_first_order_error_is_the_bootstraps() -> None:
    matches = studied(MIXED, 200, np.random.default_rng(0), noise=0.5)
    game = EmpiricalGame.of_frame(matches)
    drawn = bootstrap_equilibrium(game, draws=2_000, paired=False)
    assert propose_cells(game, 1).error == pytest.approx(drawn.payoff.std(), rel=0.06)
    spread = np.sqrt(drawn.mixtures.var(axis=0).sum())
    assert propose_cells(game, 1, target="mixture").error == pytest.approx(spread, rel=0.06)


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
    plan = propose_cells(game, 900)
    assert plan.error == pytest.approx(
        bootstrap_equilibrium(game, draws=2_000, paired=False).payoff.std(), rel=0.06
    )
    added = plan.cells.group_by("sample").agg(pl.col("add_matches").sum())
    by_sample = dict(added.iter_rows())
    assert by_sample["wild"] > 2 * by_sample["calm"]
    assert " in wild: " in str(plan)


def test_budgets_go_where_they_count() -> None:
    game = EmpiricalGame.of_frame(studied(MIXED, 20, np.random.default_rng(0)))
    plan = propose_cells(game, 600)
    added = {
        tuple(row[:2]): row[2] for row in plan.cells.select("row", "column", "add_matches").rows()
    }
    assert 594 <= sum(added.values()) <= 600
    assert all(not more for pair, more in added.items() if NOT_PLAYED in pair)
    assert plan.planned < plan.even < plan.error
    assert plan.even_matches > 1_000
    assert "s0 / s1: " in str(plan)
    watched = propose_cells(game, 600, target="regret").cells
    outside = watched.filter((pl.col("row") == NOT_PLAYED) | (pl.col("column") == NOT_PLAYED))
    assert outside["add_matches"].sum() > 0


def test_the_allocation_is_the_best_of_all() -> None:
    variances, deals, costs = np.array([4.0, 1, 0]), np.array([2, 2, 2]), np.array([1, 1, 1])
    found = allocated(variances, deals, costs, 5)
    assert_array_equal(found, [4, 1, 0])
    best = min(((4 / (2 + one) + 1 / (7 - one)), one) for one in range(6))
    assert found[0] == best[1]
    assert_array_equal(allocated(variances, np.array([50, 2, 2]), costs, 5), [0, 5, 0])
    assert_array_equal(allocated(variances, deals, np.array([4, 1, 1]), 8), [1, 2, 0])


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
    with pytest.raises(ValueError, match="pilot of at least 2"):
        compare_designs(MIXED, 1.0, **options)


def test_what_is_known_needs_no_matches() -> None:
    same = [match("a", "a", 1, 1, deal) for deal in ("d1", "d2")]
    with pytest.raises(CheaptalkError, match="known exactly"):
        propose_cells(EmpiricalGame.of_frame(frame(same)), 10)
    with pytest.raises(ValueError, match="at least 1 match"):
        propose_cells(EmpiricalGame.of_frame(frame(same)), 0)
