"""Coverage of intervals of means: ``python -m bench.mean_coverage [STUDIES]``.

The grid varies the number of instances, the distribution of values, and the matches per instance
(one or six). Intervals without a small-sample warning (``wanted`` is null) must contain the true
mean in at least 92 % of studies. Intervals of shares near 1 are conservative, because counts over
few instances take only few values.
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
"""Matches per instance, by name."""
UNEVEN = {
    "one of 50 instances twenty times": [20] + [1] * 49,
    "a tenth of 50 instances ten times": [10] * 5 + [1] * 45,
    "half of 50 instances six times": [6] * 25 + [1] * 25,
}
"""Matches of each instance in designs with unequal numbers, by name."""
ALIKE = 0.5
"""Correlation between the matches of an instance."""
LEAST = 0.92
"""Required coverage."""
Draws = NDArray[np.float64]
KINDS: dict[str, tuple[Callable[[Draws], Draws], float, tuple[float, float]]] = {
    "normal": (lambda z: z, 0.0, (-np.inf, np.inf)),
    "lognormal": (np.exp, float(np.exp(0.5)), (0.0, np.inf)),
    "share .5": (lambda z: (z < 0).astype(float), 0.5, (0.0, 1.0)),
    "share .9": (lambda z: (z < norm.ppf(0.9)).astype(float), 0.9, (0.0, 1.0)),
    "share .98": (lambda z: (z < norm.ppf(0.98)).astype(float), 0.98, (0.0, 1.0)),
}
"""By name: a function of standard normal values, the true mean of its values, and their bounds."""
SCALES = np.array([1.0, 100.0, 10_000.0])
"""Scales of the configurations in designs that pool three configurations."""


def covered(
    kind: str, sizes: Sequence[int], scales: Draws, studies: int, seed: int
) -> tuple[float, float]:
    """Simulate studies, and return the coverage and the share of intervals without a warning.

    Args:
        kind: a key of :data:`KINDS`.
        sizes: the number of matches of each instance.
        scales: the scale of each configuration.
        studies: the number of studies.
        seed: the random seed.
    """
    draw = np.random.default_rng(seed)
    transform, truth, bounds = KINDS[kind]
    shape, max_size = (studies, len(scales), len(sizes)), max(sizes)
    common = draw.normal(size=(*shape, 1)) * np.sqrt(ALIKE if max_size > 1 else 0)
    own = draw.normal(size=(*shape, max_size)) * np.sqrt(1 - ALIKE if max_size > 1 else 1)
    values = transform(common + own) * scales[:, None, None]
    study, configuration, instance, match = np.indices(values.shape).reshape(4, -1)
    frame = pl.DataFrame(
        {"study": study, "configuration": configuration, "instance": instance, "x": values.ravel()}
    ).filter(match < np.array(sizes)[instance])
    limits = (bounds[0] * scales.max(), bounds[1] * scales.max()) if len(scales) > 1 else bounds
    intervals = mean_intervals(frame, ["x"], ["study"], strata=STRATA, bounds={"x": limits})
    mean = truth * float(scales.mean())
    inside = intervals.select(pl.lit(mean).is_between("low", "high").fill_null(value=False).mean())
    plain = intervals["wanted"].null_count() / len(intervals)
    return float(inside.item()), plain


def grid(studies: int) -> Iterator[tuple[str, float, float]]:
    """Yield the name of each cell of the grid and its result of :func:`covered`."""
    cells = product(KINDS, SIZES.items(), INSTANCES)
    for seed, (kind, (name, size), instances) in enumerate(cells):
        result = covered(kind, [size] * instances, np.ones(1), studies, seed)
        yield f"{kind}, {name}, {instances} instances", *result
    for seed, instances in enumerate(INSTANCES):
        result = covered("normal", [1] * instances, SCALES, studies, 100 + seed)
        yield f"normal on three scales, {instances} instances each", *result
    for seed, (name, sizes) in enumerate(UNEVEN.items()):
        yield f"normal, {name}", *covered("normal", sizes, np.ones(1), studies, 200 + seed)


def rows() -> Iterator[Row]:
    """Yield the worst coverage among cells that have intervals without a warning."""
    shares = [(share, name) for name, share, plain in grid(STUDIES) if plain > 0]
    worst, name = min(shares)
    yield Row(
        "worst coverage of a 95 % interval of a mean", 100 * worst, "%", (">=", 100 * LEAST),
        f"{name}; worst of {len(shares)} cells that have intervals without a warning, "
        f"{STUDIES:,} simulated studies each",
    )  # fmt: skip


if __name__ == "__main__":
    for name, share, plain in grid(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES):
        verdict = "" if share >= LEAST else "TOO NARROW" if plain else "with warning"
        print(f"{name:42} {share:6.1%}  without a warning {plain:4.0%}  {verdict}", flush=True)
