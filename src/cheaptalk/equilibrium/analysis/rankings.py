"""The ratings people know, beside regret at equilibrium: who is first, and where they differ."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium.empirical.ratings import Tally, bradley_terry, mean_elo, tally
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.rankings import alpha_sweep, nash_average
from cheaptalk.equilibrium.solvers.replicator import replicator_dynamics

STARTS = 500
"""Populations from which imitation begins."""
INTENSITIES = np.geomspace(0.1, 100, 31)
"""Of selection in alpha-rank, over the spread of the payoffs."""
SAME = 1e-6
"""Ratings tie if they differ by no more than this share of their spread."""


class RatingKind(NamedTuple):
    """A way to rate strategies.

    Attributes:
        name: as people call it.
        about: what the number is, or its unit, in a few words.
        meaning: what it means, in a sentence or two.
        places: decimals to show.
        rate: rates all strategies of a game; the higher, the better.
    """

    name: str
    about: str
    meaning: str
    places: int
    rate: "Callable[[_Game], Floats]"


class Rating(NamedTuple):
    """What one rating says of all strategies.

    Attributes:
        kind: of rating.
        values: of each strategy; the higher, the better.
        against: pairs of strategies, the first the better one by this rating and the worse one by
            regret, those furthest apart by this rating first.
    """

    kind: RatingKind
    values: tuple[float, ...]
    against: tuple[tuple[str, str], ...]

    @property
    def first(self) -> tuple[int, ...]:
        """Which strategies are rated the highest; several where they tie."""
        least = max(self.values) - SAME * float(np.ptp(self.values))
        return tuple(at for at, value in enumerate(self.values) if value >= least)


@dataclass(frozen=True)
class Rankings:
    """How the ratings people know would rank the strategies of a game.

    Attributes:
        ratings: those that could be made.
        absent: why each other one could not be, by its name.
        pairs: how many pairs of strategies there are.
    """

    ratings: tuple[Rating, ...]
    absent: Mapping[str, str]
    pairs: int


class _Game(NamedTuple):
    """What ratings are made of."""

    payoffs: Floats
    labels: tuple[str, ...]
    matches: pl.DataFrame | None
    seed: int

    @property
    def won(self) -> Tally:
        if self.matches is None:
            raise ValueError("it needs wins and ties, and payoffs were given without matches")
        return tally(self.matches, self.labels)


def rankings(
    payoffs: Floats,
    labels: Sequence[str],
    regrets: Sequence[float],
    matches: pl.DataFrame | None = None,
    *,
    seed: int = 0,
) -> Rankings:
    """Alpha-rank, Nash averaging, imitation, Bradley-Terry and Elo, beside regret.

    Args:
        payoffs: what each strategy gets against each, shape (n, n).
        labels: of the strategies.
        regrets: of the strategies at equilibrium, >= 0.
        matches: behind the payoffs, as :func:`.match_frames` makes them; None where there are none.
        seed: of the populations from which imitation begins, and of the orders for Elo.
    """
    game = _Game(payoffs, tuple(labels), matches, seed)
    made, absent = [], {}
    for kind in RATINGS:
        try:
            values = kind.rate(game)
        except (ValueError, EquilibriumError) as error:
            absent[kind.name] = str(error)
            continue
        against = _against(game.labels, values, np.asarray(regrets))
        made.append(Rating(kind, tuple(values.tolist()), against))
    return Rankings(tuple(made), absent, len(labels) * (len(labels) - 1) // 2)


def _against(
    labels: tuple[str, ...], values: Floats, regrets: Floats
) -> tuple[tuple[str, str], ...]:
    """Pairs that a rating orders the other way round than regret does; ties are no order."""
    near, close = SAME * np.ptp(values), SAME * np.ptp(regrets)
    found = []
    for pair in combinations(range(len(labels)), 2):
        better, worse = sorted(pair, key=lambda one: -values[one])
        if values[better] - values[worse] > near and regrets[better] - regrets[worse] > close:
            found.append((values[better] - values[worse], labels[better], labels[worse]))
    found.sort(key=lambda one: -one[0])
    return tuple((better, worse) for _, better, worse in found)


def _alpha_rank(game: _Game) -> Floats:
    spread = np.ptp(game.payoffs) or 1.0
    return np.asarray(alpha_sweep(game.payoffs, alphas=INTENSITIES / spread).masses[-1])


def _imitation(game: _Game) -> Floats:
    size = len(game.labels)
    starts = np.random.default_rng(game.seed).dirichlet(np.ones(size), STARTS)
    return np.asarray(replicator_dynamics(game.payoffs, starts).ends.mean(axis=0))


def _bradley_terry(game: _Game) -> Floats:
    won = game.won
    return bradley_terry(won.wins, won.ties, names=won.names).elo


RATINGS = (
    RatingKind(
        "Alpha-rank",
        "share of time",
        "How much of the time a finite population holds the strategy, if rare mutants take over "
        "the more often the more they gain, under strong selection (Omidshafiei et al. 2019). Only "
        "what two strategies get against each other counts, not what each gets against its like.",
        3,
        _alpha_rank,
    ),
    RatingKind(
        "Nash averaging",
        "net payoff",
        "What it nets, that is what it gets less what its rival gets, against the equilibrium of "
        "who outscores whom; copies of a strategy change no rating (Balduzzi et al. 2018). It "
        "rates who wins, not who does well.",
        2,
        lambda game: nash_average(game.payoffs).ratings,
    ),
    RatingKind(
        "Imitation",
        "mean share",
        "Its share, in the end and on the mean of 500 random beginnings, of a population in which "
        "what does well spreads (replicator dynamics, Taylor and Jonker 1978). Where there are "
        "several equilibria, it says how much leads to each.",
        3,
        _imitation,
    ),
    RatingKind(
        "Bradley-Terry",
        "on Elo's scale",
        "Its strength in the likeliest account of who won: 400 points are odds of ten to one, "
        "and ties count as in Davidson (1970). A match is won by the seat with the higher payoff, "
        "so it does not matter how much either gets.",
        0,
        _bradley_terry,
    ),
    RatingKind(
        "Elo",
        "mean over orders",
        "What it is rated after all matches, beginning at 1500 with 32 points at stake in each, on "
        "the mean of 100 random orders (Elo 1978). It knows wins and ties alone, as Bradley-Terry.",
        0,
        lambda game: mean_elo(game.won, seed=game.seed),
    ),
)
"""The ratings, in the order in which they are shown."""
