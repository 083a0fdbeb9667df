"""Differences between a player's scores in two studies, from paired or unpaired matches."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.unscored import REASON, unscored, unscored_text
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import counted
from cheaptalk.statistics import INSTANCES, STRATA, differences, mean_intervals
from cheaptalk.statistics.intervals import CONSTANT, ENOUGH, without_rounding
from cheaptalk.statistics.limits import UNBOUNDED, Bounds, BoundsColumns
from cheaptalk.statistics.participants import ANY_PEOPLE, PEOPLE
from cheaptalk.studies.plans.plan import planned_count

LEVEL = 0.95
WHO = "who"
CELL = (WHO, "configuration", "pairing")
"""Columns that comparable matches have in common; they differ only in instances and chance."""
MATCH = ("configuration", "pairing", "instance", "repeat")
"""Columns that pair a match of one study with a match of the other."""
PAIR = (WHO, *MATCH)
"""Columns that pair a player's results in these matches."""


class Difference(NamedTuple):
    """The change of a player's score from the first study to the second.

    ``n`` counts pairs of matches or, if not ``paired``, configurations and pairings; ``clusters``
    counts the instances in all configurations, in the study with fewer. ``constant_p`` is the
    p-value of a difference without variation; see :func:`.constant_difference_p`. For ``skew``, see
    :func:`.mean_intervals`.
    """

    before: float
    after: float
    difference: float
    error: float | None
    freedom: float
    n: int
    clusters: int
    constant_p: float | None = None
    bounds: Bounds = UNBOUNDED
    paired: bool = False
    skew: float = 0.0

    @property
    def p(self) -> float | None:
        """Return the two-sided p-value for a difference of 0; None if the data cannot test it."""
        return differences.two_sided_p(
            self.difference, self.error, self.freedom, self.constant_p, self.skew
        )

    @property
    def limits(self) -> tuple[float, float] | tuple[None, None]:
        """Return the 95 % interval of the difference; (None, None) if it cannot be computed."""
        if self.constant_p is not None:
            return None, None
        return differences.difference_limits(
            self.difference, self.error, self.freedom, LEVEL, self.bounds, self.skew
        )

    @property
    def estimate(self) -> Estimate:
        """Return the difference with its interval; a constant difference has an error of 0."""
        (low, high), wanted = self.limits, None
        if low is not None:
            steep = differences.steepness(self.freedom, LEVEL, self.skew)
            times = max((ENOUGH - 1) / round(self.freedom, 6), steep**2)
            wanted = ceil(round(self.clusters * times, 6)) if times > 1 else None
        error = self.error if self.constant_p is None else 0.0
        return Estimate(self.difference, low, high, error, self.n, self.clusters, wanted)


def difference(
    before: pl.DataFrame,
    after: pl.DataFrame,
    key: str,
    paired: bool,
    bounds: Bounds | BoundsColumns = UNBOUNDED,
) -> Difference | None:
    """Return the difference of a player's mean scores; None without comparable matches.

    The matches of both studies have the columns of :data:`PAIR`; ``paired`` says whether instances
    of one number are the same in both.
    """
    first, second = (
        side.drop_nulls(key).with_columns(pl.col(key).cast(pl.Float64)).sort(PAIR)
        for side in (before, after)
    )
    if paired:
        named = ANY_PEOPLE.name.suffix(".after")
        second_scores = second.select(*PAIR, pl.col(key).alias("after"), named)
        pairs = first.join(second_scores, on=PAIR, validate="1:1", maintain_order="left")
        if both_named := [name for name in (PEOPLE, f"{PEOPLE}.after") if name in pairs.columns]:
            lists = [pl.col(name).fill_null([]) for name in both_named]
            pairs = pairs.with_columns(pl.concat_list(lists).alias(PEOPLE))
        if not pairs.is_empty():
            return _of_pairs(pairs, key, bounds)
    shared = first.select(CELL).unique().join(second.select(CELL).unique(), on=CELL, how="semi")
    if shared.is_empty():
        return None
    first, second = (side.join(shared, on=CELL, how="semi") for side in (first, second))
    return _of_cells(first, second, key, bounds)


def without_shared(
    before: pl.DataFrame, after: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Remove and count the matches that both studies share, as copies of a store do."""
    columns = ["match_id", "ended_at", "imported_at", "pairing"]
    first, second = (
        side.join(other, on=columns, how="anti", nulls_equal=True, maintain_order="left")
        for side, other in ((before, after), (after, before))
    )
    return first, second, before.height - first.height


def unchanged_pairs(before: pl.DataFrame, after: pl.DataFrame, keys: Sequence[str]) -> int | None:
    """Return the number of pairs of matches if none differs in its outcome, and None otherwise."""
    shared = [key for key in keys if key in before.columns and key in after.columns]
    sides = [
        side.select(*MATCH, pl.col(shared).cast(pl.Float64)).sort(MATCH) for side in (before, after)
    ]
    pairs = sides[0].join(
        sides[1], on=MATCH, suffix=".after", validate="1:1", maintain_order="left"
    )
    conditions = []
    for key in shared:
        first, second = pl.col(key), pl.col(f"{key}.after")
        size = pl.max_horizontal(first.abs(), second.abs())
        equal = without_rounding(second - first, size) == 0
        conditions.append(equal.fill_null(first.is_null() & second.is_null()).all())
    return pairs.height if all(pairs.select(pl.all_horizontal(conditions)).to_series()) else None


def _of_pairs(pairs: pl.DataFrame, key: str, bounds: Bounds | BoundsColumns) -> Difference:
    """Return the mean difference over pairs of matches on the same instances."""
    before, after = pl.col(key), pl.col("after")
    changes = pairs.with_columns(
        change=without_rounding(after - before, pl.max_horizontal(before.abs(), after.abs()))
    )
    means = mean_intervals(changes, ["change", key, "after"], strata=STRATA)
    mean_change, mean_before, mean_after = means.iter_rows(named=True)
    limits = differences.difference_bounds(pairs, pairs, bounds)
    ends = {"before": mean_before["mean"], "after": mean_after["mean"], "bounds": limits}
    return paired_difference(changes, mean_change)._replace(**ends)


def paired_difference(pairs: pl.DataFrame, mean_change: Mapping[str, Any]) -> Difference:
    """Return a mean difference between paired matches, without the means of both sides.

    Args:
        pairs: the pairs, with the columns of :data:`.INSTANCES`.
        mean_change: the row of :func:`.mean_intervals` for the column of differences.
    """
    error, freedom, n, clusters = (
        mean_change[name] for name in ("error", "freedom", "n", "clusters")
    )
    instances = pairs.group_by(INSTANCES, maintain_order=True).agg(
        part=pl.col(mean_change["metric"]).sum(), first=True, second=True
    )
    is_constant = mean_change["note"] == CONSTANT
    p = differences.constant_p_of_instances(instances) if is_constant else None
    size, skew = mean_change["mean"], mean_change["skew"]
    return Difference(0.0, size, size, error, freedom, n, clusters, p, paired=True, skew=skew)


def _of_cells(
    before: pl.DataFrame, after: pl.DataFrame, key: str, bounds: Bounds | BoundsColumns
) -> Difference:
    """Return the mean difference over all configurations and pairings that both studies contain.

    An instance affects all cells in which it was played, so each side is clustered by instance.
    Configurations with a single instance in some cell of either study show no variation of their
    own. They are collapsed into one stratum, whose variance is that of the configurations'
    differences. If there is only one such configuration, all are collapsed, as in
    :func:`.mean_intervals`.
    """
    sides = [_by_cell(side, key) for side in (before, after)]
    cells = sides[0].join(sides[1], on=CELL, suffix=".after", validate="1:1", maintain_order="left")
    cells = cells.with_columns(
        change=without_rounding(
            pl.col("mean.after") - pl.col("mean"),
            pl.max_horizontal("size", "size.after"),
            pl.col("rows") + pl.col("rows.after"),
        )
    )
    strata = (
        cells.group_by(STRATA, maintain_order=True)
        .agg(pl.len().alias("cells"), pl.col("change").sum())
        .join(_spread(before, key), on=STRATA, validate="1:1", maintain_order="left")
        .join(
            _spread(after, key), on=STRATA, suffix=".after", validate="1:1", maintain_order="left"
        )
    )
    thin = pl.min_horizontal("fewest", "fewest.after") == 1
    if strata.filter(thin).height == 1:
        thin = pl.lit(value=True)
    error, freedom, skew = _combined(strata.filter(~thin), cells, strata.filter(thin))
    if error is not None and (PEOPLE in before.columns or PEOPLE in after.columns):
        by_instance = error
        error, freedom = _with_people((before, after), key, len(cells), error, freedom)
        skew = skew if error == by_instance else 0.0
    first, second = (float(cells[name].to_numpy().mean()) for name in ("mean", "mean.after"))
    mean_change = float((strata["change"].to_numpy() / len(cells)).sum())
    clusters = min(int(strata[name].sum()) for name in ("clusters", "clusters.after"))
    p = differences.constant_difference_p(_arrangements(strata, thin)) if error == 0 else None
    limits = differences.difference_bounds(before, after, bounds)
    spread = (error or None, freedom, len(cells), clusters, p, limits)
    return Difference(first, second, mean_change, *spread, skew=skew)


def _by_cell(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    value = pl.col(key)
    mean = pl.when(value.min() == value.max()).then(value.min()).otherwise(value.mean())
    return frame.group_by(CELL, maintain_order=True).agg(
        mean.alias("mean"), value.abs().max().alias("size"), pl.len().cast(pl.Int64).alias("rows")
    )


def _spread(frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return each configuration's part in the error of a sum of cell means.

    ``fewest`` is the smallest number of instances of a cell.
    """
    mean = mean_intervals(_weighed(frame, key), ["off"], STRATA, cluster=("instance",))
    cells = frame.group_by(CELL, maintain_order=True).agg(fewest=pl.col("instance").n_unique())
    fewest = cells.group_by(STRATA, maintain_order=True).agg(pl.col("fewest").min().cast(pl.Int64))
    spread = mean.select(*STRATA, "error", "freedom", "clusters", "skew")
    return spread.join(fewest, on=STRATA, validate="1:1", maintain_order="left")


def _weighed(frame: pl.DataFrame, key: str, over: tuple[str, ...] = STRATA) -> pl.DataFrame:
    """Add each row's deviation from its group mean, weighted for the sum of group means."""
    value = pl.col(key)
    off = without_rounding(value - value.mean().over(CELL), value.abs().max().over(CELL))
    rows = pl.len().over(over) if over else pl.len()
    return frame.with_columns(off=off * rows / pl.len().over(CELL))


def _with_people(
    sides: tuple[pl.DataFrame, pl.DataFrame], key: str, cells: int, error: float, freedom: float
) -> tuple[float, float]:
    """Return the standard error and degrees of freedom, adjusted for clustering by participant."""
    rows = [
        mean_intervals(_weighed(side, key, ()), ["off"], strata=STRATA).row(0, named=True)
        for side in sides
        if PEOPLE in side.columns
    ]
    total = sum((row["error"] or 0.0) ** 2 for row in rows) ** 0.5 / cells
    varied = [row["freedom"] for row in rows if row["error"] or not error]
    return max(error, total), min([freedom, *varied])


def _combined(
    apart: pl.DataFrame, cells: pl.DataFrame, thin: pl.DataFrame
) -> tuple[float | None, float, float]:
    """Return the standard error over all strata, its degrees of freedom and its skewness."""
    if len(thin) == 1:
        return None, 1.0, 0.0
    errors = [*apart["error"], *apart["error.after"]]
    freedoms = [*apart["freedom"], *apart["freedom.after"]]
    skews = [*-apart["skew"], *apart["skew.after"]]
    if len(thin):
        collapsed = cells.join(thin, on=STRATA, how="semi")
        mean = mean_intervals(collapsed, ["change"], cluster=STRATA).row(0, named=True)
        errors.append((mean["error"] or 0.0) * len(collapsed))
        freedoms.append(mean["freedom"])
        skews.append(mean["skew"])
    spread = np.array([error or 0.0 for error in errors])  # 0 if the values never varied
    total = float(np.sqrt(np.sum(spread**2)))
    skew = float(np.sum(np.array(skews) * spread**3)) / total**3 if total else 0.0
    return total / len(cells), differences.combined_freedom((spread**2).tolist(), freedoms), skew


def _arrangements(strata: pl.DataFrame, thin: pl.Expr) -> Iterator[int]:
    """Yield the number of ways to split instances between two players, for permutation tests."""
    moved = strata.with_columns(thin=thin).filter(pl.col("change") != 0)
    collapsed = 1
    for first, second, is_thin in moved.select("fewest", "fewest.after", "thin").iter_rows():
        ways = differences.arrangements_of(0, first, second)
        if is_thin:
            collapsed *= ways
        else:
            yield ways
    yield collapsed


SHARED_CELL = ("configuration", "pairing")


def gaps(
    studies: tuple[Evidence, Evidence], frames: tuple[pl.DataFrame, pl.DataFrame], paired: bool
) -> tuple[str, bool]:
    """Return sentences on matches without a result, and whether the studies lack different ones.

    They count the matches of two studies without a score, in shared configurations and pairings.
    """
    first, second = (
        side.join(other, on=SHARED_CELL, how="semi", maintain_order="left")
        for side, other in (frames, frames[::-1])
    )
    sentences, absent, rates = [], [], []
    for study, side in zip(studies, (first, second), strict=True):
        waiting = _not_begun(study)
        if counts := unscored(side):
            sentences.append(f" In “{study.study}”, {unscored_text(counts, side.height)}.")
        if waiting:
            verb = "has" if waiting == 1 else "have"
            planned = counted(waiting, "planned match")
            sentences.append(f" {planned} of “{study.study}” {verb} not started.")
        ends = side.filter(~SCORED)
        absent.append((set(ends.select(*MATCH, REASON).iter_rows()), waiting))
        rates.append(ends.height / side.height if side.height else 0.0)
    if sentences:
        sentences.append(
            " Only pairs of finished matches are compared."
            if paired
            else " Only finished matches are compared."
            if rates[0] == rates[1]
            else " Only finished matches are compared. The studies lack different shares of their "
            "matches, so differences may reflect which matches finished."
        )
    return "".join(sentences), absent[0] != absent[1]


def _not_begun(study: Evidence) -> int:
    """Return the number of planned matches of a study, over all games, that have not started."""
    summary = study.store.study(study.study)
    begun = sum(summary.counts.values())
    return max(0, (planned_count(summary, study.store) or begun) - begun)
