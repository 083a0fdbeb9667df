"""Measures of chip trading (Strategic Tradeoffs, section 6).

A gain is what a player's chips gain in worth to that player, in dollars, negative for a loss; the
surplus is the sum of the gains of all. The ratio of a proposal is chips given to chips wanted.
Series by turn say what has been gained so far, and what was proposed; turns count through the whole
game, so that there are as many in a round as there are players.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import permutations, product
from statistics import fmean
from typing import NamedTuple

from cheaptalk.games.chip_trading.events import Trading, Worths
from cheaptalk.games.chip_trading.regret import Part, Regret, decisions
from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.games.extras import needed
from cheaptalk.rules import COUNT, SHARE, Measure, Point, Result, Series

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


class Proposed(NamedTuple):
    """A proposal: what it would gain its proposer, in dollars, its ratio, and whether it led to
    a trade."""

    surplus: float
    ratio: float
    accepted: bool


def proposed(outcome: Trading) -> list[Proposed]:
    """All proposals of a game in order (section 6.2.1, table 5)."""
    return [
        Proposed(
            turn.proposal.gain(outcome.worths[turn.proposer]) / 100,
            turn.proposal.give_amount / turn.proposal.want_amount,
            turn.partner is not None,
        )
        for turn in outcome.turns
    ]


def surplus_by_turn(outcome: Trading) -> list[float]:
    """The surplus after each turn, in dollars (figure 2, where it is divided by the bound)."""
    return [sum(gains.values()) / 100 for gains in outcome.gains_by_turn()]


def surplus(result: Result) -> float:
    """What all players' chips have gained in worth together, in dollars."""
    return surplus_by_turn(result.outcome)[-1]


def bound(result: Result) -> float:
    """The most that all players together can gain where none loses, in dollars."""
    return surplus_bound(result.outcome.worths, result.game.chips)


def surplus_ratio(result: Result) -> float | None:
    """The surplus over its bound; None where nothing can be gained.

    At most 1 where nobody ends with a loss (section 6.1, table 3).
    """
    return over_bound(surplus(result), bound(result))


def first_round_ratio(result: Result) -> float | None:
    """The surplus after the first round over the bound; None where nothing can be gained."""
    return over_bound(surplus_by_turn(result.outcome)[result.game.players - 1], bound(result))


def over_bound(surplus: float, bound: float) -> float | None:
    """A surplus over its bound, both in dollars; None where the bound is 0."""
    return surplus / bound if bound else None


def acceptance(result: Result) -> float:
    """The share of proposals that led to a trade."""
    return fmean(one.accepted for one in proposed(result.outcome))


def accepted_surplus(result: Result) -> float | None:
    """The mean gain of proposers from proposals that led to a trade; None without any."""
    return _mean(one.surplus for one in proposed(result.outcome) if one.accepted)


def rejected_surplus(result: Result) -> float | None:
    """The mean gain that proposers sought by proposals that nobody accepted; None without any."""
    return _mean(one.surplus for one in proposed(result.outcome) if not one.accepted)


def accepted_ratio(result: Result) -> float | None:
    """The mean ratio of proposals that led to a trade; None without any."""
    return _mean(one.ratio for one in proposed(result.outcome) if one.accepted)


def rejected_ratio(result: Result) -> float | None:
    """The mean ratio of proposals that nobody accepted; None without any."""
    return _mean(one.ratio for one in proposed(result.outcome) if not one.accepted)


def _mean(numbers: Iterable[float]) -> float | None:
    found = list(numbers)
    return fmean(found) if found else None


def counted(part: Part, regret: Regret) -> Callable[[Result], float]:
    """The measure that counts a part's decisions of a kind of regret (figure 5)."""

    def count(result: Result) -> float:
        found = decisions(result.outcome, result.game.chips)
        return float(sum((one.part, one.regret) == (part, regret) for one in found))

    count.__doc__ = f"How many decisions of {part}s are of {regret} regret, of those in the sample."
    return count


KINDS: tuple[tuple[Part, Regret], ...] = (
    ("proposer", "no"), ("proposer", "forced"),
    ("acceptor", "no"), ("acceptor", "forced"), ("acceptor", "unforced"),
    ("decliner", "no"), ("decliner", "unforced"),
)  # fmt: skip
"""The kinds of regret that there are."""

MEASURES = (
    Measure("surplus", surplus, unit="dollars"),
    Measure("bound", bound, unit="dollars"),
    Measure("surplus_ratio", surplus_ratio, unit="share of the bound"),
    Measure("first_round_ratio", first_round_ratio, unit="share of the bound"),
    Measure("acceptance", acceptance, unit="share of proposals", bounds=SHARE),
    Measure("accepted_surplus", accepted_surplus, unit="dollars a proposal"),
    Measure("rejected_surplus", rejected_surplus, unit="dollars a proposal"),
    Measure("accepted_ratio", accepted_ratio, unit="chips given a chip wanted"),
    Measure("rejected_ratio", rejected_ratio, unit="chips given a chip wanted"),
    *(
        Measure(f"{part}_{regret}_regret", counted(part, regret), unit="decisions", bounds=COUNT)
        for part, regret in KINDS
    ),
)


def gain_by_turn(result: Result) -> Iterator[Point]:
    """What each player's chips have gained after the turn, in dollars; for all, the surplus.

    A path of values as in figures 4 and 10 is this and what the chips were worth at the start.
    """
    outcome: Trading = result.outcome
    for number, cents in enumerate(outcome.gains_by_turn(), 1):
        yield Point(number, None, sum(cents.values()) / 100)
        for place, gained in cents.items():
            yield Point(number, place, gained / 100)


def surplus_ratio_by_turn(result: Result) -> Iterator[Point]:
    """The same over the bound of the surplus (figure 2); none where nothing can be gained."""
    most = bound(result)
    for number, place, dollars in gain_by_turn(result):
        yield Point(number, place, over_bound(dollars or 0.0, most))


def proposal_surplus(result: Result) -> Iterator[Point]:
    """What the proposal would gain its proposer, in dollars (table 5, figures 12 to 14)."""
    return _of_proposer(result, lambda one: one.surplus)


def proposal_ratio(result: Result) -> Iterator[Point]:
    """The proposal's chips given a chip wanted (table 5, figures 12 to 14)."""
    return _of_proposer(result, lambda one: one.ratio)


def accepted_by_turn(result: Result) -> Iterator[Point]:
    """1 if the proposal leads to a trade, else 0; at the place of the proposer."""
    return _of_proposer(result, lambda one: float(one.accepted))


def _of_proposer(result: Result, of: Callable[[Proposed], float]) -> Iterator[Point]:
    outcome: Trading = result.outcome
    rows = zip(outcome.turns, proposed(outcome), strict=True)
    return (Point(number, turn.proposer, of(one)) for number, (turn, one) in enumerate(rows, 1))


SERIES = (
    Series("gain", gain_by_turn, unit="dollars"),
    Series("surplus_ratio", surplus_ratio_by_turn, unit="share of the bound"),
    Series("proposal_surplus", proposal_surplus, unit="dollars"),
    Series("proposal_ratio", proposal_ratio, unit="chips given a chip wanted", bounds=COUNT),
    Series("accepted", accepted_by_turn, unit="share of proposals", bounds=SHARE),
)
