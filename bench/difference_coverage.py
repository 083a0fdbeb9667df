"""Coverage of what studies differ by: ``python -m bench.difference_coverage [STUDIES]``.

Two studies of a player that did not change, on the same instances or on others, over a grid of
instances, of kinds of values, and of one rival or six rivals that share them. The interval is to
hold 0 in 92 % of pairs of studies or more, wherever enough instances were played for no caution to
stand by it.
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
HOW = {"same instances": True, "other instances": False}


def played(
    draw: np.random.Generator, kind: str, moved: Draws, rivals: int, study: str
) -> pl.DataFrame:
    """A study: one row a match of an instance against a rival, whose luck instances and matches
    share."""
    instances = len(moved)
    alike = ALIKE if rivals > 1 else 0.0
    own = draw.normal(size=(instances, rivals)) * np.sqrt(1 - alike)
    values = KINDS[kind][0](moved[:, None] * np.sqrt(alike) + own)
    instance, rival = np.indices(values.shape).reshape(2, -1)
    return pl.DataFrame(
        {"instance": [f"{study}{one}" for one in instance], "pairing": rival.astype(str),
         "gain": values.ravel()}
    ).with_columns(who=pl.lit("same"), configuration=pl.lit("c"), repeat=0)  # fmt: skip


def covered(
    kind: str, instances: int, rivals: int, studies: int, seed: int, *, paired: bool
) -> tuple[float, bool]:
    """The share of intervals that hold 0, and whether they come without a caution.

    What never varied has no interval: the table says so, and it is left out.
    """
    draw, inside, clusters = np.random.default_rng(seed), [], 0
    for _ in range(studies):
        moved = draw.normal(size=(2, instances))
        before, after = (
            played(draw, kind, moved[0 if paired else side], rivals, "" if paired else name)
            for side, name in enumerate("ab")
        )
        found = difference(before, after, "gain", paired)
        assert found is not None
        clusters, (low, high) = found.clusters, found.limits
        if low is not None and high is not None:
            inside.append(low <= 0 <= high)
    return float(np.mean(inside)) if inside else 1.0, clusters >= ENOUGH


def grid(studies: int) -> Iterator[tuple[str, float, bool]]:
    """Each cell of the grid: what it is, and what :func:`covered` finds."""
    cells = product(HOW.items(), KINDS, SIZES.items(), INSTANCES)
    for seed, ((how, paired), kind, (name, rivals), instances) in enumerate(cells):
        one = covered(kind, instances, rivals, studies, seed, paired=paired)
        yield f"{how}, {kind}, {name}, {instances} instances", *one


def rows() -> Iterator[Row]:
    """The worst coverage of intervals that come without a caution."""
    told = [(share, name) for name, share, alone in grid(STUDIES) if alone]
    worst, name = min(told)
    yield Row(
        "worst coverage of a 95 % interval of a difference", 100 * worst, "%",
        (">=", 100 * LEAST),
        f"{name}; of {len(told)} kinds of studies whose intervals come without a caution, "
        f"{STUDIES:,} pairs simulated each",
    )  # fmt: skip


if __name__ == "__main__":
    for name, share, alone in grid(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES):
        verdict = "" if share >= LEAST else "TOO NARROW" if alone else "cautioned"
        print(f"{name:52} {share:6.1%}  {verdict}", flush=True)
