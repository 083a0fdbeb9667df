"""Differences without variation: p-values against all arrangements of equal players."""

from itertools import combinations, product
from math import comb

import numpy as np
import polars as pl
import pytest

from cheaptalk.statistics.differences import constant_p_of_instances, difference_limits, two_sided_p
from tests.known import known


def instances(parts: dict[str, list[float]]) -> pl.DataFrame:
    """Return paired instances of configurations, with their parts of the difference."""
    rows = [(name, value) for name, values in parts.items() for value in values]
    frame = pl.DataFrame(rows, {"configuration": pl.String, "part": pl.Float64}, orient="row")
    return frame.with_columns(first=True, second=True)


def test_constant_differences_have_permutation_p_values() -> None:
    for parts in [
        {"a": [1.0] * 6},
        {"a": [0.3] * 4, "b": [-0.1] * 3},
        {"a": [0.3] * 3, "b": [0.0] * 5},
        {"a": [0.3], "b": [0.3], "c": [0.3] * 4},  # two configurations of one instance: one stratum
        {"a": [0.3], "b": [0.3] * 4},  # a single one collapses all
    ]:
        frame = instances(parts)
        single = [name for name, values in parts.items() if len(values) == 1]
        thin = [*parts] if len(single) == 1 else single
        strata = [frame["configuration"].is_in(thin).to_numpy()]
        strata += [
            (frame["configuration"] == name).to_numpy() for name in parts if name not in thin
        ]
        values = frame["part"].to_numpy()
        constant, flips = 0, [*product((-1, 1), repeat=len(values))]
        for signs in flips:
            flipped = values * signs
            constant += all(np.ptp(flipped[inside]) == 0 for inside in strata if inside.any())
        assert constant_p_of_instances(frame) == constant / len(flips)

    membership = [(True, False)] * 4 + [(False, True)] * 3
    frame = pl.DataFrame(membership, schema=["first", "second"], orient="row").with_columns(
        configuration=pl.lit("a"), part=pl.col("first").cast(pl.Float64)
    )
    arrangements = [*combinations(range(7), 4)]
    assert len(arrangements) == comb(7, 4) == 35
    assert constant_p_of_instances(frame) == 2 / 35

    assert two_sided_p(1.0, None, 19.0, 0.5**19) == 0.5**19
    assert two_sided_p(1.0, None, 1.0, 0.5**19) == 0.5

    assert two_sided_p(1.0, None, 19.0) is None
    assert two_sided_p(1.0, 0.0, 19.0) is None


def test_interval_at_the_p_value_level_ends_at_zero() -> None:
    for difference in (-2.0, 2.0):
        for skew in (-4.0, -0.3, 0.0, 0.3, 4.0):
            p = known(two_sided_p(difference, 0.5, 9.0, skew=skew))
            limits = difference_limits(difference, 0.5, 9.0, 1 - p, skew=skew)
            assert min(abs(known(end)) for end in limits) == pytest.approx(0, abs=1e-9)


def test_only_rare_large_losses_increase_the_p_value_of_a_lead() -> None:
    plain, loss, gain = (known(two_sided_p(2.0, 0.5, 9.0, skew=skew)) for skew in (0.0, -0.3, 0.3))
    assert loss > 2 * plain
    assert gain == plain
