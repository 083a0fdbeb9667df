"""What can be computed of chip trading before anybody plays."""

from collections.abc import Mapping
from functools import lru_cache
from itertools import permutations, product

from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.games.chip_trading.trading import Worths
from cheaptalk.games.extras import needed

np = needed("numpy")
scipy = needed("scipy")

CENT = 0.01
NONE = 1e-6
"""A bound below this, in cents, is no more than the solver's rounding."""


def surplus_bound(worths: Worths, chips: int) -> float:
    """The most that all players together can gain where none loses, in dollars.

    The linear programme of Strategic Tradeoffs, definition 1: maximise sum_ic v_ic a_ic over
    allocations a >= 0 that give out all chips of each colour c and leave every player i at least
    what its own chips were worth to it. Chips may be divided, so that trade of whole chips can
    fall a little short. Solved by HiGHS.

    Args:
        worths: v, what a chip is worth, in cents, by player and colour.
        chips: how many chips of each colour every player starts with.

    Raises:
        CheaptalkError: scipy is not installed.
    """
    colours = next(iter(worths.values()))
    rows = tuple(tuple(one[colour] for colour in colours) for one in worths.values())
    return _bound(rows, chips)


@lru_cache(maxsize=4096)
def _bound(worths: tuple[tuple[int, ...], ...], chips: int) -> float:
    values = np.array(worths, dtype=float)
    players, colours = values.shape
    stocks = np.tile(np.eye(colours), players)
    kept = np.kron(np.eye(players), np.ones(colours)) * values.ravel()
    start = chips * values.sum(axis=1)
    found = scipy.optimize.linprog(
        -values.ravel(),
        A_ub=-kept,
        b_ub=-start,
        A_eq=stocks,
        b_eq=np.full(colours, players * chips),
        method="highs",
    )
    gain = -found.fun - start.sum()
    return float(gain * CENT) if gain > NONE else 0.0


def expected_rational_trades(game: ChipTrading) -> float:
    """How many opening proposals gain the proposer and at least one other player, in expectation.

    The sum over all proposals of p (1 - (1 - q) ** (n - 1)), where over random values p is the
    probability that the proposer gains, q that one other player gains, and n the number of
    players. It gives the 37.1, 120.7 and 250.7 of Strategic Tradeoffs, appendix A.1, for two,
    three and four colours. The note there, which counts trades that the proposer thinks it
    possible that another gains by, would give 66.0, 227.2 and 483.7.
    """
    total = 0.0
    drawn = dict.fromkeys(game.colours[1:], game.values)
    worths: Mapping[str, tuple[int, ...]] = {game.colours[0]: (game.common_value,)} | drawn
    amounts = range(1, game.chips + 1)
    for give, want in permutations(game.colours, 2):
        ratios = [mine / theirs for mine, theirs in product(worths[want], worths[give])]
        for amount, wanted in product(amounts, amounts):
            proposer = sum(ratio > amount / wanted for ratio in ratios) / len(ratios)
            other = sum(ratio < amount / wanted for ratio in ratios) / len(ratios)
            total += proposer * (1 - (1 - other) ** (game.players - 1))
    return total
