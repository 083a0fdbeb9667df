import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.statistics import mean_intervals

COLUMNS = ["cell", "measure", "n", "clusters", "mean", "error", "low", "high"]


def clustered(
    draw: np.random.Generator, cells: int, clusters: int, sizes: tuple[int, int], alike: float
) -> pl.DataFrame:
    """Cells with clusters of random sizes whose members share a part of their deviation from 0."""
    rows: list[tuple[int, int, int, float]] = []
    for cell in range(cells):
        for cluster in range(clusters):
            size = int(draw.integers(*sizes, endpoint=True))
            common = draw.normal() * math.sqrt(alike)
            own = draw.normal(size=size) * math.sqrt(1 - alike)
            rows += [
                (cell, cluster, len(rows) + place, common + one) for place, one in enumerate(own)
            ]
    return pl.DataFrame(rows, schema=["cell", "deal", "match", "x"], orient="row")


def one(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    (row,) = mean_intervals(frame, ["x"], cluster=["deal"], **options).rows(named=True)
    return row


@pytest.mark.parametrize("level", [0.95, 0.9])
def test_agrees_with_statsmodels(level: float) -> None:
    frame = clustered(np.random.default_rng(1), 5, 12, (1, 9), 0.4)
    found = mean_intervals(frame, ["x"], ["cell"], cluster=["deal"], level=level)
    assert found.columns == COLUMNS
    assert found["cell"].to_list() == [0, 1, 2, 3, 4]
    for row in found.rows(named=True):
        cell = frame.filter(cell=row["cell"])
        fit = sm.OLS(cell["x"].to_numpy(), np.ones(len(cell))).fit(
            cov_type="cluster", cov_kwds={"groups": cell["deal"].to_numpy()}, use_t=True
        )
        low, high = fit.conf_int(alpha=1 - level)[0]
        assert (row["n"], row["clusters"]) == (len(cell), 12)
        assert row["mean"] == pytest.approx(fit.params[0], abs=1e-12)
        assert row["error"] == pytest.approx(fit.bse[0], rel=1e-10)
        assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-9)


def test_covers_the_truth_as_often_as_it_says_and_only_because_it_clusters() -> None:
    frame = clustered(np.random.default_rng(2), 2_000, 15, (3, 6), 0.5)

    def coverage(cluster: str) -> float:
        found = mean_intervals(frame, ["x"], ["cell"], cluster=[cluster])
        return float(found.select(((pl.col("low") < 0) & (pl.col("high") > 0)).mean()).item())

    assert 0.935 <= coverage("deal") <= 0.965
    assert coverage("match") < 0.85


def test_matches_of_clusters_of_one_are_independent() -> None:
    values = [0.1, 0.4, 0.9, 0.2]
    row = one(pl.DataFrame({"x": values, "deal": [1, 2, 3, 4]}))
    assert row["error"] == pytest.approx(np.std(values, ddof=1) / 2)
    assert row["high"] - row["mean"] == pytest.approx(3.182446 * row["error"], rel=1e-6)


@given(st.floats(-1e9, 1e9), st.integers(1, 40), st.integers(1, 5))
def test_equal_values_give_the_point_itself(value: float, clusters: int, size: int) -> None:
    deals = [deal for deal in range(clusters) for _ in range(size)]
    row = one(pl.DataFrame({"x": [value] * len(deals), "deal": deals}))
    limit = value if clusters > 1 else None
    assert (row["mean"], row["low"], row["high"]) == (value, limit, limit)
    assert (row["n"], row["clusters"]) == (clusters * size, clusters)


def test_one_cluster_gives_a_mean_and_no_interval() -> None:
    row = one(pl.DataFrame({"x": [0.0, 1.0, 1.0, 1.0], "deal": ["a"] * 4}))
    assert (row["mean"], row["clusters"]) == (0.75, 1)
    assert row["error"] is row["low"] is row["high"] is None


def test_missing_values_and_empty_cells_are_left_out() -> None:
    frame = pl.DataFrame(
        {"cell": ["a", "a", "a", "b"], "deal": [1, 2, 2, 1], "x": [1.0, 2.0, None, None]}
    )
    (row,) = mean_intervals(frame, ["x"], ["cell"], cluster=["deal"]).rows(named=True)
    assert (row["cell"], row["n"], row["clusters"], row["mean"]) == ("a", 2, 2, 1.5)
    assert mean_intervals(frame.clear(), ["x"], ["cell"], cluster=["deal"]).columns == COLUMNS


def test_deals_of_different_configurations_are_different_clusters() -> None:
    frame = pl.DataFrame(
        {"configuration": ["a", "a", "b", "b"], "deal": ["0"] * 4, "x": [0.0, 0.0, 1.0, 1.0]}
    )
    assert mean_intervals(frame, ["x"])["clusters"].to_list() == [2]
