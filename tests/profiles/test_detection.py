"""Minimum detectable effects, against simulated tests."""

import numpy as np
import pytest
from scipy import stats

from cheaptalk.profiles.metrics.estimation import detectable_effect, noncentrality
from tests.known import known


@pytest.mark.parametrize("freedom", [2.0, 5.0, 30.0])
@pytest.mark.parametrize("level", [0.05, 0.005])
def test_power_matches_noncentral_t_distribution(freedom: float, level: float) -> None:
    effect = noncentrality(freedom, level)
    critical = stats.t.ppf(1 - level / 2, freedom)
    assert 1 - stats.nct.cdf(critical, freedom, effect) == pytest.approx(0.8, abs=1e-3)


def test_detectable_effect_of_constants_shrinks_with_clusters() -> None:
    few, many = (known(detectable_effect(0.0, n - 1, n, 1.0, 0.05)) for n in (6, 60))
    assert 0 < many < 0.2 < few < 1


def test_one_cluster_or_infinite_bounds_detect_nothing() -> None:
    assert detectable_effect(None, None, 1, 1.0, 0.05) is None
    assert detectable_effect(0.0, 8, 9, np.inf, 0.05) is None
