"""Elo and Bradley-Terry ratings of players, computed from wins, ties and losses."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.solvers.payoffs import (
    EquilibriumError,
    Floats,
    Integers,
    as_numbers,
    payoffs_printout,
)
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import WrongValue, counted
from cheaptalk.rules.display import brief
from cheaptalk.statistics.columns import Frame, as_polars

EVEN = 1e-9
"""Payoffs tie if they differ by at most this share of the larger."""
FIT = 1e-9
"""The maximum difference between expected and observed scores of a fit, as a share of all games."""
MOST_STEPS = 200
"""The maximum number of Newton steps."""
ELO_A_UNIT = 400 / np.log(10)
"""The Elo points per unit of log-strength; 400 points are odds of ten to one."""


class Tally(NamedTuple):
    """The wins and ties of all pairs of players.

    Attributes:
        wins: ``wins[i, j]`` is the number of wins of i over j, shape (n, n).
        ties: the numbers of ties, symmetric, shape (n, n).
        first, second: the numbers of the two players of each match, shape (matches,).
        scores: the first player's score in each match: 1 for a win, 1/2 for a tie, 0 for a loss.
    """

    names: tuple[str, ...]
    wins: Floats
    ties: Floats
    first: Integers
    second: Integers
    scores: Floats

    def __repr__(self) -> str:
        return brief(self, f"{counted(len(self.scores), 'match')} of {', '.join(self.names)}")

    def _repr_html_(self) -> str:
        title = f"Wins and ties in {counted(len(self.scores), 'match')}"
        return payoffs_printout(title, self.names, self.names, self.wins, self.ties).html()


def tally(frame: Frame, names: Sequence[str] = ()) -> Tally:
    """Count wins and ties by payoff: the seat with the higher payoff wins.

    Payoffs are compared in the game's unit, regardless of the payoffs that each seat could attain.
    If seats differ, their chances are equal only over both orders. Payoffs that differ by at most
    1e-9 of the larger tie. Only finished matches that aren't excluded count; self-play is ignored.

    Args:
        frame: the matches of a game with two seats, as :func:`.read_matches` returns them.
        names: the players to count, in this order; all by default.

    Raises:
        WrongValue: the frame doesn't have exactly two seats.
    """
    frame = as_polars(frame)
    seats = places_in(frame)
    if len(seats) != 2:
        raise WrongValue(f"Wins are counted in matches of 2 players, not of {len(seats)}")
    players, payoffs = (
        [pl.col(f"{kind}_{seat}") for seat in seats] for kind in ("player", "payoff")
    )
    scored = frame.filter(SCORED, players[0] != players[1]).drop_nulls(
        [f"payoff_{seat}" for seat in seats]
    )
    met = scored.select(
        expression.alias(f"{column}") for column, expression in enumerate((*players, *payoffs))
    )
    labels = tuple(names) or tuple(sorted({*met["0"], *met["1"]}))
    met = met.filter(pl.col("0").is_in(labels), pl.col("1").is_in(labels))
    first, second = (
        met[column].replace_strict(labels, range(len(labels)), return_dtype=pl.Int64).to_numpy()
        for column in ("0", "1")
    )
    row_payoff, column_payoff = met["2"].to_numpy(), met["3"].to_numpy()
    size = np.maximum(np.abs(row_payoff), np.abs(column_payoff))
    even = np.abs(row_payoff - column_payoff) <= EVEN * size
    scores = np.where(even, 0.5, np.where(row_payoff > column_payoff, 1.0, 0.0))
    wins, ties = np.zeros((2, len(labels), len(labels)))
    np.add.at(wins, (first, second), scores == 1)
    np.add.at(wins, (second, first), scores == 0)
    np.add.at(ties, (first, second), even)
    return Tally(labels, wins, ties + ties.T, first, second, scores)


def elo(
    games: Iterable[tuple[int, int, float]], players: int, *, k: float = 32.0, start: float = 1500.0
) -> Floats:
    """Return Elo ratings after a sequence of games, updated game by game.

    A player rated R against R' is expected to score 1 / (1 + 10 ** ((R' - R) / 400)), and gains k
    times the score minus this expectation; the rival loses as much (Elo 1978, The Rating of
    Chessplayers). The order of games matters, and ratings don't converge: for players of constant
    strength they fluctuate around those of :attr:`BradleyTerry.elo`, more so for larger k.

    Args:
        games: (player, rival, score) in the order played, with a score of 1 for a win, 1/2 for a
            tie, 0 for a loss.
        players: the number of players, who are numbered from 0.
        k: the maximum change of a rating in a game.

    Raises:
        WrongValue: a player is unknown or meets itself, or a score is outside [0, 1].

    >>> elo([(0, 1, 1.0)], 2)
    array([1516., 1484.])
    """
    ratings = np.full(players, start, dtype=np.float64)
    for player, rival, score in games:
        if not (0 <= player < players and 0 <= rival < players) or player == rival:
            raise WrongValue(f"game {(player, rival, score)} is not between two of the players")
        if not 0 <= score <= 1:
            raise WrongValue(f"game {(player, rival, score)}: the score must be from 0 to 1")
        _exchange(ratings, player, rival, score, k)
    return ratings


def _exchange(ratings: Floats, player: Any, rival: Any, score: Any, k: float) -> None:
    """Move points from the rival, or in each of several orders, to the player after a game."""
    expected = 1 / (1 + 10 ** ((ratings[rival] - ratings[player]) / 400))
    ratings[player] += k * (score - expected)
    ratings[rival] -= k * (score - expected)


def mean_elo(
    tally: Tally, *, orders: int = 100, k: float = 32.0, start: float = 1500.0, seed: int = 0
) -> Floats:
    """Return Elo ratings after all matches, averaged over random orders.

    Elo ratings depend on the order of matches (see :func:`.elo`), which is irrelevant if players
    don't learn. Averaging removes this dependence.

    Args:
        orders: the number of orders, >= 1.
        k: the maximum change of a rating in a match.

    Returns:
        The ratings, shape (n,), with mean ``start``.

    Raises:
        WrongValue: ``orders`` is less than 1.
    """
    if orders < 1:
        raise WrongValue(f"orders must be at least 1, not {orders}")
    draw = np.random.default_rng(seed)
    matches = np.tile(np.arange(len(tally.scores)), (orders, 1))
    ratings, order = np.full((len(tally.names), orders), start), np.arange(orders)
    for match in draw.permuted(matches, axis=1).T:
        player, rival = (tally.first[match], order), (tally.second[match], order)
        _exchange(ratings, player, rival, tally.scores[match], k)
    return np.asarray(ratings.mean(axis=1))


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BradleyTerry(Printed):
    """The players' strengths in a Bradley-Terry model, fitted to wins and ties.

    Attributes:
        strengths: the log-strengths, shape (n,), with mean 0. Without ties, i beats j with
            probability 1 / (1 + exp(s_j - s_i)).
        tie: the log of Davidson's tie parameter; minus infinity if there were no ties or ties count
            as halves.
        misfit: the largest difference between a player's expected and observed score, in games.
    """

    names: tuple[str, ...]
    strengths: Floats
    tie: float
    misfit: float

    @property
    def elo(self) -> Floats:
        """Return the strengths on Elo's scale, with mean 1500."""
        return np.asarray(1500 + ELO_A_UNIT * self.strengths, dtype=np.float64)

    def printout(self) -> Printout:
        order = np.argsort(-self.strengths, kind="stable").tolist()
        rows = [(self.names[index], self.elo[index], self.strengths[index]) for index in order]
        return Printout("Bradley-Terry ratings", ["player", "Elo", "log-strength"], rows)

    def __str__(self) -> str:
        order = np.argsort(-self.strengths, kind="stable")
        return "\n".join(f"{self.names[index]}: {self.elo[index]:.0f}" for index in order)


def bradley_terry(
    wins: ArrayLike,
    ties: ArrayLike | None = None,
    *,
    names: Sequence[str] = (),
    ties_as_halves: bool = False,
) -> BradleyTerry:
    """Fit maximum-likelihood strengths of players who met in pairs.

    With strengths p_i = exp(s_i), i beats j with probability p_i / D and they tie with probability
    v sqrt(p_i p_j) / D, where D = p_i + p_j + v sqrt(p_i p_j) (Davidson 1970, On Extending the
    Bradley-Terry Model to Accommodate Ties, JASA 65); without ties v is 0, and the model is that of
    Bradley and Terry (1952). With ``ties_as_halves``, a tie is half a win for both, as in Elo
    ratings.

    The fit uses Newton's method with step halving. It ends when all expected scores and the
    expected number of ties are within 1e-9 of all games. It exists only if no group of players won
    all its games against all others (Ford 1957).

    Args:
        wins: ``wins[i, j]`` is the number of wins of i over j, shape (n, n).
        ties: the numbers of ties, symmetric, shape (n, n).

    Raises:
        WrongValue: the counts are invalid, or some players never met, always won or always lost;
            the message names them.
        EquilibriumError: the fit did not converge.

    >>> print(bradley_terry([[0, 10], [1, 0]], names=["a", "b"]))
    a: 1700
    b: 1300
    """
    won, tied = _counts(wins, ties)
    named = tuple(names) or tuple(map(str, range(len(won))))
    if len(named) != len(won):
        raise WrongValue(f"names must be as many as players, {len(won)}, not {len(named)}")
    if ties_as_halves:
        won, tied = won + tied / 2, np.zeros_like(tied)
    if tied.any() and not won.any():
        raise WrongValue(
            "all games are ties, so no finite tie parameter exists; set ties_as_halves=True"
        )
    _check_connected(won + tied, named)
    fitted = _fit(won, tied)
    misfit = float(np.abs(_gradient(fitted, won, tied)).max())
    tie = float(fitted[-1]) if tied.any() else -np.inf
    return BradleyTerry(named, fitted[:-1] - fitted[:-1].mean(), tie, misfit)


def _counts(wins: ArrayLike, ties: ArrayLike | None) -> tuple[Floats, Floats]:
    won = as_numbers(wins, "wins")
    tied = np.zeros_like(won) if ties is None else as_numbers(ties, "ties")
    if won.ndim != 2 or won.shape[0] != won.shape[1] or len(won) < 2 or tied.shape != won.shape:
        raise WrongValue(
            "wins and ties must be square matrices of the same size, for at least two players, "
            f"not of shapes {won.shape} and {tied.shape}"
        )
    for counts in (won, tied):
        if not (np.isfinite(counts).all() and (counts >= 0).all() and not counts.diagonal().any()):
            raise WrongValue("wins and ties must be counts >= 0, with zeros on the diagonal")
    if not np.array_equal(tied, tied.T):
        raise WrongValue("ties must be symmetric: i tied j as often as j tied i")
    return won, tied


def _check_connected(beat_or_tied: Floats, names: tuple[str, ...]) -> None:
    for connection, problem in (
        ("weak", "never met, directly or through others"),
        ("strong", "have results in one direction only, so no finite strengths fit"),
    ):
        groups, group_of = connected_components(beat_or_tied > 0, connection=connection)
        if groups > 1:
            size = np.bincount(group_of)
            smallest = [
                name for name, group in zip(names, group_of, strict=True) if group == size.argmin()
            ]
            others_in_game = [name for name in names if name not in smallest]
            raise WrongValue(
                f"{', '.join(smallest)} and {', '.join(others_in_game)} {problem}; "
                "play more matches between them, or rate them separately"
            )


def _gradient(parameters: Floats, won: Floats, tied: Floats) -> Floats:
    """Return the gradient of the log-likelihood: observed minus expected scores and ties."""
    win, tie = _chances(parameters, bool(tied.any()))
    games = won + won.T + tied
    score = (won + tied / 2 - games * (win + tie / 2)).sum(axis=1)
    ties = np.triu(tied - games * tie, 1).sum()
    return np.append(score, ties)


def _chances(parameters: Floats, with_ties: bool) -> tuple[Floats, Floats]:
    """Return the probabilities that i beats j and that i and j tie, each of shape (n, n)."""
    gap = parameters[:-1, None] - parameters[None, :-1]
    log_tie = parameters[-1] if with_ties else -np.inf
    logs = np.stack([gap / 2, -gap / 2, np.full_like(gap, log_tie)])
    chances = np.exp(logs - logs.max(axis=0))
    chances /= chances.sum(axis=0)
    return chances[0], chances[2]


def _curvature(parameters: Floats, games: Floats, with_ties: bool) -> Floats:
    """Return the negative Hessian of the log-likelihood, with the sum of strengths fixed."""
    win, tie = _chances(parameters, with_ties)
    lose = win.T
    spread = games * (win + lose - (win - lose) ** 2) / 4
    np.fill_diagonal(spread, 0)
    size = len(games)
    curvature = np.zeros((size + 1, size + 1))
    curvature[:size, :size] = np.diag(spread.sum(axis=1)) - spread + 1 / size
    if with_ties:
        mixed = -games * tie * (win - lose) / 2
        np.fill_diagonal(mixed, 0)
        curvature[:size, size] = curvature[size, :size] = mixed.sum(axis=1)
        curvature[size, size] = np.triu(games * tie * (1 - tie), 1).sum()
    else:
        curvature[size, size] = 1
    return curvature


def _likelihood(parameters: Floats, won: Floats, tied: Floats) -> float:
    gap = parameters[:-1, None] - parameters[None, :-1]
    terms = [gap / 2, -gap / 2] + ([np.full_like(gap, parameters[-1])] if tied.any() else [])
    total = np.logaddexp.reduce(terms, axis=0)
    pairs, ties = np.triu(won + won.T + tied, 1), np.triu(tied, 1)
    return float((won * gap / 2).sum() + ties.sum() * parameters[-1] - (pairs * total).sum())


def _fit(won: Floats, tied: Floats) -> Floats:
    games, with_ties = won + won.T + tied, bool(tied.any())
    allowed = FIT * games.sum() / 2
    parameters = np.zeros(len(won) + 1)
    for _ in range(MOST_STEPS):
        gradient = _gradient(parameters, won, tied)
        if np.abs(gradient).max() <= allowed:
            return parameters
        step = np.linalg.solve(_curvature(parameters, games, with_ties), gradient)
        before = _likelihood(parameters, won, tied)
        while _likelihood(parameters + step, won, tied) < before - 1e-12 * abs(before):
            step /= 2
        parameters = parameters + step
    raise EquilibriumError(
        f"the strengths did not converge within {MOST_STEPS} steps; play more matches"
    )
