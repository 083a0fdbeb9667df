"""Coverage of what studies differ by: ``python -m bench.difference_coverage [STUDIES]``.

Two studies of a player that did not change, on the same deals or on others, over a grid of deals,
of kinds of values, and of one rival or six rivals that share them. The interval is to hold 0 in
92 % of pairs of studies or more, wherever enough deals were played for no caution to stand by it.
"""

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl

from bench.mean_coverage import ALIKE, DEALS, KINDS, LEAST, SIZES, Draws
from bench.rows import Row
from cheaptalk.reports.recipes.study_differences import difference
from cheaptalk.statistics.intervals import ENOUGH

STUDIES = 400
HOW = {"same deals": True, "other deals": False}


def played(
    draw: np.random.Generator, kind: str, moved: Draws, rivals: int, study: str
) -> pl.DataFrame:
    """A study: one row a match of a deal against a rival, whose luck deals and matches share."""
    deals = len(moved)
    alike = ALIKE if rivals > 1 else 0.0
    own = draw.normal(size=(deals, rivals)) * np.sqrt(1 - alike)
    values = KINDS[kind][0](moved[:, None] * np.sqrt(alike) + own)
    deal, rival = np.indices(values.shape).reshape(2, -1)
    return pl.DataFrame(
        {"deal": [f"{study}{one}" for one in deal], "pairing": rival.astype(str),
         "gain": values.ravel()}
    ).with_columns(who=pl.lit("same"), configuration=pl.lit("c"), repeat=0)  # fmt: skip


def covered(
    kind: str, deals: int, rivals: int, studies: int, seed: int, *, paired: bool
) -> tuple[float, bool]:
    """The share of intervals that hold 0, and whether they come without a caution.

    What never varied has no interval: the table says so, and it is left out.
    """
    draw, inside, clusters = np.random.default_rng(seed), [], 0
    for _ in range(studies):
        moved = draw.normal(size=(2, deals))
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
    cells = product(HOW.items(), KINDS, SIZES.items(), DEALS)
    for seed, ((how, paired), kind, (name, rivals), deals) in enumerate(cells):
        one = covered(kind, deals, rivals, studies, seed, paired=paired)
        yield f"{how}, {kind}, {name}, {deals} deals", *one


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
