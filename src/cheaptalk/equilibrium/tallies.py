"""Matches as wins, ties and losses, all that Elo's and Bradley and Terry's ratings know."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium.cells import SCORED, Integers
from cheaptalk.equilibrium.payoffs import Floats

EVEN = 1e-9
"""Payoffs tie if they differ by no more than this share of the larger."""


class Tally(NamedTuple):
    """Who won how often against whom.

    Attributes:
        names: of the players.
        wins: ``wins[i, j]`` is how often i beat j, shape (n, n).
        ties: how often they tied, symmetric, shape (n, n).
        first, second: who met in each match, by number, shape (matches,).
        scores: of the first: 1 for a win, 1/2 for a tie, 0 for a loss, shape (matches,).
    """

    names: tuple[str, ...]
    wins: Floats
    ties: Floats
    first: Integers
    second: Integers
    scores: Floats


def tally(frame: pl.DataFrame, names: Sequence[str] = ()) -> Tally:
    """Count wins and ties by payoff: a match is won by the seat whose payoff is the higher one.

    Payoffs are taken as they were paid, in the game's unit, without regard to what a seat could
    have got: where seats differ, so do their chances, and only both orders even that out. Payoffs
    that differ by no more than 1e-9 of the larger tie. Only finished matches that were not dropped
    count, each once; matches of a player against itself are left out.

    Args:
        frame: of a game of two places, as :func:`.match_frames` makes it, or rows of it.
        names: of the players to count, in this order; all without.

    Raises:
        ValueError: the frame has not exactly two places.
    """
    places = [name.removeprefix("player.") for name in frame.columns if name.startswith("player.")]
    if len(places) != 2:
        raise ValueError(f"Wins are counted in matches of 2 players, not of {len(places)}")
    players, payoffs = ([pl.col(f"{what}.{place}") for place in places]
                        for what in ("player", "payoff"))  # fmt: skip
    scored = frame.filter(SCORED, players[0] != players[1]).drop_nulls(
        [f"payoff.{place}" for place in places]
    )
    met = scored.select(one.alias(f"{at}") for at, one in enumerate((*players, *payoffs)))
    known = tuple(names) or tuple(sorted({*met["0"], *met["1"]}))
    met = met.filter(pl.col("0").is_in(known), pl.col("1").is_in(known))
    first, second = (
        met[at].replace_strict(known, range(len(known)), return_dtype=pl.Int64).to_numpy()
        for at in ("0", "1")
    )
    gets, other = met["2"].to_numpy(), met["3"].to_numpy()
    even = np.abs(gets - other) <= EVEN * np.maximum(np.abs(gets), np.abs(other))
    scores = np.where(even, 0.5, np.where(gets > other, 1.0, 0.0))
    wins, ties = np.zeros((2, len(known), len(known)))
    np.add.at(wins, (first, second), scores == 1)
    np.add.at(wins, (second, first), scores == 0)
    np.add.at(ties, (first, second), even)
    return Tally(known, wins, ties + ties.T, first, second, scores)


def mean_elo(
    tally: Tally, *, orders: int = 100, k: float = 32.0, start: float = 1500.0, seed: int = 0
) -> Floats:
    """Elo's ratings after all matches, the mean over random orders of these.

    Elo's ratings depend on the order of matches (see :func:`.elo`), which says nothing where
    players do not learn; the mean over orders no longer does.

    Args:
        tally: the matches.
        orders: how many, >= 1.
        k: the most points that change hands in a match.
        start: the rating of each before the first match.
        seed: of the orders.

    Returns:
        Shape (n,), of mean ``start``.

    Raises:
        ValueError: ``orders`` is less than 1.
    """
    if orders < 1:
        raise ValueError(f"Elo's ratings take at least 1 order of the matches, not {orders}")
    draw = np.random.default_rng(seed)
    matches = np.tile(np.arange(len(tally.scores)), (orders, 1))
    ratings, each = np.full((len(tally.names), orders), start), np.arange(orders)
    for at in draw.permuted(matches, axis=1).T:
        player, rival = (tally.first[at], each), (tally.second[at], each)
        expected = 1 / (1 + 10 ** ((ratings[rival] - ratings[player]) / 400))
        change = k * (tally.scores[at] - expected)
        ratings[player] += change
        ratings[rival] -= change
    return np.asarray(ratings.mean(axis=1))
