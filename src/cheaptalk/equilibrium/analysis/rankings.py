"""Comparison of common ratings with regret at equilibrium."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium.empirical.ratings import Tally, bradley_terry, mean_elo, tally
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.rankings import alpha_rank, nash_average
from cheaptalk.equilibrium.solvers.replicator import replicator_dynamics
from cheaptalk.rules.errors import WrongValue

STARTS = 500
"""The number of initial populations for imitation."""
INTENSITY = 100
"""The selection intensity of alpha-rank, in 1 / spread of the payoffs."""
SAME = 1e-6
"""Ratings tie if they differ by at most this share of their spread."""


class RatingKind(NamedTuple):
    """A method that rates all strategies of a game by a function whose higher values are better."""

    name: str
    about: str
    meaning: str
    decimals: int
    rate: "Callable[[_Game], Floats]"


class Rating(NamedTuple):
    """The ratings of all strategies by one method.

    Attributes:
        values: the rating of each strategy; higher is better.
        disagreements: pairs of strategies of which the first has the better rating but the larger
            regret, by decreasing difference in rating.
    """

    kind: RatingKind
    values: tuple[float, ...]
    disagreements: tuple[tuple[str, str], ...]

    @property
    def top(self) -> tuple[int, ...]:
        """Return the strategies with the highest rating; several if they tie."""
        threshold = max(self.values) - SAME * float(np.ptp(self.values))
        return tuple(index for index, value in enumerate(self.values) if value >= threshold)


@dataclass(frozen=True)
class Rankings:
    """The ratings of a game's strategies by several methods.

    Attributes:
        absent: the reason for each missing rating, by name.
    """

    ratings: tuple[Rating, ...]
    absent: Mapping[str, str]
    pairs: int


class _Game(NamedTuple):
    """The data from which ratings are computed."""

    payoffs: Floats
    labels: tuple[str, ...]
    matches: pl.DataFrame | None
    seed: int

    @property
    def won(self) -> Tally:
        if self.matches is None:
            raise WrongValue("this rating requires wins and ties, but no matches were given")
        return tally(self.matches, self.labels)


def rankings(
    payoffs: Floats,
    labels: Sequence[str],
    regrets: Sequence[float],
    matches: pl.DataFrame | None = None,
    *,
    seed: int = 0,
) -> Rankings:
    """Rate strategies by alpha-rank, Nash averaging, imitation, Bradley-Terry and Elo.

    Args:
        payoffs: the payoff of each strategy against each, shape (n, n).
        regrets: the strategies' regrets at equilibrium, >= 0.
        matches: the matches, as :func:`.read_matches` returns them, for ratings by wins.
        seed: the seed of the initial populations for imitation and of the orders for Elo.
    """
    game = _Game(payoffs, tuple(labels), matches, seed)
    ratings, absent = [], {}
    for kind in RATINGS:
        try:
            values = kind.rate(game)
        except (ValueError, EquilibriumError) as error:
            absent[kind.name] = str(error)
            continue
        against = _against(game.labels, values, np.asarray(regrets))
        ratings.append(Rating(kind, tuple(values.tolist()), against))
    return Rankings(tuple(ratings), absent, len(labels) * (len(labels) - 1) // 2)


def _against(
    labels: tuple[str, ...], values: Floats, regrets: Floats
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of strategies that a rating orders differently than regret does."""
    near, close = SAME * np.ptp(values), SAME * np.ptp(regrets)
    reversals = []
    for pair in combinations(range(len(labels)), 2):
        ahead, behind = sorted(pair, key=lambda index: -values[index])
        if values[ahead] - values[behind] > near and regrets[ahead] - regrets[behind] > close:
            reversals.append((values[ahead] - values[behind], labels[ahead], labels[behind]))
    reversals.sort(key=lambda reversal: -reversal[0])
    return tuple((ahead, behind) for _, ahead, behind in reversals)


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
        "The share of time in which a finite population plays the strategy, if mutations are rare "
        "and selection is strong (Omidshafiei et al. 2019). It depends only on the payoffs of two "
        "strategies against each other, not on self-play payoffs.",
        3,
        lambda game: alpha_rank(game.payoffs, alpha=INTENSITY / (np.ptp(game.payoffs) or 1.0)),
    ),
    RatingKind(
        "Nash averaging",
        "net payoff",
        "Its own payoff minus its rival's payoff against the equilibrium of the game of payoff "
        "differences. Copies of a strategy change no rating (Balduzzi et al. 2018). It measures "
        "who wins, not who earns much.",
        2,
        lambda game: nash_average(game.payoffs).ratings,
    ),
    RatingKind(
        "Imitation",
        "mean share",
        "Its final share of a population in which successful strategies spread (replicator "
        "dynamics, Taylor and Jonker 1978), averaged over 500 random starts. If there are several "
        "equilibria, it shows how often each is reached.",
        3,
        _imitation,
    ),
    RatingKind(
        "Bradley-Terry",
        "on Elo's scale",
        "Its maximum-likelihood strength from wins: 400 points are odds of ten to one, and ties "
        "count as in Davidson (1970). The seat with the higher payoff wins a match, so the size of "
        "the payoffs does not matter.",
        0,
        _bradley_terry,
    ),
    RatingKind(
        "Elo",
        "mean over orders",
        "Its rating after all matches, from an initial 1500 with a K-factor of 32, averaged over "
        "100 random orders (Elo 1978). Like Bradley-Terry, it uses only wins and ties.",
        0,
        lambda game: mean_elo(game.won, seed=game.seed),
    ),
)
"""The ratings, in the order in which they are shown."""
