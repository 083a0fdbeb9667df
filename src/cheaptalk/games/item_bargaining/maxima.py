"""The best that can be had of a pool: exact maxima of welfare, for many pools at once.

Everything is in points and undiscounted, as in the first round. All bundles of a pool are looked
at. Needs numpy, from ``pip install "cheaptalk[analysis]"``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

from cheaptalk.games.extras import needed
from cheaptalk.games.item_bargaining.events import Pool
from cheaptalk.games.item_bargaining.pools import Drawn, no_pool
from cheaptalk.games.item_bargaining.rules import ItemBargaining

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]
else:
    np = needed("numpy")

CELLS = 50_000
"""Bundles of all pools together that are looked at in one go; more would leave the fast memory."""


@dataclass(frozen=True)
class Pools:
    """Many pools of one game.

    Attributes:
        quantities: the items of each kind, a row a pool.
        values: by pool, player and kind.
        outside: by pool and player.
    """

    quantities: "Counts"
    values: "Counts"
    outside: "Counts"

    @classmethod
    def of(cls, deals: "list[Pool]") -> "Pools":
        """Pools that were dealt, with as many kinds each."""
        return cls(*(np.array([getattr(deal, f.name) for deal in deals]) for f in fields(cls)))

    def __len__(self) -> int:
        return len(self.outside)


@dataclass(frozen=True)
class Maxima:
    """What was best for each of many pools.

    Attributes:
        utilitarian: the greatest sum of both players' worths, over all allocations and the outcome
            in which both get their outside options.
        utilitarian_allocated: the same over the allocations alone.
        nash, nash_allocated: the same of the geometric mean of both worths.
        nash_plus: the same of the geometric mean of what both get above their outside options,
            counted as 0 where it is less. The outside options themselves bring nothing.
        acceptable: 1 where some allocation gives both at least their outside options, else 0.
        opposition: how far the nearest outcome is from giving both all they could have at best: the
            least Euclidean distance of (u_1 / U_1, u_2 / U_2) from (1, 1), from 0 (no conflict) to
            the square root of 2, over all allocations and the outside options (appendix J). U is
            what all items are worth, which no outside option exceeds.
    """

    utilitarian: "Numbers"
    utilitarian_allocated: "Numbers"
    nash: "Numbers"
    nash_allocated: "Numbers"
    nash_plus: "Numbers"
    acceptable: "Numbers"
    opposition: "Numbers"


def sample(game: ItemBargaining, count: int, draw: "np.random.Generator") -> Pools:
    """Pools as the game deals them, drawn at once.

    Args:
        game: whose parameters are used.
        count: how many.
        draw: where the randomness comes from.
    """
    given = game.quantities
    if isinstance(given, Drawn):
        quantities = _drawn(given, count, draw)
    else:
        quantities = np.tile(np.array(given), (count, 1))
    kinds = quantities.shape[1]
    values = draw.integers(1, game.highest_value, (count, 2, kinds), endpoint=True)
    totals = np.einsum("npk,nk->np", values, quantities)
    outside = draw.integers(game.least_outside, totals - game.below_total, endpoint=True)
    return Pools(quantities, values, outside)


def _drawn(given: Drawn, count: int, draw: "np.random.Generator") -> "Counts":
    """Quantities of many pools, by the rules of :class:`Drawn`."""
    found = np.empty((0, given.kinds), dtype=np.int64)
    while len(found) < count:
        more = draw.poisson(given.mean, (count, given.kinds))
        if given.zeros == "redrawn":
            while not more.all():
                more[more == 0] = draw.poisson(given.mean, (more == 0).sum())
        more += given.zeros == "plus_one"
        legal = [no_pool(tuple(row)) is None for row in more.tolist()]
        found = np.concatenate([found, more[legal]])
    return found[:count]


@lru_cache(maxsize=256)
def bundles(quantities: tuple[int, ...]) -> "Numbers":
    """All bundles of a pool, a row each."""
    units = np.indices([count + 1 for count in quantities]).reshape(len(quantities), -1)
    return units.T.astype(np.float64)


def maxima(pools: Pools) -> Maxima:
    """The maxima of each pool, computed together for those with the same quantities."""
    kinds, group = np.unique(pools.quantities, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    columns: dict[str, Numbers] = {field.name: np.empty(len(pools)) for field in fields(Maxima)}
    starts = np.searchsorted(group[order], np.arange(len(kinds) + 1))
    for number, quantities in enumerate(kinds.tolist()):
        table = bundles(tuple(quantities))
        members = order[starts[number] : starts[number + 1]]
        size = max(1, CELLS // len(table))
        for start in range(0, len(members), size):
            some = members[start : start + size]
            found = _best(table, pools.values[some], pools.outside[some])
            for name, numbers in found.items():
                columns[name][some] = numbers
    return Maxima(**columns)


def _best(table: "Numbers", values: "Counts", outside: "Counts") -> dict[str, "Numbers"]:
    """The maxima of pools with the same quantities, whose bundles for player 1 are given."""
    everything = table[-1]
    totals = values @ everything
    gets = values[:, 0] @ table.T
    others = values[:, 1] @ (everything - table).T
    allocated = (gets + others).max(axis=1)
    nash = np.sqrt((gets * others).max(axis=1))
    over = gets - outside[:, :1]
    above = others - outside[:, 1:]
    acceptable = np.minimum(over, above).max(axis=1) >= 0
    advantage = np.maximum(over, 0, out=over)
    advantage *= np.maximum(above, 0, out=above)
    lacking = np.square(1 - outside / totals).sum(axis=1)
    distance = np.square(1 - gets / totals[:, :1], out=gets)
    distance += np.square(1 - others / totals[:, 1:], out=others)
    return {
        "utilitarian": np.maximum(allocated, outside.sum(axis=1)),
        "utilitarian_allocated": allocated,
        "nash": np.maximum(nash, np.sqrt(outside.prod(axis=1))),
        "nash_allocated": nash,
        "nash_plus": np.sqrt(advantage.max(axis=1)),
        "acceptable": acceptable,
        "opposition": np.sqrt(np.minimum(distance.min(axis=1), lacking)),
    }


def ratio_of_means(welfare: Iterable[float], best: Iterable[float]) -> float:
    """The mean welfare of some matches over the mean maximum of some pools of the same game.

    This is how the paper normalises (section 5); it need not be the same pools.
    """
    return fmean(welfare) / fmean(best)
