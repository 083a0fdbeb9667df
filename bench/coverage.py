"""Coverage of intervals of means over clusters and strata: ``python -m bench.coverage [STUDIES]``.

Studies have 2 to 50 instances in each of 1 to 100 configurations, or 2 to 50 participants with ten
matches each over as many configurations. Configurations are fixed; instances, participants and
matches are drawn. Of 95 % intervals that come without the caution for small samples, 93 % or more
are to hold the true mean. Shares of few clusters take few values, so that their intervals hold it
more often than they say; those of skewed values that are no shares need the caution.
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
"""Percent of the intervals without a caution that are to hold the truth."""
CLUSTERS = (2, 3, 5, 10, 20, 50)
CONFIGURATIONS = (1, 5, 20, 100)
MATCHES = 10
"""Matches of a participant."""
INSTANCES = 5
"""Instances of a configuration that participants play."""
LARGEST = 100_000
"""Observations of all studies of a design, beyond which fewer are simulated."""
OUTCOMES: Mapping[str, Callable[[Values], Values]] = {"normal": lambda z: z, **KINDS}
QUANTILES = ndtri((np.arange(20_000) + 0.5) / 20_000)
"""Of a standard normal variable, over which expectations are taken."""


class Design(NamedTuple):
    """A kind of study.

    Attributes:
        unit: what is drawn, ``instance`` or ``participant``.
        clusters: instances of each configuration, or participants of the study.
        configurations: how many.
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
        """Matches of a study: two of each instance, or ten of each participant."""
        per_cluster = 2 * self.configurations if self.unit == "instance" else MATCHES
        return self.clusters * per_cluster


class Coverage(NamedTuple):
    """How often a design's intervals hold the truth.

    Attributes:
        studies: simulated.
        plain: those whose interval has no caution.
        held: those of ``plain`` whose interval holds the truth.
    """

    studies: int
    plain: int
    held: int


def simulated(
    design: Design, studies: int, draw: np.random.Generator
) -> tuple[pl.DataFrame, Values]:
    """Studies of a design, one row a match, and the true mean of each."""
    shape = (studies, design.matches)
    at = np.arange(design.matches)
    levels = SPREAD * np.random.default_rng(design.configurations).normal(
        size=design.configurations
    )
    if design.unit == "instance":
        configuration = np.broadcast_to(at % design.configurations, shape)
        instance = np.broadcast_to(at // design.configurations // 2, shape)
        unit, units = configuration + design.configurations * instance, design.matches // 2
        latent = np.sqrt(0.5) * _effects(unit, units, draw) + np.sqrt(0.5) * draw.normal(size=shape)
        person = np.full(shape, -1)
    else:
        person = np.broadcast_to(at // MATCHES, shape)
        configuration = draw.permuted(np.broadcast_to(at % design.configurations, shape), axis=1)
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
    """A standard normal effect of each unit of each study, match by match."""
    return np.take_along_axis(draw.normal(size=(len(units), count)), units, axis=1)


def covered(design: Design, studies: int, seed: int = 0) -> Coverage:
    """Simulate studies of a design and count intervals that hold the truth."""
    few = max(20, min(studies, LARGEST // design.matches))
    draw = np.random.default_rng([seed, *map(ord, str(design))])
    frame, truth = simulated(design, few, draw)
    bounds = {} if design.outcome == "normal" else {"x": (0.0, 1.0)}
    found = (
        mean_intervals(frame, ["x"], ["study"], bounds=bounds)
        .sort("study")
        .with_columns(truth=truth)
    )
    plain = found.filter(pl.col("low").is_not_null(), pl.col("wanted").is_null())
    held = plain.filter(pl.col("truth").is_between("low", "high"))
    return Coverage(few, len(plain), len(held))


def designs() -> list[Design]:
    """The grid, without studies of participants who have no match in some configuration."""
    grid = product(("instance", "participant"), CLUSTERS, CONFIGURATIONS, OUTCOMES)
    return [
        design for design in (Design(*one) for one in grid)
        if design.matches >= design.configurations
    ]  # fmt: skip


def rows(studies: int = STUDIES) -> Iterator[Row]:
    """The worst coverage of each unit and outcome, and how many intervals have a caution."""
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
            yield Row(f"intervals by {unit} of {outcome} values without a caution", 0, "%")
            continue
        worst = min(plain, key=lambda one: limits(plain[one].held, plain[one].plain)[1])
        held, of = plain[worst].held, plain[worst].plain
        low, high = limits(held, of)
        yield Row(
            f"worst coverage without a caution, by {unit}, {outcome}", 100 * held / of, "%", None,
            f"{worst}; {of} intervals, 95 % interval {100 * low:.1f} to {100 * high:.1f}; "
            f"{len(plain)} of {len(own)} designs, {100 * shown / total:.0f} % of {total:,} "
            "intervals come without a caution",
        )  # fmt: skip
        below = [
            design for design, count in plain.items()
            if 100 * limits(count.held, count.plain)[1] < LEAST
        ]  # fmt: skip
        yield Row(
            f"designs below {LEAST} % beyond chance, by {unit}, {outcome}", len(below), "",
            ("<=", 0), f"of {len(plain)} designs that have 20 intervals without a caution or more",
        )  # fmt: skip
        over = sum(count.held for count in plain.values()) / shown
        yield Row(f"coverage without a caution, clusters by {unit}, {outcome}", 100 * over, "%")


def main() -> None:
    """Print each design's coverage, the worst first."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    for design in designs():
        count = covered(design, studies)
        low, high = limits(count.held, count.plain) if count.plain else (0.0, 1.0)
        verdict = "TOO LOW" if count.plain and 100 * high < LEAST else ""
        print(
            f"{design!s:60} {count.held:4} of {count.plain:4} without a caution hold "
            f"({low:.1%} to {high:.1%}), {count.studies} studies {verdict}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
