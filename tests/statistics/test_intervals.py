import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from cheaptalk.statistics import StatisticsError, mean_intervals
from cheaptalk.statistics.intervals import CONSTANT, ONE_CLUSTER
from tests.statistics.hall import halls_interval

COLUMNS = ["cell", "metric", "n", "clusters", "mean", "freedom"]
COLUMNS += ["error", "low", "high", "wanted", "note", "skew"]


def clustered(
    draw: np.random.Generator, cells: int, clusters: int, sizes: tuple[int, int], alike: float
) -> pl.DataFrame:
    """Return cells with clusters of random sizes whose members share part of their deviation."""
    rows: list[tuple[int, int, int, float]] = []
    for cell in range(cells):
        for cluster in range(clusters):
            size = int(draw.integers(*sizes, endpoint=True))
            common = draw.normal() * math.sqrt(alike)
            deviations = draw.normal(size=size) * math.sqrt(1 - alike)
            rows += [
                (cell, cluster, len(rows) + place, common + deviation)
                for place, deviation in enumerate(deviations)
            ]
    return pl.DataFrame(rows, schema=["cell", "instance", "match_id", "x"], orient="row")


def row_of(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    (row,) = mean_intervals(frame, ["x"], cluster=["instance"], **options).rows(named=True)
    return row


def test_agrees_with_statsmodels() -> None:
    frame = clustered(np.random.default_rng(1), 5, 12, (1, 9), 0.4)
    for level in (0.95, 0.9):
        intervals = mean_intervals(frame, ["x"], ["cell"], cluster=["instance"], level=level)
        assert intervals.columns == COLUMNS
        assert intervals["cell"].to_list() == [0, 1, 2, 3, 4]
        for row in intervals.rows(named=True):
            cell = frame.filter(cell=row["cell"])
            fit = sm.OLS(cell["x"].to_numpy(), np.ones(len(cell))).fit(
                cov_type="cluster", cov_kwds={"groups": cell["instance"].to_numpy()}, use_t=True
            )
            assert (row["n"], row["clusters"]) == (len(cell), 12)
            assert row["mean"] == pytest.approx(fit.params[0], abs=1e-12)
            assert row["error"] == pytest.approx(fit.bse[0], rel=1e-10)
            residual = pl.col("x").sum() - pl.col("x").len() * row["mean"]
            instances = cell.group_by("instance").agg(residual, pl.len().alias("n"))
            freedom = freedom_of(instances["n"].to_numpy())
            assert row["freedom"] == pytest.approx(freedom)
            off = instances["x"].to_numpy() / len(cell)
            low, high = halls_interval(off, row["mean"], level, freedom)
            assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-6)


def freedom_of(sizes: np.ndarray) -> float:
    """Return Satterthwaite's degrees of freedom of CR1 for cluster means of equal variance."""
    shares = sizes / sizes.sum()
    off = np.eye(len(sizes)) - shares
    form = off.T @ np.diag(shares**2) @ off
    return float(np.trace(form) ** 2 / np.trace(form @ form))


def test_coverage_is_nominal_only_with_clustering() -> None:
    frame = clustered(np.random.default_rng(2), 2_000, 15, (3, 6), 0.5)

    def coverage(cluster: str) -> float:
        intervals = mean_intervals(frame, ["x"], ["cell"], cluster=[cluster])
        return float(intervals.select(((pl.col("low") < 0) & (pl.col("high") > 0)).mean()).item())

    assert 0.935 <= coverage("instance") <= 0.965
    assert coverage("match_id") < 0.85


def test_clusters_and_single_values() -> None:
    row = row_of(pl.DataFrame({"x": [0.0, 1.0, 1.0, 1.0], "instance": ["a"] * 4}))
    assert (row["mean"], row["clusters"]) == (0.75, 1)
    assert row["error"] is row["low"] is row["high"] is None

    frame = pl.DataFrame(
        {"cell": ["a", "a", "a", "b"], "instance": [1, 2, 2, 1], "x": [1.0, 2.0, None, None]}
    )
    (row,) = mean_intervals(frame, ["x"], ["cell"], cluster=["instance"]).rows(named=True)
    assert (row["cell"], row["n"], row["clusters"], row["mean"]) == ("a", 2, 2, 1.5)
    assert mean_intervals(frame.clear(), ["x"], ["cell"], cluster=["instance"]).columns == COLUMNS

    frame = pl.DataFrame(
        {"configuration": ["a", "a", "b", "b"], "instance": ["0"] * 4, "x": [0.0, 0.0, 1.0, 1.0]}
    )
    assert mean_intervals(frame, ["x"])["clusters"].to_list() == [2]

    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(StatisticsError, match='"x" has values that are not finite'):
            row_of(pl.DataFrame({"x": [1.0, value], "instance": [0, 1]}))


def test_floating_point_noise_is_not_variation() -> None:
    rng = np.random.default_rng(5)
    pairings = rng.lognormal(0, 3, size=7)
    instances = [(instance, value) for instance in range(40) for value in rng.permutation(pairings)]
    frame = pl.DataFrame(instances, schema=["instance", "x"], orient="row")
    assert row_of(frame)["note"] == CONSTANT
    assert row_of(frame)["low"] is None
    first = pl.when(pl.int_range(pl.len()) == 0).then(1e-9).otherwise(0.0)
    assert row_of(frame.with_columns(pl.col("x") + first))["error"] > 0


def test_bounds_limit_intervals_of_constant_values() -> None:
    frame = pl.DataFrame({"x": [5.0] * 20, "instance": [*range(10)] * 2})
    unseen = 1 - 0.05**0.1
    row = row_of(frame, bounds={"x": (0.0, 20.0)})
    assert (row["low"], row["high"]) == pytest.approx((5 - 5 * unseen, 5 + 15 * unseen))
    assert row_of(frame, bounds={"x": (0.0, math.inf)})["low"] is None
    share = row_of(frame.with_columns(x=pl.lit(True)))
    assert (share["low"], share["high"]) == pytest.approx((0.05**0.1, 1))  # at least 0.74

    rows = [
        (name, instance, 0.0 if name == "j" else 1.0)
        for name in "abcdefghij"
        for instance in (0, 1)
    ]
    frame = pl.DataFrame(rows, schema=["configuration", "instance", "x"], orient="row")
    row = strata_of(frame, bounds={"x": (0.0, 1.0)})
    assert (row["mean"], row["error"]) == (pytest.approx(0.9), None)
    assert row["high"] == pytest.approx(
        0.9 + 0.1 * (1 - 0.05**0.5)
    )  # only in the two instances of j
    assert row["low"] == pytest.approx(0.9 * 0.05 ** (1 / 18))
    assert strata_of(frame, bounds={"x": (-math.inf, 1.0)})["low"] is None

    frame = pl.DataFrame({"x": [0.5] * 4, "instance": range(4)})
    unknown, known = row_of(frame), row_of(frame, bounds={"x": (0.5, 0.5)})
    assert (unknown["error"], unknown["note"]) == (None, CONSTANT)
    assert (known["error"], known["note"], known["low"]) == (0, None, None)


def test_limits_of_constant_strata_are_the_largest_possible() -> None:
    """Compare with random splits of the level among strata, which have separate probabilities."""
    for strata in ([(6, 0.0), (3, 1.0)], [(2, 0.4), (9, 0.4), (4, -0.1)], [(1, 0.0)] * 4):
        sizes, means = map(np.array, zip(*strata, strict=True))
        rows = {"configuration": np.repeat(range(len(sizes)), sizes), "x": np.repeat(means, sizes)}
        frame = pl.DataFrame(rows).with_row_index("instance")
        row = strata_of(frame, bounds={"x": (-0.5, 1.5)})
        splits = np.random.default_rng(4).dirichlet(np.full(len(sizes), 0.5), size=4_000)
        reach = (1 - 0.05 ** (splits / sizes)) @ (sizes / sizes.sum() * (1.5 - means))
        assert reach.max() - 1e-9 <= row["high"] - row["mean"] <= reach.max() + 0.05


def test_shares_have_wilson_intervals() -> None:
    values = [True] * 27 + [False] * 3
    row = row_of(pl.DataFrame({"x": values, "instance": range(30)}))
    low, high = proportion_confint(
        0.9 * 29, 29, 2 * stats.norm.sf(stats.t.ppf(0.975, 29)), "wilson"
    )
    assert (row["low"], row["high"]) == pytest.approx((low, high), rel=1e-6)
    copies = pl.DataFrame({"x": values * 4, "instance": [*range(30)] * 4})
    assert row_of(copies) == row | {"n": 120}
    numbers = copies.with_columns(pl.col("x").cast(pl.Float64))
    assert row_of(numbers, bounds={"x": (0.0, 1.0)}) == row_of(copies)
    assert row_of(numbers)["low"] < low  # without bounds of 0 and 1
    tens = copies.with_columns(x=10 * pl.col("x").cast(pl.Float64) - 3)
    scaled = row_of(tens, bounds={"x": (-3.0, 7.0)})
    assert (scaled["low"], scaled["high"]) == pytest.approx((10 * low - 3, 10 * high - 3))

    agreed = pl.DataFrame({"instance": range(20), "agreement": [0.0, 1.0] * 10})
    frame = agreed.with_columns(efficiency=pl.col("agreement") * (1 - 1.2e-16))
    assert frame["efficiency"].max() != 1
    bounds = dict.fromkeys(("agreement", "efficiency"), (0.0, 1.0))
    intervals = mean_intervals(frame, [*bounds], cluster=["instance"], bounds=bounds)
    (agreement, efficiency) = intervals.select("low", "high").rows()
    assert efficiency == pytest.approx(agreement)

    frame = pl.DataFrame(
        {
            "x": [0.0, 1.0, 0.0, 100.0] * 5,
            "instance": range(20),
            "least": [0.0] * 20,
            "most": [1.0, 1.0, 100.0, 100.0] * 5,
        }
    )
    row = row_of(frame, bounds={"x": ("least", "most")})
    assert (row["low"], row["high"]) == (row_of(frame)["low"], 50.5)


def test_bounds_limit_intervals() -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, 9.0], "instance": [0, 1, 2]})
    free, bounded = row_of(frame), row_of(frame, bounds={"x": (0.0, 10.0)})
    assert free["low"] < 0
    assert (bounded["low"], bounded["high"]) == (0, min(free["high"], 10))
    assert row_of(frame, bounds={"x": (0.0, 5.0)}) == free | {"low": 0.0}

    frame = pl.DataFrame(
        {
            "x": [0.0, 1.0, 1.0, 90.0],
            "instance": range(4),
            "least": [0.0, 0.0, -4.0, 0.0],
            "most": [1.0, 2.0, 5.0, 100.0],
        }
    )
    free, bounded = row_of(frame), row_of(frame, bounds={"x": ("least", "most")})
    assert free["low"] < -1
    assert bounded == free | {"low": -1.0, "high": min(free["high"], 27.0)}
    alike = frame.with_columns(least=pl.lit(0.0), most=pl.lit(100.0))
    assert row_of(alike, bounds={"x": ("least", "most")}) == row_of(
        frame, bounds={"x": (0.0, 100.0)}
    )
    low, high = (
        row_of(frame, bounds={"x": (0.0, 100.0)}),
        row_of(
            frame.with_columns(least=pl.Series([1.0, 0.0, 0.0, 0.0])),
            bounds={"x": ("least", "most")},
        ),
    )
    assert (low["low"], high["low"]) == (0.0, free["low"])  # violated bounds are ignored


def strata_of(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    (row,) = mean_intervals(frame, ["x"], strata=["configuration"], **options).rows(named=True)
    return row


def test_strata_are_weighted_and_collapsed() -> None:
    rows = [
        (name, instance, x * instance)
        for name, x in (("a", 1e-6), ("b", 1.0))
        for instance in (-1, 1, 0)
    ]
    row = strata_of(pl.DataFrame(rows, schema=["configuration", "instance", "x"], orient="row"))
    assert row["high"] - row["mean"] == pytest.approx(stats.t.ppf(0.975, 2) * row["error"])
    assert row["wanted"] == 4 * 24 // 2 + 2

    frame = pl.DataFrame(
        {
            "configuration": ["a"] * 3 + ["b"] * 2,
            "instance": [0, 1, 2, 0, 1],
            "x": [1.0, 2.0, 6.0, 10.0, 14.0],
        }
    )
    row = strata_of(frame)
    squares = 3 / 2 * (4 + 1 + 9) + 2 * (4 + 4)
    assert row["mean"] == pytest.approx(6.6)
    assert row["error"] == pytest.approx(math.sqrt(squares) / 5)
    parts = np.array([3 / 2 * (4 + 1 + 9), 2 * (4 + 4)])
    freedom = parts.sum() ** 2 / (parts**2 / [2, 1]).sum()
    symmetric = stats.t.ppf(0.975, freedom) * row["error"]
    assert row["high"] - row["mean"] > symmetric > row["mean"] - row["low"]  # 6 is far out
    assert row["wanted"] == math.ceil(3 * 24 / freedom + 2)

    singles = pl.DataFrame(
        {"configuration": ["a", "b", "c"], "instance": [0, 0, 0], "x": [1.0, 2.0, 6]}
    )
    plain = mean_intervals(singles, ["x"]).rows(named=True)[0]
    assert strata_of(singles) == plain
    pair = pl.DataFrame({"configuration": ["d", "d"], "instance": [0, 1], "x": [5.0, 5.0]})
    mixed = strata_of(pl.concat([singles, pair]))
    assert mixed["error"] == pytest.approx(plain["error"] * 3 / 5)
    single = pl.concat([singles.head(1), pair])
    assert strata_of(single) == mean_intervals(single, ["x"]).rows(named=True)[0]


def people_matches(rng: np.random.Generator, people: int, matches: int, both: bool) -> pl.DataFrame:
    """Return matches of people with personal habits, with one or two people per match."""
    habits, seat = rng.normal(size=people) * 0.6, np.repeat(np.arange(people), matches)
    other = rng.permutation(seat)
    x = habits[seat] + rng.normal(size=len(seat)) * 0.8 + habits[other] * both
    names = [[f"{a}", f"{b}"] if both else [f"{a}"] for a, b in zip(seat, other, strict=True)]
    return pl.DataFrame(
        {
            "configuration": rng.integers(0, 3, len(seat)),
            "instance": np.arange(len(seat)) // 2,
            "x": x,
            "people": names,
        }
    )


def test_participants_are_clusters() -> None:
    frame = people_matches(np.random.default_rng(2), 8, 3, both=True).with_columns(configuration=1)
    row = mean_intervals(frame, ["x"]).row(0, named=True)
    off = (frame["x"] - frame["x"].to_numpy().mean()).to_numpy() / len(frame)
    names, instances = frame["people"].to_list(), frame["instance"].to_list()
    total = sum(
        off[a] * off[b]
        for a in range(len(off))
        for b in range(len(off))
        if instances[a] == instances[b] or set(names[a]) & set(names[b])
    )
    by_person = {
        name: sum(off[a] for a in range(len(off)) if name in names[a]) ** 2
        for name in map(str, range(8))
    }
    by_instance = mean_intervals(frame, ["x"], people=None)["error"].item() ** 2
    assert row["error"] ** 2 == pytest.approx(
        max(8 / 7 * total, 8 / 7 * sum(by_person.values()), by_instance)
    )
    assert row["freedom"] == pytest.approx(7, abs=0.6)
    assert row["wanted"] is not None

    frame = pl.DataFrame({"configuration": 1, "instance": range(9), "x": np.arange(9.0)})
    row = mean_intervals(frame.with_columns(people=pl.lit(["ada"])), ["x"]).row(0, named=True)
    assert (row["mean"], row["error"], row["low"]) == (4, None, None)


def test_participants_in_fixed_groups_count_as_one() -> None:
    habits = np.repeat(np.random.default_rng(3).normal(size=8), 2)
    x = habits + np.random.default_rng(4).normal(size=16)
    groups = [[f"{at // 2}{name}" for name in "abc"] for at in range(16)]
    frame = pl.DataFrame({"configuration": 1, "instance": range(16), "x": x, "people": groups})
    row = mean_intervals(frame, ["x"]).row(0, named=True)
    by_group = mean_intervals(
        frame.with_columns(group=pl.col("people").list.first()),
        ["x"],
        cluster=["group"],
        people=None,
    ).row(0, named=True)
    assert (row["error"], row["freedom"]) == pytest.approx((by_group["error"], 7))


def test_participants_in_thin_configurations_widen_intervals() -> None:
    """Regression: variance was halved, because matches shift the means of thin configurations."""
    draw, estimates = np.random.default_rng(6), []
    for _ in range(40):
        person, configuration = np.arange(200) // 10, draw.permutation(np.arange(200) % 100)
        frame = pl.DataFrame(
            {
                "configuration": configuration,
                "instance": np.arange(200),
                "people": person.astype(str),
                "x": draw.normal(size=20)[person] + draw.normal(size=200),
            }
        ).with_columns(pl.concat_list("people"))
        row = mean_intervals(frame, ["x"]).row(0, named=True)
        estimates.append((row["mean"], row["error"] ** 2))
    means, variances = np.array(estimates).T
    assert 0.8 < variances.mean() / (1 / 20 + 1 / 200) < 1.4
    assert np.std(means) ** 2 == pytest.approx(1 / 20 + 1 / 200, rel=0.5)


def test_configurations_are_strata_by_default() -> None:
    rows = [(name, instance, x) for name, x in (("a", 9.0), ("b", 11.0)) for instance in range(9)]
    frame = pl.DataFrame(rows, schema=["configuration", "instance", "x"], orient="row")
    (row,) = mean_intervals(frame, ["x"]).rows(named=True)
    assert row == strata_of(frame)
    assert (row["mean"], row["low"], row["high"], row["note"]) == (10, None, None, CONSTANT)
    varied = frame.with_columns(pl.col("x") + pl.col("instance"))
    (row,) = mean_intervals(varied, ["x"]).rows(named=True)
    assert row == strata_of(varied)
    assert row["note"] is None
    (pooled,) = mean_intervals(varied, ["x"], strata=()).rows(named=True)
    assert pooled["error"] > row["error"]
    assert mean_intervals(frame.head(1), ["x"])["note"].to_list() == [ONE_CLUSTER]
