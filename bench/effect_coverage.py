"""Coverage of intervals of effects: ``python -m bench.effect_coverage [STUDIES [SEED]]``.

Over a grid of instances, of how many of them have the level whose effect is estimated, of kinds of
values, and of instances that one match or six matches share. Of studies whose intervals come
without a note that they are too narrow, 92 % or more are to hold the truth, and of all of normal
values.
"""

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl

from bench.mean_coverage import ALIKE, KINDS, LEAST, SIZES
from bench.rows import Row
from cheaptalk.statistics import regressions

STUDIES = 400
SOME = 50
"""Studies without a note that tell how many of them hold the truth."""
CHOSEN = ("normal", "lognormal", "share .9")
GROUPS = (
    (80, 2), (80, 3), (80, 5), (80, 10), (80, 25), (80, 40), (5, 2), (20, 3), (50, 25),
)  # fmt: skip
"""How many instances there are, and how many of them have the level."""


def covered(
    kind: str, instances: int, treated: int, size: int, studies: int, seed: int
) -> tuple[float, float | None, float]:
    """How often intervals hold the true effect, 0: of all, of those without a note; their share."""
    draw = np.random.default_rng(seed)
    instance = np.repeat(np.arange(instances), size)
    common = draw.normal(size=(studies, instances))[:, instance] * np.sqrt(ALIKE if size > 1 else 0)
    own = draw.normal(size=(studies, len(instance))) * np.sqrt(1 - ALIKE if size > 1 else 1)
    names = [str(study) for study in range(studies)]
    values = pl.DataFrame(KINDS[kind][0](common + own).T, schema=names)
    frame = values.with_columns(instance=instance, treated=instance < treated)
    fits = regressions(
        frame, names, ["treated"], reference={"treated": False}, errors=["cluster"],
        cluster=["instance"],
    )  # fmt: skip
    effects = [fit.estimates(np.array([[0.0, 1.0]])).row(0, named=True) for fit in fits.values()]
    inside = [one["low"] <= 1e-12 and one["high"] >= -1e-12 for one in effects]
    told = [held for held, fit in zip(inside, fits.values(), strict=True)
            if "too narrow" not in " ".join(fit.notes)]  # fmt: skip
    alone = float(np.mean(told)) if len(told) >= SOME else None
    return float(np.mean(inside)), alone, len(told) / studies


def grid(studies: int, first: int = 0) -> Iterator[tuple[str, float, float | None, float]]:
    """Each cell of the grid: what it is, and what :func:`covered` finds."""
    cells = product(CHOSEN, SIZES.items(), GROUPS)
    for seed, (kind, (name, size), (instances, treated)) in enumerate(cells, start=first):
        one = covered(kind, instances, treated, size, studies, seed)
        yield f"{kind}, {name}, {treated} of {instances} instances", *one


def rows() -> Iterator[Row]:
    """The worst coverage of intervals without a note, and of all those of normal values."""
    found = list(grid(STUDIES))
    for what, shares in (
        ("without a note", [(alone, name) for name, _, alone, _ in found if alone is not None]),
        ("of normal values", [(all_, name) for name, all_, *_ in found if "log" not in name
                              and "normal" in name]),
    ):  # fmt: skip
        worst, name = min(shares)
        yield Row(
            f"worst coverage of a 95 % interval of an effect, {what}", 100 * worst, "%",
            (">=", 100 * LEAST),
            f"{name}; of {len(shares)} kinds of studies, {STUDIES:,} simulated each",
        )  # fmt: skip


if __name__ == "__main__":
    studies, first = (*map(int, sys.argv[1:]), *(STUDIES, 0)[len(sys.argv) - 1 :])
    for name, share, alone, part in grid(studies, first):
        told = "" if alone is None else f"{alone:6.1%} of {part:4.0%} without a note"
        verdict = "TOO NARROW" if alone is not None and alone < LEAST else ""
        print(f"{name:42} {share:6.1%}  {told}  {verdict}", flush=True)
