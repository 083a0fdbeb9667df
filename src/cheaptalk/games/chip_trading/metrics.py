"""Metrics of chip trading (Strategic Tradeoffs, section 6).

A gain is the increase in value of a player's chips to that player in dollars, negative for a loss;
the surplus is the sum of all gains. The ratio of a proposal is the number of chips given divided by
the number requested. Metrics by turn describe the gains so far and the proposals. Turns are
numbered through the game, one for each player in each round.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import permutations, product
from statistics import fmean
from typing import NamedTuple

from cheaptalk.games.chip_trading.regret import Part, Regret, decisions
from cheaptalk.games.chip_trading.rules import ChipTrading, Trading, Worths
from cheaptalk.games.extras import needed
from cheaptalk.rules import COUNT, SHARE, Metric, Point, Result, Series

np = needed("numpy")
scipy = needed("scipy")

CENT = 0.01
NONE = 1e-6
"""Tolerance of the solver in cents; a lower bound of the surplus is treated as 0."""


def surplus_bound(worths: Worths, chips: int) -> float:
    """Return the maximum surplus in dollars at which no player loses.

    The linear programme of Strategic Tradeoffs, definition 1: maximise sum_ic v_ic a_ic over
    allocations a >= 0 that use all chips of each colour c and give every player i at least the
    value of its initial chips. Chips are divisible here, so the surplus of whole chips can be
    slightly less. Needs scipy.

    Args:
        worths: v, the value of a chip in cents, by player and colour.
        chips: each player's initial number of chips per colour.
    """
    colours = next(iter(worths.values()))
    rows = tuple(tuple(by_colour[colour] for colour in colours) for by_colour in worths.values())
    return _bound(rows, chips)


@lru_cache(maxsize=4096)
def _bound(worths: tuple[tuple[int, ...], ...], chips: int) -> float:
    values = np.array(worths, dtype=float)
    players, colours = values.shape
    stocks = np.tile(np.eye(colours), players)
    final_worth = np.kron(np.eye(players), np.ones(colours)) * values.ravel()
    start = chips * values.sum(axis=1)
    solution = scipy.optimize.linprog(
        -values.ravel(),
        A_ub=-final_worth,
        b_ub=-start,
        A_eq=stocks,
        b_eq=np.full(colours, players * chips),
        method="highs",
    )
    gain = -solution.fun - start.sum()
    return float(gain * CENT) if gain > NONE else 0.0


def expected_rational_trades(game: ChipTrading) -> float:
    """Return how many possible first proposals are expected to benefit both trading partners.

    The sum over all proposals of p (1 - (1 - q) ** (n - 1)), where p is the probability that the
    proposer gains, q is the probability that another player gains, and n is the number of players.
    The results are those of Strategic Tradeoffs, appendix A.1: 37.1, 120.7 and 250.7 for two, three
    and four colours. The definition in its note, trades that might benefit another player in the
    proposer's view, would give 66.0, 227.2 and 483.7.
    """
    total = 0.0
    private_values = dict.fromkeys(game.colours[1:], game.values)
    worths: Mapping[str, tuple[int, ...]] = {game.colours[0]: (game.common_value,)} | private_values
    amounts = range(1, game.chips + 1)
    for give, want in permutations(game.colours, 2):
        ratios = [gained / lost for gained, lost in product(worths[want], worths[give])]
        for amount, received in product(amounts, amounts):
            proposer = sum(ratio > amount / received for ratio in ratios) / len(ratios)
            responder = sum(ratio < amount / received for ratio in ratios) / len(ratios)
            total += proposer * (1 - (1 - responder) ** (game.players - 1))
    return total


class Proposed(NamedTuple):
    """A proposal's gain in dollars, number of chips given per chip requested, and acceptance."""

    surplus: float
    ratio: float
    accepted: bool


def proposed(outcome: Trading) -> list[Proposed]:
    """Return the gain, ratio and acceptance of all proposals (Strategic Tradeoffs, table 5)."""
    return [
        Proposed(
            turn.proposal.gain(outcome.worths[turn.proposer]) / 100,
            turn.proposal.give_amount / turn.proposal.want_amount,
            turn.partner is not None,
        )
        for turn in outcome.turns
    ]


def surplus_by_turn(outcome: Trading) -> list[float]:
    """Return the sum of all players' gains after each turn, in dollars."""
    return [sum(gains.values()) / 100 for gains in outcome.gains_by_turn()]


def surplus(result: Result) -> float:
    """The sum of all players' gains in dollars."""
    return surplus_by_turn(result.outcome)[-1]


def bound(result: Result) -> float:
    """The maximum sum of all players' gains in dollars at which no player loses."""
    return surplus_bound(result.outcome.worths, result.game.chips)


def surplus_ratio(result: Result) -> float | None:
    """Surplus as a share of its maximum, or None if that is 0 (Strategic Tradeoffs, table 3)."""
    return over_bound(surplus(result), bound(result))


def first_round_ratio(result: Result) -> float | None:
    """The surplus after the first round as a share of its maximum, or None if the maximum is 0."""
    return over_bound(surplus_by_turn(result.outcome)[result.game.players - 1], bound(result))


def over_bound(surplus: float, bound: float) -> float | None:
    """Return a surplus as a share of its bound, or None if the bound is 0."""
    return surplus / bound if bound else None


def acceptance(result: Result) -> float:
    """The share of proposals that led to a trade."""
    return fmean(proposal.accepted for proposal in proposed(result.outcome))


def accepted_surplus(result: Result) -> float | None:
    """The proposers' mean gain from proposals that led to a trade; None without a trade."""
    return _mean(proposal.surplus for proposal in proposed(result.outcome) if proposal.accepted)


def rejected_surplus(result: Result) -> float | None:
    """The proposers' mean intended gain from rejected proposals; None without a rejection."""
    return _mean(proposal.surplus for proposal in proposed(result.outcome) if not proposal.accepted)


def accepted_ratio(result: Result) -> float | None:
    """The mean ratio of given to requested chips in accepted proposals; None if there are none."""
    return _mean(proposal.ratio for proposal in proposed(result.outcome) if proposal.accepted)


def rejected_ratio(result: Result) -> float | None:
    """The mean ratio of given to requested chips in rejected proposals; None if there are none."""
    return _mean(proposal.ratio for proposal in proposed(result.outcome) if not proposal.accepted)


def _mean(numbers: Iterable[float]) -> float | None:
    values = list(numbers)
    return fmean(values) if values else None


def counted(part: Part, regret: Regret) -> Callable[[Result], float]:
    """Return a metric that counts decisions in a given role with a given kind of regret."""

    def count(result: Result) -> float:
        sample = decisions(result.outcome, result.game.chips)
        return float(sum((decision.part, decision.regret) == (part, regret) for decision in sample))

    count.__doc__ = f"The number of decisions in the sample as {part} with {regret} regret."
    return count


REGRETS: dict[Part, tuple[Regret, ...]] = {
    "proposer": ("no", "forced"),
    "acceptor": ("no", "forced", "unforced"),
    "decliner": ("no", "unforced"),
}
KINDS = [(part, regret) for part, regrets in REGRETS.items() for regret in regrets]
"""The combinations of role and regret."""

METRICS = (
    Metric("surplus", surplus, unit="dollars"),
    Metric("bound", bound, unit="dollars"),
    Metric("surplus_ratio", surplus_ratio, unit="share of the bound"),
    Metric("first_round_ratio", first_round_ratio, unit="share of the bound"),
    Metric("acceptance", acceptance, unit="share of proposals", bounds=SHARE),
    Metric("accepted_surplus", accepted_surplus, unit="dollars a proposal"),
    Metric("rejected_surplus", rejected_surplus, unit="dollars a proposal"),
    Metric("accepted_ratio", accepted_ratio, unit="chips given a chip wanted"),
    Metric("rejected_ratio", rejected_ratio, unit="chips given a chip wanted"),
    *(
        Metric(f"{part}_{regret}_regret", counted(part, regret), unit="decisions", bounds=COUNT)
        for part, regret in KINDS
    ),
)


def gain_by_turn(result: Result) -> Iterator[Point]:
    """The gain of each player after the turn, and the sum of all gains, in dollars.

    Figures 4 and 10 show these gains plus the initial value of the chips.
    """
    outcome: Trading = result.outcome
    for number, cents in enumerate(outcome.gains_by_turn(), 1):
        yield Point(number, None, sum(cents.values()) / 100)
        for player, gained in cents.items():
            yield Point(number, player, gained / 100)


def surplus_ratio_by_turn(result: Result) -> Iterator[Point]:
    """Gains as shares of the maximum surplus; None if that is 0 (Strategic Tradeoffs, figure 2)."""
    maximum = bound(result)
    for number, player, dollars in gain_by_turn(result):
        yield Point(number, player, over_bound(dollars or 0.0, maximum))


def proposal_surplus(result: Result) -> Iterator[Point]:
    """The proposer's potential gain in dollars (Strategic Tradeoffs, table 5, figure 3)."""
    return _of_proposer(result, lambda proposal: proposal.surplus)


def proposal_ratio(result: Result) -> Iterator[Point]:
    """Chips given per chip requested (Strategic Tradeoffs, table 5, figure 3)."""
    return _of_proposer(result, lambda proposal: proposal.ratio)


def accepted_by_turn(result: Result) -> Iterator[Point]:
    """1 if the proposal leads to a trade, else 0."""
    return _of_proposer(result, lambda proposal: float(proposal.accepted))


def _of_proposer(result: Result, value: Callable[[Proposed], float]) -> Iterator[Point]:
    outcome: Trading = result.outcome
    rows = zip(outcome.turns, proposed(outcome), strict=True)
    return (
        Point(number, turn.proposer, value(proposal))
        for number, (turn, proposal) in enumerate(rows, 1)
    )


SERIES = (
    Series("cumulative_gain", gain_by_turn, unit="dollars"),
    Series("surplus_ratio", surplus_ratio_by_turn, unit="share of the bound"),
    Series("proposal_surplus", proposal_surplus, unit="dollars"),
    Series("proposal_ratio", proposal_ratio, unit="chips given a chip wanted", bounds=COUNT),
    Series("accepted", accepted_by_turn, unit="share of proposals", bounds=SHARE),
)
