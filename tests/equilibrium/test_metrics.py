from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from cheaptalk.equilibrium.empirical.metrics import (
    EquilibriumMetric,
    against,
    at_equilibrium,
    regrets,
)
from cheaptalk.games.item_bargaining.rules import ItemBargaining
from cheaptalk.papers.metagame.welfare import item_bargaining_metrics

HAWK_DOVE = np.array([[-1.0, 2], [0, 1]])


def test_regret_is_the_shortfall_from_the_equilibrium_payoff() -> None:
    dilemma = np.array([[3.0, 0], [5, 1]])
    assert_allclose(regrets(dilemma, np.array([0.0, 1])), [1, 0])
    assert_allclose(regrets(HAWK_DOVE, np.array([0.5, 0.5])), [0, 0])


def test_values_are_weighted_by_the_mixture() -> None:
    values, mixture = np.array([[1.0, 2], [4, 8]]), np.array([0.25, 0.75])
    assert_allclose(against(values, mixture), [1.75, 7])
    assert at_equilibrium(values, mixture) == pytest.approx(0.25 * 1.75 + 0.75 * 7)


def test_undefined_cells_are_excluded_or_replaced() -> None:
    values, mixture = np.array([[1.0, np.nan], [np.nan, np.nan]]), np.array([0.25, 0.75])
    assert_allclose(against(values, mixture), [1, np.nan])
    assert at_equilibrium(values, mixture) == 1
    zero = EquilibriumMetric("EF1", "ef1", undefined=0.0).scaled(values)
    assert_allclose(against(zero, mixture), [0.25, 0])


def test_normalisers_match_published_values() -> None:
    game = ItemBargaining(discount=0.9)
    scales = {
        (name, metric.name): metric.scale
        for name in ("published", "with_outside", "without_outside")
        for metric in item_bargaining_metrics(game, normaliser=name, pools=40_000)
    }
    assert scales["published", "UW"] == pytest.approx(805.9, rel=0.005)
    assert scales["published", "NW"] == pytest.approx(378.7, rel=0.005)
    assert scales["with_outside", "UW"] == pytest.approx(844.5, rel=0.005)
    assert scales["with_outside", "NW"] == scales["published", "NW"]
    assert scales["without_outside", "NW"] == pytest.approx(356.8, rel=0.005)
    assert scales["without_outside", "UW"] == scales["published", "UW"]
    assert scales["published", "NW+"] == pytest.approx(80.7, rel=0.02)


def test_options_select_discounted_metrics() -> None:
    def metrics(**options: Any) -> list[str]:
        selected = item_bargaining_metrics(ItemBargaining(), pools=10, **options)
        return [metric.metric for metric in selected]

    assert metrics() == ["nash_welfare", "nash_welfare_plus", "utilitarian_welfare", "ef1"]
    assert metrics(welfare="undiscounted", advantage="discounted") == [
        "nash_welfare_undiscounted",
        "nash_welfare_plus_discounted",
        "utilitarian_welfare_undiscounted",
        "ef1",
    ]
