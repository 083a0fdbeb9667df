"""How often intervals of means cover the truth: ``python -m bench.mean_coverage [STUDIES]``.

Over a grid of instances, kinds of values, and instances that one match or six matches share. A cell
counts as told where the interval comes without a caution (``wanted`` is null); such intervals are
to hold the truth in 92 % of studies or more. Those of shares near 1 hold it more often than they
say, as counts of few instances can take few values.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import norm

from bench.rows import Row
from cheaptalk.statistics import STRATA, mean_intervals

STUDIES = 2_000
INSTANCES = (3, 5, 10, 20, 50)
SIZES = {"independent": 1, "shared instances": 6}
"""Matches of an instance."""
UNEVEN = {
    "one of 50 instances twenty times": [20] + [1] * 49,
    "a tenth of 50 instances ten times": [10] * 5 + [1] * 45,
    "half of 50 instances six times": [6] * 25 + [1] * 25,
}
"""Matches of each instance, where some were played more often than others."""
ALIKE = 0.5
"""Correlation of the matches of an instance."""
LEAST = 0.92
Draws = NDArray[np.float64]
KINDS: dict[str, tuple[Callable[[Draws], Draws], float, tuple[float, float]]] = {
    "normal": (lambda z: z, 0.0, (-np.inf, np.inf)),
    "lognormal": (np.exp, float(np.exp(0.5)), (0.0, np.inf)),
    "share .5": (lambda z: (z < 0).astype(float), 0.5, (0.0, 1.0)),
    "share .9": (lambda z: (z < norm.ppf(0.9)).astype(float), 0.9, (0.0, 1.0)),
    "share .98": (lambda z: (z < norm.ppf(0.98)).astype(float), 0.98, (0.0, 1.0)),
}
"""What makes values of standard normal ones, their true mean, and their bounds."""
SCALES = np.array([1.0, 100.0, 10_000.0])
"""Of the configurations of a study that pools them."""


def covered(
    kind: str, sizes: Sequence[int], scales: Draws, studies: int, seed: int
) -> tuple[float, float]:
    """The share of studies whose interval holds the truth, and of those without a caution.

    Args:
        sizes: how many matches each instance has.
    """
    draw = np.random.default_rng(seed)
    made, truth, bounds = KINDS[kind]
    shape, most = (studies, len(scales), len(sizes)), max(sizes)
    common = draw.normal(size=(*shape, 1)) * np.sqrt(ALIKE if most > 1 else 0)
    own = draw.normal(size=(*shape, most)) * np.sqrt(1 - ALIKE if most > 1 else 1)
    values = made(common + own) * scales[:, None, None]
    study, configuration, instance, match = np.indices(values.shape).reshape(4, -1)
    frame = pl.DataFrame(
        {"study": study, "configuration": configuration, "instance": instance, "x": values.ravel()}
    ).filter(match < np.array(sizes)[instance])
    limits = (bounds[0] * scales.max(), bounds[1] * scales.max()) if len(scales) > 1 else bounds
    found = mean_intervals(frame, ["x"], ["study"], strata=STRATA, bounds={"x": limits})
    mean = truth * float(scales.mean())
    inside = found.select(pl.lit(mean).is_between("low", "high").fill_null(value=False).mean())
    alone = found["wanted"].null_count() / len(found)
    return float(inside.item()), alone


def grid(studies: int) -> Iterator[tuple[str, float, float]]:
    """Each cell of the grid: what it is, its coverage, and how often it comes without a caution."""
    cells = product(KINDS, SIZES.items(), INSTANCES)
    for seed, (kind, (name, size), instances) in enumerate(cells):
        one = covered(kind, [size] * instances, np.ones(1), studies, seed)
        yield f"{kind}, {name}, {instances} instances", *one
    for seed, instances in enumerate(INSTANCES):
        one = covered("normal", [1] * instances, SCALES, studies, 100 + seed)
        yield f"normal on three scales, {instances} instances each", *one
    for seed, (name, sizes) in enumerate(UNEVEN.items()):
        yield f"normal, {name}", *covered("normal", sizes, np.ones(1), studies, 200 + seed)


def rows() -> Iterator[Row]:
    """The worst coverage of intervals that come without a caution."""
    told = [(share, name) for name, share, alone in grid(STUDIES) if alone > 0]
    worst, name = min(told)
    yield Row(
        "worst coverage of a 95 % interval of a mean", 100 * worst, "%", (">=", 100 * LEAST),
        f"{name}; of {len(told)} kinds of studies whose intervals come without a caution, "
        f"{STUDIES:,} simulated each",
    )  # fmt: skip


if __name__ == "__main__":
    for name, share, alone in grid(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES):
        verdict = "" if share >= LEAST else "TOO NARROW" if alone else "cautioned"
        print(f"{name:42} {share:6.1%}  without a caution {alone:4.0%}  {verdict}", flush=True)
