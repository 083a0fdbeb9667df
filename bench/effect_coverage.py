"""Coverage of intervals of effects: ``python -m bench.effect_coverage [STUDIES [SEED]]``.

The grid varies the number of instances, how many of them have the level whose effect is estimated,
the distribution of values, and the matches per instance (one or six). At least 92 % of the
intervals must contain the true effect, both among those without a note that they are too narrow,
and among all intervals of normal values.
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
MIN_STUDIES = 50
"""Minimum number of studies without a note for an estimate of their coverage."""
DISTRIBUTIONS = ("normal", "lognormal", "share .9")
GROUPS = (
    (80, 2), (80, 3), (80, 5), (80, 10), (80, 25), (80, 40), (5, 2), (20, 3), (50, 25),
)  # fmt: skip
"""The number of instances, and how many of them have the level."""


def covered(
    kind: str, instances: int, treated: int, size: int, studies: int, seed: int
) -> tuple[float, float | None, float]:
    """Simulate studies without an effect, and return how many intervals contain 0.

    Returns:
        The coverage of all intervals, the coverage of those without a note (None if they are too
        few), and the share of intervals without a note.
    """
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
    inside = [effect["low"] <= 1e-12 and effect["high"] >= -1e-12 for effect in effects]
    plain = [held for held, fit in zip(inside, fits.values(), strict=True)
             if "too narrow" not in " ".join(fit.notes)]  # fmt: skip
    coverage = float(np.mean(plain)) if len(plain) >= MIN_STUDIES else None
    return float(np.mean(inside)), coverage, len(plain) / studies


def grid(studies: int, first: int = 0) -> Iterator[tuple[str, float, float | None, float]]:
    """Yield the name of each cell of the grid and its result of :func:`covered`."""
    cells = product(DISTRIBUTIONS, SIZES.items(), GROUPS)
    for seed, (kind, (name, size), (instances, treated)) in enumerate(cells, start=first):
        result = covered(kind, instances, treated, size, studies, seed)
        yield f"{kind}, {name}, {treated} of {instances} instances", *result


def rows() -> Iterator[Row]:
    """Yield the worst coverage of intervals without a note, and of those of normal values."""
    cells = list(grid(STUDIES))
    for kind, shares in (
        ("without a note", [(plain, name) for name, _, plain, _ in cells if plain is not None]),
        ("of normal values", [(all_, name) for name, all_, *_ in cells if "log" not in name
                              and "normal" in name]),
    ):  # fmt: skip
        worst, name = min(shares)
        yield Row(
            f"worst coverage of a 95 % interval of an effect, {kind}", 100 * worst, "%",
            (">=", 100 * LEAST),
            f"{name}; worst of {len(shares)} cells, {STUDIES:,} simulated studies each",
        )  # fmt: skip


if __name__ == "__main__":
    studies, first = (*map(int, sys.argv[1:]), *(STUDIES, 0)[len(sys.argv) - 1 :])
    for name, share, plain, part in grid(studies, first):
        detail = "" if plain is None else f"{plain:6.1%} of {part:4.0%} without a note"
        verdict = "TOO NARROW" if plain is not None and plain < LEAST else ""
        print(f"{name:42} {share:6.1%}  {detail}  {verdict}", flush=True)
