"""Exact maxima of welfare for many pools, by enumeration of all bundles.

All numbers are in points and undiscounted, as in the first round. Needs the extra ``[analysis]``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from cheaptalk.games.extras import needed
from cheaptalk.games.item_bargaining.rules import Drawn, ItemBargaining, Pool, no_pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]
else:
    np = needed("numpy")

CELLS = 50_000
"""Maximum number of bundles in one batch, which should fit the processor's cache."""


@dataclass(frozen=True)
class Pools:
    """Many pools as arrays with the axes (pool, kind), (pool, player, kind) and (pool, player)."""

    quantities: "Counts"
    values: "Counts"
    outside: "Counts"

    @classmethod
    def of(cls, instances: "list[Pool]") -> "Pools":
        """Return the pools of several instances, which must have the same number of kinds."""
        return cls(
            *(np.array([getattr(instance, f.name) for instance in instances]) for f in fields(cls))
        )

    def __len__(self) -> int:
        return len(self.outside)


@dataclass(frozen=True)
class Maxima:
    """The maximum welfare that each of several pools allows.

    Attributes:
        utilitarian: the maximum sum of both players' values, over all allocations and the outcome
            in which both get their outside options.
        utilitarian_allocated: the maximum sum over allocations only.
        nash, nash_allocated: the maximum geometric mean of both values, with and without the
            outcome of outside options.
        nash_plus: the maximum geometric mean of both gains over the outside options; a negative
            gain is 0.
        acceptable: 1 if an allocation gives both players at least their outside options, else 0.
        opposition: the minimum Euclidean distance of (u_1 / U_1, u_2 / U_2) from (1, 1), over all
            allocations and the outside options, from 0 (no conflict) to the square root of 2
            (appendix J). U is the value of all items.
    """

    utilitarian: "Numbers"
    utilitarian_allocated: "Numbers"
    nash: "Numbers"
    nash_allocated: "Numbers"
    nash_plus: "Numbers"
    acceptable: "Numbers"
    opposition: "Numbers"


def sample(game: ItemBargaining, count: int, draw: "np.random.Generator") -> Pools:
    """Draw pools of items from a game's distribution."""
    specification = game.quantities
    if isinstance(specification, Drawn):
        quantities = _draw_quantities(specification, count, draw)
    else:
        quantities = np.tile(np.array(specification), (count, 1))
    values = draw.integers(1, game.highest_value, (count, 2, quantities.shape[1]), endpoint=True)
    totals = np.einsum("npk,nk->np", values, quantities)
    outside = draw.integers(game.least_outside, totals - game.below_total, endpoint=True)
    return Pools(quantities, values, outside)


def _draw_quantities(specification: Drawn, count: int, draw: "np.random.Generator") -> "Counts":
    rows = np.empty((0, specification.kinds), dtype=np.int64)
    while len(rows) < count:
        batch = draw.poisson(specification.mean, (count, specification.kinds))
        if specification.zeros == "redrawn":
            while not batch.all():
                batch[batch == 0] = draw.poisson(specification.mean, (batch == 0).sum())
        batch += specification.zeros == "plus_one"
        legal = [no_pool(tuple(row)) is None for row in batch.tolist()]
        rows = np.concatenate([rows, batch[legal]])
    return rows[:count]


@lru_cache(maxsize=256)
def bundles(quantities: tuple[int, ...]) -> "Numbers":
    """Return all bundles of a pool, one per row."""
    units = np.indices([count + 1 for count in quantities]).reshape(len(quantities), -1)
    return units.T.astype(np.float64)


def maxima(pools: Pools) -> Maxima:
    """Return the maximum welfare of each pool, with pools of equal quantities computed together."""
    kinds, group = np.unique(pools.quantities, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    columns: dict[str, Numbers] = {field.name: np.empty(len(pools)) for field in fields(Maxima)}
    starts = np.searchsorted(group[order], np.arange(len(kinds) + 1))
    for number, quantities in enumerate(kinds.tolist()):
        table = bundles(tuple(quantities))
        members = order[starts[number] : starts[number + 1]]
        size = max(1, CELLS // len(table))
        for start in range(0, len(members), size):
            batch = members[start : start + size]
            values = _best(table, pools.values[batch], pools.outside[batch])
            for name, numbers in values.items():
                columns[name][batch] = numbers
    return Maxima(**columns)


def _best(table: "Numbers", values: "Counts", outside: "Counts") -> dict[str, "Numbers"]:
    """Return the maximum welfare of pools with equal quantities, given the table of all bundles."""
    total_bundle = table[-1]
    totals = values @ total_bundle
    first = values[:, 0] @ table.T
    second = values[:, 1] @ (total_bundle - table).T
    allocated = (first + second).max(axis=1)
    nash = np.sqrt((first * second).max(axis=1))
    first_surplus = first - outside[:, :1]
    second_surplus = second - outside[:, 1:]
    acceptable = np.minimum(first_surplus, second_surplus).max(axis=1) >= 0
    advantage = np.maximum(first_surplus, 0, out=first_surplus)
    advantage *= np.maximum(second_surplus, 0, out=second_surplus)
    outside_distance = np.square(1 - outside / totals).sum(axis=1)
    distance = np.square(1 - first / totals[:, :1], out=first)
    distance += np.square(1 - second / totals[:, 1:], out=second)
    return {
        "utilitarian": np.maximum(allocated, outside.sum(axis=1)),
        "utilitarian_allocated": allocated,
        "nash": np.maximum(nash, np.sqrt(outside.prod(axis=1))),
        "nash_allocated": nash,
        "nash_plus": np.sqrt(advantage.max(axis=1)),
        "acceptable": acceptable,
        "opposition": np.sqrt(np.minimum(distance.min(axis=1), outside_distance)),
    }


def ratio_of_means(welfare: Iterable[float], best: Iterable[float]) -> float:
    """Return the ratio of the mean welfare in matches to the mean maximum of the game's pools.

    This is the paper's normalisation (section 5). The pools can differ from those of the matches.
    """
    return fmean(welfare) / fmean(best)
