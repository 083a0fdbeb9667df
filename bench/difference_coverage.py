"""Coverage of intervals of differences: ``python -m bench.difference_coverage [STUDIES]``.

The benchmark simulates pairs of studies of an unchanged player, on the same instances or on other
instances. The grid varies the number of instances, the distribution of values, and the number of
rivals that play each instance (one or six). At least 92 % of the intervals must contain 0 if the
studies have enough instances for an interval without a warning.
"""

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl

from bench.mean_coverage import ALIKE, INSTANCES, KINDS, LEAST, SIZES, Draws
from bench.rows import Row
from cheaptalk.reports.recipes.study_differences import difference
from cheaptalk.statistics.intervals import ENOUGH

STUDIES = 400
PAIRING = {"same instances": True, "other instances": False}


def played(
    draw: np.random.Generator, kind: str, effects: Draws, rivals: int, study: str
) -> pl.DataFrame:
    """Simulate a study with one row per match, and one match per instance and rival.

    Args:
        effects: the effect of each instance, which its matches against all rivals share.
        study: a prefix of the instances' names.
    """
    instances = len(effects)
    alike = ALIKE if rivals > 1 else 0.0
    own = draw.normal(size=(instances, rivals)) * np.sqrt(1 - alike)
    values = KINDS[kind][0](effects[:, None] * np.sqrt(alike) + own)
    instance, rival = np.indices(values.shape).reshape(2, -1)
    return pl.DataFrame(
        {"instance": [f"{study}{index}" for index in instance], "pairing": rival.astype(str),
         "gain": values.ravel()}
    ).with_columns(who=pl.lit("same"), configuration=pl.lit("c"), repeat=0)  # fmt: skip


def covered(
    kind: str, instances: int, rivals: int, studies: int, seed: int, *, paired: bool
) -> tuple[float, bool]:
    """Return the share of intervals that contain 0, and whether they have no warning.

    Studies whose values do not vary have no interval and are not counted.
    """
    draw, inside, clusters = np.random.default_rng(seed), [], 0
    for _ in range(studies):
        effects = draw.normal(size=(2, instances))
        before, after = (
            played(draw, kind, effects[0 if paired else side], rivals, "" if paired else name)
            for side, name in enumerate("ab")
        )
        change = difference(before, after, "gain", paired)
        assert change is not None
        clusters, (low, high) = change.clusters, change.limits
        if low is not None and high is not None:
            inside.append(low <= 0 <= high)
    return float(np.mean(inside)) if inside else 1.0, clusters >= ENOUGH


def grid(studies: int) -> Iterator[tuple[str, float, bool]]:
    """Yield the name of each cell of the grid and its result of :func:`covered`."""
    cells = product(PAIRING.items(), KINDS, SIZES.items(), INSTANCES)
    for seed, ((design, paired), kind, (name, rivals), instances) in enumerate(cells):
        result = covered(kind, instances, rivals, studies, seed, paired=paired)
        yield f"{design}, {kind}, {name}, {instances} instances", *result


def rows() -> Iterator[Row]:
    """Yield the worst coverage of intervals without a warning."""
    shares = [(share, name) for name, share, plain in grid(STUDIES) if plain]
    worst, name = min(shares)
    yield Row(
        "worst coverage of a 95 % interval of a difference", 100 * worst, "%",
        (">=", 100 * LEAST),
        f"{name}; worst of {len(shares)} cells whose intervals have no warning, "
        f"{STUDIES:,} simulated pairs each",
    )  # fmt: skip


if __name__ == "__main__":
    for name, share, plain in grid(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES):
        verdict = "" if share >= LEAST else "TOO NARROW" if plain else "with warning"
        print(f"{name:52} {share:6.1%}  {verdict}", flush=True)
