"""Ratings that people know, from wins, ties and losses: Elo's, and Bradley and Terry's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats, Integers
from cheaptalk.frames.matches import SCORED
from cheaptalk.frames.reader import places_in
from cheaptalk.rules import counted
from cheaptalk.rules.display import Printed, brief

EVEN = 1e-9
"""Payoffs tie if they differ by no more than this share of the larger."""
FIT = 1e-9
"""The fit is done when expected and observed scores differ by no more, as a share of all games."""
MOST_STEPS = 200
"""How many of Newton's steps the fit may take."""
ELO_A_UNIT = 400 / np.log(10)
"""Elo points of one unit of log-strength: 400 points are odds of ten to one."""


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

    def __repr__(self) -> str:
        return brief(self, f"{counted(len(self.scores), 'match')} of {', '.join(self.names)}")


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
    places = places_in(frame)
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


def elo(
    games: Iterable[tuple[int, int, float]], players: int, *, k: float = 32.0, start: float = 1500.0
) -> Floats:
    """Elo's ratings after a sequence of games, updated game by game.

    A player rated R against R' is expected to score 1 / (1 + 10 ** ((R' - R) / 400)), and gains k
    times score less expectation; the rival loses as much (Elo 1978, The Rating of Chessplayers).
    The order of games matters, and nothing converges: with steady players the ratings wander about
    those of :attr:`BradleyTerry.elo`, the wider the larger k.

    Args:
        games: (player, rival, score) in the order played; the score of the player is 1 for a win,
            1/2 for a tie, 0 for a loss.
        players: how many there are; they are numbered from 0.
        k: the most points that change hands in a game.
        start: the rating of each before the first game.

    Raises:
        ValueError: a player is unknown or meets itself, or a score is outside [0, 1].

    >>> elo([(0, 1, 1.0)], 2)
    array([1516., 1484.])
    """
    ratings = np.full(players, start, dtype=np.float64)
    for player, rival, score in games:
        if not (0 <= player < players and 0 <= rival < players) or player == rival:
            raise ValueError(f"game {(player, rival, score)} is not between two of the players")
        if not 0 <= score <= 1:
            raise ValueError(f"game {(player, rival, score)}: a score lies between 0 and 1")
        expected = 1 / (1 + 10 ** ((ratings[rival] - ratings[player]) / 400))
        ratings[player] += k * (score - expected)
        ratings[rival] -= k * (score - expected)
    return ratings


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


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BradleyTerry(Printed):
    """Strengths fitted to wins and ties.

    Attributes:
        names: of the players.
        strengths: log-strengths, shape (n,), of mean 0. Without ties, i beats j with probability
            1 / (1 + exp(s_j - s_i)).
        tie: log of Davidson's tie parameter; minus infinity where there were no ties, or ties
            counted as halves.
        misfit: the largest difference between a player's expected and observed score, in games.
    """

    names: tuple[str, ...]
    strengths: Floats
    tie: float
    misfit: float

    @property
    def elo(self) -> Floats:
        """The strengths on Elo's scale, of mean 1500."""
        return np.asarray(1500 + ELO_A_UNIT * self.strengths, dtype=np.float64)

    def __str__(self) -> str:
        """The players, the strongest first, on Elo's scale."""
        best_first = np.argsort(-self.strengths, kind="stable")
        return "\n".join(f"{self.names[at]}: {self.elo[at]:.0f}" for at in best_first)


def bradley_terry(
    wins: ArrayLike,
    ties: ArrayLike | None = None,
    *,
    names: Sequence[str] = (),
    ties_as_halves: bool = False,
) -> BradleyTerry:
    """Maximum-likelihood strengths of players that met in pairs.

    With strengths p_i = exp(s_i), i beats j with probability p_i / D and they tie with probability
    v sqrt(p_i p_j) / D, where D = p_i + p_j + v sqrt(p_i p_j) (Davidson 1970, On Extending the
    Bradley-Terry Model to Accommodate Ties, JASA 65); without ties v is 0, and the model is that
    of Bradley and Terry (1952). With ``ties_as_halves`` a tie is half a win for both, as in Elo's.

    The fit is by Newton's method with halved steps, and is done when no player's expected score,
    nor the expected number of ties, is off by more than 1e-9 of all games. It exists only if no
    group of players won all its games against all others (Ford 1957), which is checked first.

    Args:
        wins: ``wins[i, j]`` is how often i beat j, >= 0, shape (n, n).
        ties: how often they tied, symmetric, shape (n, n).
        names: of the players, for messages and print; numbers without any.
        ties_as_halves: see above.

    Raises:
        ValueError: the counts are none, or some players never met, or some always won or always
            lost; the message names them.
        EquilibriumError: the fit did not converge.

    >>> print(bradley_terry([[0, 10], [1, 0]], names=["a", "b"]))
    a: 1700
    b: 1300
    """
    won, tied = _counts(wins, ties)
    named = tuple(names) or tuple(map(str, range(len(won))))
    if len(named) != len(won):
        raise ValueError(f"there are {len(named)} names for {counted(len(won), 'player')}")
    if ties_as_halves:
        won, tied = won + tied / 2, np.zeros_like(tied)
    if tied.any() and not won.any():
        raise ValueError(
            "all games were ties, so no finite tie parameter fits; count ties as halves"
        )
    _check_connected(won + tied, named)
    fitted = _fit(won, tied)
    misfit = float(np.abs(_gradient(fitted, won, tied)).max())
    tie = float(fitted[-1]) if tied.any() else -np.inf
    return BradleyTerry(named, fitted[:-1] - fitted[:-1].mean(), tie, misfit)


def _counts(wins: ArrayLike, ties: ArrayLike | None) -> tuple[Floats, Floats]:
    won = np.asarray(wins, dtype=np.float64)
    tied = np.zeros_like(won) if ties is None else np.asarray(ties, dtype=np.float64)
    if won.ndim != 2 or won.shape[0] != won.shape[1] or len(won) < 2 or tied.shape != won.shape:
        raise ValueError(
            "wins and ties must be square, of one size, and of two players at least, "
            f"not {won.shape} and {tied.shape}"
        )
    for counts in (won, tied):
        if not (np.isfinite(counts).all() and (counts >= 0).all() and not counts.diagonal().any()):
            raise ValueError("wins and ties must be counts >= 0, with zeros on the diagonal")
    if not np.array_equal(tied, tied.T):
        raise ValueError("ties must be symmetric: i tied j as often as j tied i")
    return won, tied


def _check_connected(beat_or_tied: Floats, names: tuple[str, ...]) -> None:
    """Demand that strengths can be compared and are finite."""
    for connection, problem in (
        ("weak", "never met, directly or through others"),
        ("strong", "won all or lost all games between them, so no finite strengths fit"),
    ):
        groups, of = connected_components(beat_or_tied > 0, connection=connection)
        if groups > 1:
            size = np.bincount(of)
            apart = [name for name, at in zip(names, of, strict=True) if at == size.argmin()]
            others = [name for name in names if name not in apart]
            raise ValueError(
                f"{', '.join(apart)} and {', '.join(others)} {problem}; "
                "let them play more, or rate them apart"
            )


def _gradient(at: Floats, won: Floats, tied: Floats) -> Floats:
    """Observed less expected: each player's score (a tie is half), and the ties, last."""
    win, tie = _chances(at, bool(tied.any()))
    games = won + won.T + tied
    score = (won + tied / 2 - games * (win + tie / 2)).sum(axis=1)
    ties = np.triu(tied - games * tie, 1).sum()
    return np.append(score, ties)


def _chances(at: Floats, with_ties: bool) -> tuple[Floats, Floats]:
    """The probabilities that i beats j, and that they tie, shape (n, n)."""
    gap = at[:-1, None] - at[None, :-1]
    logs = np.stack([gap / 2, -gap / 2, np.full_like(gap, at[-1] if with_ties else -np.inf)])
    chances = np.exp(logs - logs.max(axis=0))
    chances /= chances.sum(axis=0)
    return chances[0], chances[2]


def _curvature(at: Floats, games: Floats, with_ties: bool) -> Floats:
    """Minus the Hessian of the log-likelihood; strengths are pinned to keep their sum."""
    win, tie = _chances(at, with_ties)
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


def _likelihood(at: Floats, won: Floats, tied: Floats) -> float:
    gap = at[:-1, None] - at[None, :-1]
    terms = [gap / 2, -gap / 2] + ([np.full_like(gap, at[-1])] if tied.any() else [])
    total = np.logaddexp.reduce(terms, axis=0)
    pairs = np.triu(won + won.T + tied, 1)
    return float((won * gap / 2).sum() + np.triu(tied, 1).sum() * at[-1] - (pairs * total).sum())


def _fit(won: Floats, tied: Floats) -> Floats:
    """The strengths and the log tie parameter of the greatest likelihood."""
    games, with_ties = won + won.T + tied, bool(tied.any())
    allowed = FIT * games.sum() / 2
    at = np.zeros(len(won) + 1)
    for _ in range(MOST_STEPS):
        gradient = _gradient(at, won, tied)
        if np.abs(gradient).max() <= allowed:
            return at
        step = np.linalg.solve(_curvature(at, games, with_ties), gradient)
        before = _likelihood(at, won, tied)
        while _likelihood(at + step, won, tied) < before - 1e-12 * abs(before):
            step /= 2
        at = at + step
    raise EquilibriumError(
        f"the strengths did not converge within {MOST_STEPS} steps; let the players play more"
    )
