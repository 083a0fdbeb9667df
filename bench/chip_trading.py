"""Speed of the Bayesian players of chip trading, and their deviation from published results.

The published figures are from tables 3 and 5 of Strategic Tradeoffs. The surplus ratios are
compared with those of the recipe that fits the paper best (independent beliefs learned from
answers), because the recipe's ratios are known to more digits.
"""

import statistics
import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bench.rows import Row
from cheaptalk.games.chip_trading.metrics import Proposed, proposed, surplus_bound, surplus_by_turn
from cheaptalk.games.chip_trading.rules import ChipTrading, Trading
from cheaptalk.games.chip_trading.strategies import bayesian
from cheaptalk.rules import Chance, play

Floats = npt.NDArray[np.float64]
COLOURS = ("green", "red", "blue", "purple")
CHIPS = 10
GAMES = 400
"""Number of games per colour count for the surplus comparison."""
MANY = 2_400
"""Number of games for the proposal comparison; medians of small samples vary too much."""
RATIOS = {2: 0.770, 3: 0.786, 4: 0.738}
"""Mean ratio of surplus to its upper bound, by number of colours."""
BOUNDS = {2: 6.53, 3: 13.88, 4: 21.57}
"""Mean upper bound of the surplus in dollars, by number of colours."""
TABLE_5 = {
    (2, True): (2.245, 1.252, 0.867, 0.315, 2.3, 0.9),
    (2, False): (2.058, 1.904, 0.636, 0.372, 1.5, 0.526),
    (3, True): (3.173, 1.853, 0.944, 0.274, 3.2, 0.9),
    (3, False): (3.385, 2.725, 0.783, 0.355, 2.8, 0.7),
    (4, True): (3.536, 1.793, 0.965, 0.251, 3.4, 0.9),
    (4, False): (4.251, 2.824, 0.738, 0.303, 3.5, 0.7),
}
"""Table 5, by number of colours and acceptance of a proposal.

The figures are the mean and standard deviation of the proposer's gain in dollars, the mean and
standard deviation of the ratio of chips offered to chips requested, and the two medians.
"""
SAMPLE = 48
"""Number of games in the paper's sample."""


def played(colours: int, games: int) -> list[Trading]:
    """Play games of three Bayesian players, and return their outcomes."""
    game = ChipTrading(colours=COLOURS[:colours], chips=CHIPS)
    players = {"player": bayesian.with_settings()}
    outcomes = []
    for number in range(games):
        seed = f"bench/{number}"
        outcome = play(game, game.draw_instance(Chance(seed)), seed, players).outcome
        assert isinstance(outcome, Trading)
        outcomes.append(outcome)
    return outcomes


def distance(values: Sequence[float], expected: float) -> tuple[float, str]:
    """Return the distance of a mean from a figure in standard errors, and a description."""
    error = statistics.stdev(values) / len(values) ** 0.5
    mean = statistics.fmean(values)
    return abs(mean - expected) / error, f"{mean:.3f} ± {error:.3f}, published {expected}"


def summary(games: Sequence[list[Proposed]], accepted: bool) -> Floats:
    """Return the six statistics of a row of table 5."""
    pairs = [
        (proposal.surplus, proposal.ratio)
        for game in games
        for proposal in game
        if proposal.accepted == accepted
    ]
    gains, ratios = np.array(pairs).T
    return np.array([gains.mean(), gains.std(ddof=1), ratios.mean(), ratios.std(ddof=1),
                     np.median(gains), np.median(ratios)])  # fmt: skip


def distances(games: Sequence[list[Proposed]], colours: int, accepted: bool) -> list[float]:
    """Return the distances of our statistics from a row of table 5, in standard errors.

    The standard errors are those of the published sample size, by bootstrap.
    """
    chosen = np.random.default_rng(colours).integers(0, len(games), (200, SAMPLE))
    resampled = [summary([games[index] for index in indices], accepted) for indices in chosen]
    deviations = summary(games, accepted) - np.array(TABLE_5[colours, accepted])
    return [float(value) for value in np.abs(deviations) / (np.std(resampled, axis=0) + 1e-9)]


def rows() -> Iterator[Row]:
    """Yield the time per game, then the deviations from the published figures."""
    started = time.perf_counter()
    outcomes = {4: played(4, MANY)}
    seconds = (time.perf_counter() - started) / MANY
    yield Row("chip_trading, 4 colours, three Bayesian players: time per game", seconds, "s",
              ("<=", 0.3), f"mean of {MANY:,} games, one core")  # fmt: skip
    outcomes |= {colours: played(colours, MANY) for colours in (3, 2)}
    deviations: list[float] = []
    for colours, played_games in sorted(outcomes.items()):
        sample = played_games[:GAMES]
        bounds = [surplus_bound(game.worths, CHIPS) for game in sample]
        surpluses = [surplus_by_turn(game)[-1] for game in sample]
        ratios = [
            surplus / bound for surplus, bound in zip(surpluses, bounds, strict=True) if bound
        ]
        for figure, values, expected in (
            ("upper bound of the surplus", bounds, BOUNDS),
            ("Bayesian players' surplus divided by its bound", ratios, RATIOS),
        ):
            value, note = distance(values, expected[colours])
            yield Row(f"chip_trading, {colours} colours: {figure}", value, "standard errors",
                      ("<=", 3), f"{note}; {GAMES} games")  # fmt: skip
        proposals = [proposed(game) for game in played_games]
        for accepted in (True, False):
            deviations.extend(distances(proposals, colours, accepted))
    near = sum(deviation <= 2.3 for deviation in deviations)
    yield Row("chip_trading, Bayesian players' proposals: largest deviation from table 5",
              max(deviations), "standard errors", ("<=", 3.2),
              f"{MANY:,} games; {near} of {len(deviations)} figures within 2.3 "
              f"standard errors of a sample of {SAMPLE}")  # fmt: skip
