"""How fast Bayesian traders play chip trading, and how near they come to the published ones.

Published figures are of Strategic Tradeoffs (tables 3 and 5); the surplus ratios are compared with
those of the recipe that fits them best, independent beliefs learnt from answers, since theirs are
known to more digits.
"""

import statistics
import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bench.rows import Row
from cheaptalk.games.chip_trading.events import Trading
from cheaptalk.games.chip_trading.metrics import Proposed, proposed, surplus_bound, surplus_by_turn
from cheaptalk.games.chip_trading.rules import ChipTrading
from cheaptalk.games.chip_trading.strategies import bayesian
from cheaptalk.rules import Chance, play

Floats = npt.NDArray[np.float64]
COLOURS = ("green", "red", "blue", "purple")
CHIPS = 10
GAMES = 400
"""Games whose surplus is compared."""
MANY = 2_400
"""Games whose proposals are compared: medians of few differ from sample to sample."""
RATIOS = {2: 0.770, 3: 0.786, 4: 0.738}
"""Mean surplus over its bound, by the number of colours."""
BOUNDS = {2: 6.53, 3: 13.88, 4: 21.57}
"""The mean bound, in dollars."""
TABLE_5 = {
    (2, True): (2.245, 1.252, 0.867, 0.315, 2.3, 0.9),
    (2, False): (2.058, 1.904, 0.636, 0.372, 1.5, 0.526),
    (3, True): (3.173, 1.853, 0.944, 0.274, 3.2, 0.9),
    (3, False): (3.385, 2.725, 0.783, 0.355, 2.8, 0.7),
    (4, True): (3.536, 1.793, 0.965, 0.251, 3.4, 0.9),
    (4, False): (4.251, 2.824, 0.738, 0.303, 3.5, 0.7),
}
"""By colours and whether a proposal was accepted: mean and deviation of its gain to the proposer,
in dollars, of chips given a chip wanted, and the medians of both."""
SAMPLE = 48
"""Games behind each published figure."""


def played(colours: int, games: int) -> list[Trading]:
    """Games among three Bayesian players."""
    game = ChipTrading(colours=COLOURS[:colours], chips=CHIPS)
    players = {"player": bayesian.with_settings()}
    outcomes = []
    for number in range(games):
        seed = f"bench/{number}"
        outcome = play(game, game.draw_instance(Chance(seed)), seed, players).outcome
        assert isinstance(outcome, Trading)
        outcomes.append(outcome)
    return outcomes


def distance(found: Sequence[float], expected: float) -> tuple[float, str]:
    """How many standard errors a mean lies from a figure, and both in words."""
    error = statistics.stdev(found) / len(found) ** 0.5
    mean = statistics.fmean(found)
    return abs(mean - expected) / error, f"{mean:.3f} ± {error:.3f} against {expected}"


def summary(games: Sequence[list[Proposed]], accepted: bool) -> Floats:
    """The six statistics of a line of table 5."""
    found = [(one.surplus, one.ratio) for game in games for one in game if one.accepted == accepted]
    gains, ratios = np.array(found).T
    return np.array([gains.mean(), gains.std(ddof=1), ratios.mean(), ratios.std(ddof=1),
                     np.median(gains), np.median(ratios)])  # fmt: skip


def distances(games: Sequence[list[Proposed]], colours: int, accepted: bool) -> list[float]:
    """How many standard errors of the published sample, bootstrapped, a line of table 5 is off."""
    chosen = np.random.default_rng(colours).integers(0, len(games), (200, SAMPLE))
    again = [summary([games[place] for place in places], accepted) for places in chosen]
    off = summary(games, accepted) - np.array(TABLE_5[colours, accepted])
    return [float(one) for one in np.abs(off) / (np.std(again, axis=0) + 1e-9)]


def rows() -> Iterator[Row]:
    """The time of a game, then the Bayesian players against the published ones."""
    started = time.perf_counter()
    outcomes = {4: played(4, MANY)}
    seconds = (time.perf_counter() - started) / MANY
    yield Row("chip_trading, 4 colours, three Bayesian players, a game", seconds, "s",
              ("<=", 0.3), f"the mean of {MANY:,}, on one core")  # fmt: skip
    outcomes |= {colours: played(colours, MANY) for colours in (3, 2)}
    off: list[float] = []
    for colours, found in sorted(outcomes.items()):
        some = found[:GAMES]
        bounds = [surplus_bound(one.worths, CHIPS) for one in some]
        pairs = [(surplus_by_turn(one)[-1], most) for one, most in zip(some, bounds, strict=True)]
        ratios = [surplus / most for surplus, most in pairs if most]
        for what, figures, expected in (
            ("bound", bounds, BOUNDS), ("Bayesian players' surplus over its bound", ratios, RATIOS)
        ):  # fmt: skip
            value, note = distance(figures, expected[colours])
            yield Row(f"chip_trading, {colours} colours: {what}", value, "standard errors off",
                      ("<=", 3), f"{note}; {GAMES} games")  # fmt: skip
        proposals = [proposed(one) for one in found]
        for accepted in (True, False):
            off.extend(distances(proposals, colours, accepted))
    near = sum(one <= 2.3 for one in off)
    yield Row("chip_trading, proposals of Bayesian players against table 5, the farthest figure",
              max(off), "standard errors off", ("<=", 3.2),
              f"{MANY:,} games; {near} of {len(off)} within 2.3 for {SAMPLE}")  # fmt: skip
