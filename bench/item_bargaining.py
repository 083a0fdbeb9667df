"""Speed of exact welfare maxima in item bargaining, and a replication of the paper's walk row."""

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
    """Yield the time to maximize welfare in a million BGS pools, and the welfare of ``walk``."""
    game = ItemBargaining.model_validate(PRESETS["BGS"])
    seconds = []
    for seed in range(ROUNDS):
        pools = sample(game, POOLS, np.random.default_rng(seed))
        started = time.perf_counter()
        best = maxima(pools)
        seconds.append(time.perf_counter() - started)
    yield Row(f"item_bargaining, exact welfare maxima of {POOLS:,} BGS pools",
              statistics.median(seconds), "s", ("<=", 5), "one core, NumPy")  # fmt: skip
    welfare = pools.outside.sum(axis=1)
    share = 100 * ratio_of_means(welfare, best.utilitarian_allocated)
    yield Row("item_bargaining, utilitarian welfare of walk in BGS: deviation from published value",
              abs(share - 75.03), "points", ("<=", 0.4),
              f"{share:.2f} %; published 75.03 %")  # fmt: skip
