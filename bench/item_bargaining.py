"""How fast the best that can be had of a pool is found, and the walk row of the paper with it."""

import statistics
import time
from collections.abc import Iterator

import numpy as np

from bench.rows import Row
from cheaptalk.games.item_bargaining.maxima import maxima, ratio_of_means, sample
from cheaptalk.games.item_bargaining.rules import PRESETS, ItemBargaining

POOLS = 1_000_000
ROUNDS = 3


def rows() -> Iterator[Row]:
    """A million pools of the class BGS: drawn, and their exact maxima of welfare."""
    game = ItemBargaining.model_validate(PRESETS["BGS"])
    seconds = []
    for seed in range(ROUNDS):
        pools = sample(game, POOLS, np.random.default_rng(seed))
        started = time.perf_counter()
        best = maxima(pools)
        seconds.append(time.perf_counter() - started)
    yield Row(f"item_bargaining, exact maxima of welfare of {POOLS:,} pools of BGS",
              statistics.median(seconds), "s", ("<=", 5), "one core, numpy")  # fmt: skip
    welfare = pools.outside.sum(axis=1)
    share = 100 * ratio_of_means(welfare, best.utilitarian_allocated)
    yield Row("item_bargaining, utilitarian welfare of walk in BGS against the published 75.03",
              abs(share - 75.03), "points off", ("<=", 0.4), f"{share:.2f} %")  # fmt: skip
