"""Coverage of intervals of means over clusters and strata: ``python -m bench.coverage [STUDIES]``.

Studies have 2 to 50 instances in each of 1 to 100 configurations, or 2 to 50 participants with ten
matches each, spread over 1 to 100 configurations. Configurations are fixed; instances, participants
and matches are random. At least 93 % of the 95 % intervals without a small-sample warning must
contain the true mean. Shares in few clusters take only few values, so their intervals are
conservative. Intervals of skewed values that are not shares need the warning.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from bench.headlines import KINDS, SPREAD, limits
from bench.rows import Row
from cheaptalk.statistics import mean_intervals

Values = NDArray[np.float64]
STUDIES = 150
LEAST = 93
"""Required coverage of intervals without a warning, in percent."""
CLUSTERS = (2, 3, 5, 10, 20, 50)
CONFIGURATIONS = (1, 5, 20, 100)
MATCHES = 10
"""Matches per participant."""
INSTANCES = 5
"""Instances per configuration in designs with participants."""
LARGEST = 100_000
"""Maximum number of matches per design; designs with large studies simulate fewer of them."""
OUTCOMES: Mapping[str, Callable[[Values], Values]] = {"normal": lambda z: z, **KINDS}
QUANTILES = ndtri((np.arange(20_000) + 0.5) / 20_000)
"""Quantiles of the standard normal distribution, used to compute expectations."""


class Design(NamedTuple):
    """Design of a simulated study.

    Attributes:
        unit: the random unit, ``instance`` or ``participant``.
        clusters: the number of instances per configuration, or of participants in the study.
        configurations: the number of configurations.
        outcome: a key of :data:`OUTCOMES`.
    """

    unit: str
    clusters: int
    configurations: int
    outcome: str

    def __str__(self) -> str:
        each = " each" if self.unit == "instance" else ""
        where = f"{self.configurations} configurations"
        return f"{self.clusters} {self.unit}s{each} in {where}, {self.outcome}"

    @property
    def matches(self) -> int:
        """Return the number of matches: two per instance, or ten per participant."""
        per_cluster = 2 * self.configurations if self.unit == "instance" else MATCHES
        return self.clusters * per_cluster


class Coverage(NamedTuple):
    """Counts from which a design's coverage is computed.

    Attributes:
        studies: the number of simulated studies.
        plain: the number of intervals without a warning.
        held: the number of intervals in ``plain`` that contain the true mean.
    """

    studies: int
    plain: int
    held: int


def simulated(
    design: Design, studies: int, draw: np.random.Generator
) -> tuple[pl.DataFrame, Values]:
    """Return simulated studies of a design with one row per match, and each study's true mean."""
    shape = (studies, design.matches)
    match = np.arange(design.matches)
    levels = SPREAD * np.random.default_rng(design.configurations).normal(
        size=design.configurations
    )
    if design.unit == "instance":
        configuration = np.broadcast_to(match % design.configurations, shape)
        instance = np.broadcast_to(match // design.configurations // 2, shape)
        unit, units = configuration + design.configurations * instance, design.matches // 2
        latent = np.sqrt(0.5) * _effects(unit, units, draw) + np.sqrt(0.5) * draw.normal(size=shape)
        person = np.full(shape, -1)
    else:
        person = np.broadcast_to(match // MATCHES, shape)
        configuration = draw.permuted(np.broadcast_to(match % design.configurations, shape), axis=1)
        instance = draw.integers(INSTANCES, size=shape)
        unit = configuration + design.configurations * instance
        latent = np.sqrt(0.5) * _effects(person, design.clusters, draw)
        latent += 0.5 * _effects(unit, INSTANCES * design.configurations, draw)
        latent += 0.5 * draw.normal(size=shape)
    outcome = OUTCOMES[design.outcome]
    expected = outcome(levels[:, None] + QUANTILES).mean(axis=1)
    frame = pl.DataFrame({
        "study": np.arange(studies).repeat(design.matches),
        "configuration": configuration.ravel(), "instance": instance.ravel(),
        "x": outcome(levels[configuration] + latent).ravel(),
    })  # fmt: skip
    if design.unit == "participant":
        people = pl.Series("people", person.ravel().astype(str)).reshape((-1, 1))
        frame = frame.with_columns(people.cast(pl.List(pl.String)))
    return frame, expected[configuration].mean(axis=1)


def _effects(units: NDArray[np.int64], count: int, draw: np.random.Generator) -> Values:
    """Draw a standard normal effect for each unit of each study; return it for each match."""
    return np.take_along_axis(draw.normal(size=(len(units), count)), units, axis=1)


def covered(design: Design, studies: int, seed: int = 0) -> Coverage:
    """Simulate studies of a design, and count the intervals that contain the true mean."""
    count = max(20, min(studies, LARGEST // design.matches))
    draw = np.random.default_rng([seed, *map(ord, str(design))])
    frame, truth = simulated(design, count, draw)
    bounds = {} if design.outcome == "normal" else {"x": (0.0, 1.0)}
    intervals = (
        mean_intervals(frame, ["x"], ["study"], bounds=bounds)
        .sort("study")
        .with_columns(truth=truth)
    )
    plain = intervals.filter(pl.col("low").is_not_null(), pl.col("wanted").is_null())
    held = plain.filter(pl.col("truth").is_between("low", "high"))
    return Coverage(count, len(plain), len(held))


def designs() -> list[Design]:
    """Return all designs, without those that have more configurations than matches."""
    grid = product(("instance", "participant"), CLUSTERS, CONFIGURATIONS, OUTCOMES)
    return [
        design for design in (Design(*values) for values in grid)
        if design.matches >= design.configurations
    ]  # fmt: skip


def rows(studies: int = STUDIES) -> Iterator[Row]:
    """Yield the worst and the mean coverage for each unit and outcome."""
    counts = {design: covered(design, studies) for design in designs()}
    for unit, outcome in product(("instance", "participant"), OUTCOMES):
        own = {
            design: count for design, count in counts.items()
            if (design.unit, design.outcome) == (unit, outcome)
        }  # fmt: skip
        total = sum(count.studies for count in own.values())
        plain = {design: count for design, count in own.items() if count.plain >= 20}
        shown = sum(count.plain for count in own.values())
        if not plain:
            yield Row(f"intervals without a warning, clusters by {unit}, {outcome}", 0, "%")
            continue
        worst = min(plain, key=lambda design: limits(plain[design].held, plain[design].plain)[1])
        held, intervals = plain[worst].held, plain[worst].plain
        low, high = limits(held, intervals)
        yield Row(
            f"worst coverage without a warning, clusters by {unit}, {outcome}",
            100 * held / intervals, "%", None,
            f"{worst}; {intervals} intervals, 95 % CI {100 * low:.1f} to {100 * high:.1f}; "
            f"{len(plain)} of {len(own)} designs have 20 or more intervals without a warning; "
            f"{100 * shown / total:.0f} % of {total:,} intervals have no warning",
        )  # fmt: skip
        below = [
            design for design, count in plain.items()
            if 100 * limits(count.held, count.plain)[1] < LEAST
        ]  # fmt: skip
        yield Row(
            f"designs with coverage significantly below {LEAST} %, clusters by {unit}, {outcome}",
            len(below), "", ("<=", 0),
            f"of {len(plain)} designs with 20 or more intervals without a warning",
        )  # fmt: skip
        mean = sum(count.held for count in plain.values()) / shown
        title = f"mean coverage without a warning, clusters by {unit}, {outcome}"
        yield Row(title, 100 * mean, "%")


def main() -> None:
    """Print the coverage of each design."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    for design in designs():
        count = covered(design, studies)
        low, high = limits(count.held, count.plain) if count.plain else (0.0, 1.0)
        verdict = "TOO LOW" if count.plain and 100 * high < LEAST else ""
        print(
            f"{design!s:60} {count.held:4} of {count.plain:4} without a warning cover "
            f"({low:.1%} to {high:.1%}), {count.studies} studies {verdict}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
