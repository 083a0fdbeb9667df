"""How sure an equilibrium of an empirical game is: its bootstrap distribution over deals.

The deals of the game are drawn again with replacement, and each draw's game is solved anew. Of what
comes out this says means, standard errors and intervals, and how often an equilibrium of the mean
payoffs is one of the draws' too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import linprog

from cheaptalk.cluster import working
from cheaptalk.equilibrium.empirical.cells import GameSample, Key
from cheaptalk.equilibrium.empirical.empirical_games import Empirical, EmpiricalGame, listed
from cheaptalk.equilibrium.empirical.metrics import Metric, against, at_equilibrium, regrets
from cheaptalk.equilibrium.solvers.payoffs import TIE, Flags, Floats, near
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import Printed, brief
from cheaptalk.rules.errors import Advice
from cheaptalk.statistics.permutation import holm
from cheaptalk.statistics.resampling import expanded
from cheaptalk.text import aligned

DRAWS = 1_000
LEVEL = 0.95
"""Of the interval of a :class:`Spread`."""
SHARE = 1e-9
"""Strategies played less than this are outside a support."""
PIECE = 125
"""Games that one process solves at a time; fixed, so that processes change no number."""


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Printed):
    """The maximum-entropy equilibrium of an empirical game, and of many draws of its deals.

    Attributes:
        labels: the strategies.
        metrics: what is measured at equilibrium beside regret.
        paired: whether all cells of a draw had the same deals.
        seed: of the draws.
        freedom: degrees of freedom of the cell with the fewest deals; intervals reach as much
            further as Student's t is wider than the normal.
        estimate: what the sample itself says, as a draw of its own.
        payoffs: of each draw, shape (draws, n, n).
        mixtures: the equilibrium of each draw, shape (draws, n).
        values: the metrics' means in the cells of each draw, by name: shape (draws, n, n).
    """

    labels: tuple[str, ...]
    metrics: tuple[Metric, ...]
    paired: bool
    seed: int
    freedom: int
    estimate: "Bootstrap | None" = field(repr=False)
    payoffs: Floats = field(repr=False)
    mixtures: Floats = field(repr=False)
    values: Mapping[str, Floats] = field(repr=False)

    @cached_property
    def payoff(self) -> Floats:
        """What players get at equilibrium, by draw, shape (draws,)."""
        return at_equilibrium(self.payoffs, self.mixtures)

    @cached_property
    def regrets(self) -> Floats:
        """u(x, x) - u(i, x) of each strategy i at the equilibrium x, shape (draws, n).

        What is below 1e-9 of the largest payoff is rounding, and counts as 0.
        """
        exact = regrets(self.payoffs, self.mixtures)
        return np.where(np.abs(exact) <= near(self.payoffs)[:, 0], 0, exact)

    @cached_property
    def slack(self) -> Floats:
        """How far each draw's solution is from an equilibrium: its regret, shape (draws,)."""
        return np.asarray(np.maximum(0, -regrets(self.payoffs, self.mixtures).min(axis=1)))

    def against(self, metric: str) -> Floats:
        """A metric of each strategy against the equilibrium, shape (draws, n).

        Args:
            metric: a metric's name, ``regret``, or ``mixture`` for the strategy's own share.
        """
        if metric in ("regret", "mixture"):
            return self.regrets if metric == "regret" else self.mixtures
        return against(self._values(metric), self.mixtures)

    def at_equilibrium(self, metric: str) -> Floats:
        """A metric where both play the equilibrium, or its ``payoff``; shape (draws,)."""
        if metric == "payoff":
            return self.payoff
        return at_equilibrium(self._values(metric), self.mixtures)

    def _values(self, metric: str) -> Floats:
        if metric not in self.values:
            raise ValueError(f'No metric "{metric}"; there are: {", ".join(self.values) or "none"}')
        return self.values[metric]

    def table(self, *, level: float = 0.95, basic: bool = False) -> pl.DataFrame:
        """Every strategy's share, regret and metrics against the equilibrium, with intervals.

        Args:
            level: of the intervals, in (0, 1).
            basic: basic bootstrap intervals (twice the estimate less the other quantile), which
                correct for bias but may leave the range of the number; else expanded percentiles
                (Davison and Hinkley 1997, sections 5.2 and 5.3; :func:`.expanded`).

        Returns:
            One row a strategy and metric: ``strategy``, ``metric``, ``estimate`` (of the sample
            itself), ``mean`` and ``error`` (mean and standard deviation over draws, the paper's
            numbers), ``low``, ``high``, ``undefined`` (the share of draws without a value).
        """
        sample = self.estimate or self
        names = ["mixture", "regret", *self.values]
        parts = [
            pl.DataFrame({"strategy": self.labels, "metric": [name] * len(self.labels)}).hstack(
                summary(
                    sample.against(name)[0],
                    self.against(name),
                    self.freedom,
                    level=level,
                    basic=basic,
                )
            )
            for name in names
        ]
        return pl.concat(parts)

    def overall(self, *, level: float = 0.95, basic: bool = False) -> pl.DataFrame:
        """The payoff and metrics of the equilibrium itself; columns as in :meth:`table`."""
        sample = self.estimate or self
        names = ["payoff", *self.values]
        first = np.array([sample.at_equilibrium(name)[0] for name in names])
        drawn = np.column_stack([self.at_equilibrium(name) for name in names])
        return pl.DataFrame({"metric": names}).hstack(
            summary(first, drawn, self.freedom, level=level, basic=basic)
        )

    def best_responses(self) -> "BestResponses":
        """How often each strategy is the best reply to each."""
        best = self.payoffs.max(axis=1, keepdims=True)
        replies = self.payoffs >= best - near(self.payoffs)
        alone = replies.sum(axis=1, keepdims=True) == 1
        return BestResponses(
            (replies & alone).mean(axis=0),
            (replies & ~alone).mean(axis=0),
            self.payoffs.mean(axis=0),
        )

    def differences(self, metric: str, *, level: float = 0.95) -> pl.DataFrame:
        """Neighbours in the ranking by a metric: by how much each leads, draw by draw.

        p is twice the smaller share of draws on either side of no difference, with one draw added
        (two-sided), and ``p_holm`` is corrected for there being as many comparisons as rows (Holm
        1979). Draws in which either has no value do not count; strategies that have none in half
        of the draws or more are left out.

        Args:
            metric: a metric's name, ``regret`` (the lowest leads) or ``mixture``.
            level: of the intervals, in (0, 1).

        Returns:
            One row a pair: ``ahead``, ``behind``, ``difference`` (mean of ahead less behind),
            ``error``, ``low``, ``high``, ``p``, ``p_holm``.
        """
        drawn = self.against(metric)
        ranked = np.flatnonzero(np.isfinite(drawn).mean(axis=0) > 0.5)
        means = np.nanmean(drawn[:, ranked], axis=0)
        order = ranked[np.argsort(means if metric == "regret" else -means, kind="stable")]
        gaps = drawn[:, order[:-1]] - drawn[:, order[1:]]
        side = np.minimum((gaps <= 0).sum(axis=0), (gaps >= 0).sum(axis=0))
        p = np.minimum(1, 2 * (side + 1) / (np.isfinite(gaps).sum(axis=0) + 1))
        tail = expanded(level, self.freedom)
        low, high = np.nanquantile(gaps, [tail, 1 - tail], axis=0)
        return pl.DataFrame(
            {
                "ahead": [self.labels[at] for at in order[:-1]],
                "behind": [self.labels[at] for at in order[1:]],
                "difference": np.nanmean(gaps, axis=0), "error": np.nanstd(gaps, axis=0, ddof=1),
                "low": low, "high": high, "p": p, "p_holm": holm(p),
            }
        )  # fmt: skip

    def __repr__(self) -> str:
        return brief(self, f"{counted(len(self.payoff), 'draw')} of {', '.join(self.labels)}")

    def __str__(self) -> str:
        """A table of shares, regrets and metrics, mean and standard error over draws."""
        names = ["mixture", "regret", *self.values]
        cells = [["", *names]]
        for at, label in enumerate(self.labels):
            drawn = [self.against(name)[:, at] for name in names]
            cells.append([label, *(mean_and_error(one) for one in drawn)])
        lines = aligned(cells, range(len(cells[0])))
        return "\n".join([*lines, f"payoff at equilibrium {mean_and_error(self.payoff)}"])


class BestResponses(NamedTuple):
    """Who answers whom best; index [i, j] is of i as the reply to j, shape (n, n).

    Attributes:
        alone: share of draws in which i is the only best reply to j, in [0, 1].
        tied: share of draws in which i is one of several, whose payoffs are tied.
        payoffs: what i gets against j, mean over draws.
    """

    alone: Floats
    tied: Floats
    payoffs: Floats


def bootstrap_equilibrium(
    game: EmpiricalGame,
    metrics: Sequence[Metric] = (),
    *,
    draws: int = DRAWS,
    seed: int = 0,
    paired: bool | None = None,
    processes: int = 1,
    on: str | None = None,
) -> Bootstrap:
    """The distribution of a game's maximum-entropy equilibrium over draws of its deals.

    In each draw the deals of each cell are drawn again with replacement, as many as there are, and
    with a deal come all its matches in the cell and all their values; the equilibrium and all that
    is measured at it are computed anew (002, section 5; Wiedenbeck, Cassell and Wellman 2014).
    Where several games are mixed, each is drawn by itself.

    Args:
        metrics: measures to take at equilibrium; the game must have been made with them.
        draws: how many, >= 2.
        seed: the same seed gives the same numbers, whatever ``processes`` is.
        paired: True draws the deals of a game once for all its cells, each of which takes those
            that it has. That is right wherever equal deals were dealt to several pairs, all of
            them or some: what a generous deal adds to one cell it adds to the next, and treating
            cells as independent then makes differences look less sure, and the level of payoffs
            more sure, than they are; and exact ties between cells break. False draws each cell
            by itself, as published, which is right where each pair had deals of its own. None:
            True where any two cells share at least half of the smaller one's deals.
        processes: how many solve at once; scripts that ask for several stand behind
            ``if __name__ == "__main__"``.
        on: a cluster whose machines solve instead, as :func:`~cheaptalk.cluster.cluster` takes it.

    Raises:
        CheaptalkError: a cell is missing or has fewer than two deals, there are no samples, or the
            cluster cannot be used.
        ValueError: the game was made without a measure, or a number makes no sense.
        EquilibriumError: a draw could not be solved.
    """
    places = {metric.name: (metric, game.place_of(metric.measure)) for metric in metrics}
    together = shares_deals(game) if paired is None else paired
    drawn = resampled(game, draws, seed=seed, paired=together)

    def made(means: Floats, estimate: Bootstrap | None) -> Bootstrap:
        values = {name: metric.of(means[:, at]) for name, (metric, at) in places.items()}
        payoffs = means[:, 0]
        return Bootstrap(
            game.labels, tuple(metrics), together, seed, game.freedom, estimate, payoffs,
            _solved(payoffs, processes, on), values,
        )  # fmt: skip

    return made(drawn, made(game.means[None], None))


def _solved(payoffs: Floats, count: int, on: str | None) -> Floats:
    """The equilibrium of each game, in pieces that one process, several or a cluster solve."""
    pieces = [payoffs[at : at + PIECE] for at in range(0, len(payoffs), PIECE)]
    if (count == 1 and on is None) or len(pieces) == 1:
        return np.concatenate(list(map(mene_mixtures, pieces)))
    with working(count, on, "ask for fewer at once") as pool:
        solving = [pool.submit(mene_mixtures, piece) for piece in pieces]
        return np.concatenate([solved.result() for solved in solving])


def resampled(
    game: Empirical, draws: int = DRAWS, *, seed: int = 0, paired: bool | None = None
) -> Floats:
    """Means of all values in all cells, each time over deals drawn anew with replacement.

    One draw of a cell's deals serves all its values. The arguments are those of
    :func:`.bootstrap_equilibrium`.

    Returns:
        Shape (draws, values, rows, columns); the values are payoffs, then measures.

    Raises:
        CheaptalkError: a cell is missing or thin, the game has no samples, or a paired draw left a
            cell without a deal.
        ValueError: fewer than 2 draws are asked for.
    """
    if draws < 2:
        raise ValueError(f"A bootstrap needs at least 2 draws, not {draws}")
    check_samples(game)
    together = shares_deals(game) if paired is None else paired
    draw = _drawn_together if together else _drawn_apart
    return game.assembled([draw(sample, draws, seed, at) for at, sample in enumerate(game.samples)])


def check_samples(game: Empirical) -> None:
    """See that every cell has deals enough to say how uncertain it is.

    Raises:
        CheaptalkError: a cell is missing or thin, or the game has no samples.
    """
    game.check()
    if not game.sampled:
        raise CheaptalkError("These payoffs have no matches behind them that could be drawn again")
    if game.thin:
        raise CheaptalkError(
            f"{counted(len(game.thin), 'cell')} with fewer than 2 deals: {listed(game.thin)}; "
            "play more deals, or leave strategies out"
        )


def shares_deals(game: Empirical) -> bool:
    """Whether in each sample any two cells share half of the smaller one's deals, or more."""
    return game.sampled and all(sample.share_deals for sample in game.samples)


def deals_in_all(game: Empirical) -> tuple[int, int]:
    """How many deals all cells of their sample have, and how many some cell has; 0 of payoffs."""
    if not game.sampled:
        return 0, 0
    shares = np.concatenate([sample.played.mean(axis=0) for sample in game.samples])
    return int((shares == 1).sum()), int((shares > 0).sum())


def summary(
    estimate: Floats, drawn: Floats, freedom: int, *, level: float = 0.95, basic: bool = False
) -> pl.DataFrame:
    """Bootstrap means, standard errors and intervals of some numbers.

    Draws in which a number is undefined (NaN) are left out.

    Args:
        estimate: what the sample itself says, shape (numbers,).
        drawn: shape (draws, numbers).
        freedom: degrees of freedom, by which percentiles are expanded.
        level: of the intervals, in (0, 1).
        basic: basic intervals instead of percentiles.

    Returns:
        One row a number: ``estimate``, ``mean``, ``error``, ``low``, ``high``, ``undefined``.

    Raises:
        ValueError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"The level of an interval lies between 0 and 1, not {level}")
    tail = expanded(level, freedom)
    rows: list[tuple[float | None, ...]] = []
    for first, column in zip(estimate, drawn.T, strict=True):
        some = column[np.isfinite(column)]
        undefined = 1 - len(some) / len(column)
        if not len(some):
            rows.append((_known(first), None, None, None, None, undefined))
            continue
        low, high = np.quantile(some, [tail, 1 - tail])
        if basic:
            low, high = 2 * first - high, 2 * first - low
        error = float(some.std(ddof=1)) if len(some) > 1 else None
        rows.append(
            (_known(first), float(some.mean()), error, _known(low), _known(high), undefined)
        )
    names = ("estimate", "mean", "error", "low", "high", "undefined")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row")


class Spread(NamedTuple):
    """A number with what the bootstrap says of it.

    Attributes:
        estimate: of all matches; None where it is undefined.
        mean, error: the mean and the standard deviation over draws; None without draws.
        low, high: the ends of the interval, expanded percentiles; None without draws.
    """

    estimate: float | None
    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


def spreads(estimate: Floats, drawn: Floats, freedom: int) -> list[Spread]:
    """Numbers of all matches with those of the draws.

    Args:
        estimate: shape (numbers,).
        drawn: shape (draws, numbers); one draw alone says nothing.
        freedom: as in :func:`summary`.
    """
    rows = summary(estimate, drawn, freedom, level=LEVEL).select(Spread._fields).iter_rows()
    return [Spread(*row) if len(drawn) > 1 else Spread(row[0]) for row in rows]


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def mean_and_error(drawn: Floats) -> str:
    """Mean of draws, and behind it their standard deviation; N/A where they are undefined."""
    some = drawn[np.isfinite(drawn)]
    return f"{some.mean():.4g} ({some.std(ddof=1):.2g})" if len(some) > 1 else "N/A"


def _times(size: int, draws: int, seed: int, *place: int) -> Floats:
    """How often each of some deals is drawn, shape (draws, size); a stream for each place."""
    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=place))
    drawn = stream.integers(0, size, (draws, size))
    drawn += size * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * size).reshape(draws, size).astype(float)


def _drawn_apart(sample: GameSample, draws: int, seed: int, at: int) -> Mapping[Key, Floats]:
    return {
        key: cell.means(_times(len(cell.deals), draws, seed, at, *key))
        for key, cell in sample.cells.items()
    }


def _drawn_together(sample: GameSample, draws: int, seed: int, at: int) -> Mapping[Key, Floats]:
    times = _times(sample.deals, draws, seed, at)
    means = {key: cell.means(times[:, cell.deals]) for key, cell in sample.cells.items()}
    if any(np.isnan(found[:, :2]).any() for found in means.values()):
        raise CheaptalkError(
            "A paired draw left a cell without any of its deals: its cells share too few; "
            "play the same deals in all, or ",
            Advice("say paired=False", "paired", False),
        )
    return means


def recurs(payoffs: Floats, support: tuple[int, ...]) -> Flags:
    """Which of some games have a symmetric equilibrium in which just these strategies are played.

    Args:
        payoffs: shape (draws, n, n).
        support: the strategies, at least one.

    Returns:
        Shape (draws,).
    """
    inside = list(support)
    most = np.abs(payoffs).max(axis=(1, 2))
    tie = TIE * np.where(most > 0, most, 1.0)
    count = len(inside)
    system = np.zeros((len(payoffs), count + 1, count + 1))
    system[:, :count, :count] = payoffs[:, inside][:, :, inside] / tie[:, None, None] * TIE
    system[:, :count, count], system[:, count, :count] = -1, 1
    regular = np.linalg.matrix_rank(system) == count + 1
    found = np.zeros(len(payoffs), dtype=bool)
    right = np.append(np.zeros(count), 1.0)[:, None]
    shares = np.linalg.solve(system[regular], right)[:, :count, 0]
    answers = np.einsum("dij,dj->di", payoffs[regular][:, :, inside], shares)
    best = answers.max(axis=1) - answers[:, inside].min(axis=1) <= tie[regular]
    found[regular] = (shares > SHARE).all(axis=1) & best
    for draw in np.flatnonzero(~regular):
        found[draw] = _one_of_many(payoffs[draw] / tie[draw] * TIE, inside)
    return found


def _one_of_many(payoffs: Floats, inside: list[int]) -> bool:
    """The same of a game whose equations for the support are singular, by a linear program.

    It maximises the smallest share within the support.
    """
    count, size = len(inside), len(payoffs)
    equal = np.zeros((count + 1, count + 2))
    equal[:count, :count], equal[:count, count] = payoffs[np.ix_(inside, inside)], -1
    equal[count, :count] = 1
    limits = np.zeros((size + count, count + 2))
    limits[:size, :count], limits[:size, count] = payoffs[:, inside], -1
    limits[size:, :count], limits[size:, -1] = -np.eye(count), 1
    found = linprog(
        np.append(np.zeros(count + 1), -1.0),
        A_ub=limits, b_ub=np.append(np.full(size, TIE), np.zeros(count)),
        A_eq=equal, b_eq=np.append(np.zeros(count), 1.0), bounds=(None, None),
    )  # fmt: skip
    return bool(found.success and found.x[-1] > SHARE)


def weakly_dominated(payoffs: Floats) -> list[tuple[int, ...]]:
    """By which strategies each is weakly dominated: nowhere better than they, somewhere worse.

    Payoffs within 1e-9 of the largest of each other count as equal.

    Args:
        payoffs: shape (n, n).
    """
    lead = payoffs[:, None] - payoffs[None]  # of the first strategy over the second
    tie = float(near(payoffs[None])[0, 0, 0])
    dominates = np.asarray((lead >= -tie).all(axis=2) & (lead > tie).any(axis=2))
    return [tuple(np.flatnonzero(column).tolist()) for column in dominates.T]
