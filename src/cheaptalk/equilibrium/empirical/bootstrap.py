"""Uncertainty of equilibria, estimated by a bootstrap over instances.

Each draw resamples the instances of the game with replacement and solves the resulting game. The
module reports means, standard errors and intervals over draws, and how often equilibria recur.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import linprog

from cheaptalk.cluster import working
from cheaptalk.equilibrium.empirical.cells import GameSample, Key
from cheaptalk.equilibrium.empirical.empirical_games import Empirical, EmpiricalGame, listed
from cheaptalk.equilibrium.empirical.metrics import (
    EquilibriumMetric,
    against,
    at_equilibrium,
    regrets,
)
from cheaptalk.equilibrium.solvers.payoffs import TIE, Flags, Floats, near
from cheaptalk.equilibrium.solvers.symmetric import mene_mixtures
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import Advice, WrongValue
from cheaptalk.statistics.limits import draw_summary, expanded, percentiles
from cheaptalk.statistics.permutation import holm
from cheaptalk.text import aligned

DRAWS = 1_000
LEVEL = 0.95
"""The confidence level of a :class:`Spread`."""
SHARE = 1e-9
"""The minimum probability of strategies in a support."""
MANY = 12
"""The minimum number of strategies for which several processes are faster than one."""
PIECE = 125
"""The number of games per task; constant, so that the number of processes changes no result."""


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Printed):
    """The maximum-entropy equilibrium of an empirical game and of its bootstrap draws.

    Attributes:
        metrics: the metrics computed at equilibrium, in addition to regret.
        paired: whether all cells of a draw have the same instances.
        freedom: the degrees of freedom of the cell with the fewest instances, which widen
            intervals.
        estimate: the results of the original sample, as a single draw.
        payoffs: the payoffs of each draw, shape (draws, n, n).
        mixtures: the equilibrium of each draw, shape (draws, n).
        values: the cell means of each metric by name, shape (draws, n, n).
    """

    labels: tuple[str, ...]
    metrics: tuple[EquilibriumMetric, ...]
    paired: bool
    seed: int
    freedom: int
    estimate: "Bootstrap | None" = field(repr=False)
    payoffs: Floats = field(repr=False)
    mixtures: Floats = field(repr=False)
    values: Mapping[str, Floats] = field(repr=False)

    @cached_property
    def payoff(self) -> Floats:
        """Return the payoff at each draw's equilibrium, shape (draws,)."""
        return at_equilibrium(self.payoffs, self.mixtures)

    @cached_property
    def regrets(self) -> Floats:
        """Return each strategy's regret u(x, x) - u(i, x) at each equilibrium x, shape (draws, n).

        Values below 1e-9 of the largest payoff count as 0.
        """
        exact = regrets(self.payoffs, self.mixtures)
        return np.where(np.abs(exact) <= near(self.payoffs)[:, 0], 0, exact)

    @cached_property
    def slack(self) -> Floats:
        """Return the largest gain from deviating from each draw's equilibrium, shape (draws,)."""
        return np.asarray(np.maximum(0, -regrets(self.payoffs, self.mixtures).min(axis=1)))

    def against(self, metric: str) -> Floats:
        """Return each strategy's value of a metric against the equilibrium, shape (draws, n).

        Args:
            metric: a metric's name, ``regret``, or ``mixture`` for the strategy's own share.
        """
        if metric in ("regret", "mixture"):
            return self.regrets if metric == "regret" else self.mixtures
        return against(self._values(metric), self.mixtures)

    def at_equilibrium(self, metric: str) -> Floats:
        """Return the payoff or another metric at each draw's equilibrium, shape (draws,)."""
        if metric == "payoff":
            return self.payoff
        return at_equilibrium(self._values(metric), self.mixtures)

    def _values(self, metric: str) -> Floats:
        if metric not in self.values:
            raise WrongValue(f'No metric "{metric}" (known: {", ".join(self.values) or "none"})')
        return self.values[metric]

    def table(self, *, level: float = 0.95, basic: bool = False) -> pl.DataFrame:
        """Return every strategy's share, regret and metrics at equilibrium, with intervals.

        Args:
            level: the confidence level, in (0, 1).
            basic: use basic bootstrap intervals (twice the estimate minus the opposite quantile),
                which correct for bias but may exceed the range of the number. The default is
                expanded percentiles (Davison and Hinkley 1997, sections 5.2 and 5.3;
                :func:`.expanded`).

        Returns:
            One row per strategy and metric: ``strategy``, ``metric``, ``estimate`` (of the sample
            itself), ``mean`` and ``error`` (mean and standard deviation over draws, the paper's
            numbers), ``low``, ``high``, ``undefined`` (the share of draws without a value).
        """
        sample = self.estimate or self
        parts = []
        for name in ("mixture", "regret", *self.values):
            estimate, draws = sample.against(name)[0], self.against(name)
            numbers = summary(estimate, draws, self.freedom, level=level, basic=basic)
            names = {"strategy": self.labels, "metric": [name] * len(self.labels)}
            parts.append(pl.DataFrame(names).hstack(numbers))
        return pl.concat(parts)

    def overall(self, *, level: float = 0.95, basic: bool = False) -> pl.DataFrame:
        """Return the payoff and metrics at equilibrium, with errors and intervals."""
        sample = self.estimate or self
        names = ["payoff", *self.values]
        estimate = np.array([sample.at_equilibrium(name)[0] for name in names])
        draws = np.column_stack([self.at_equilibrium(name) for name in names])
        return pl.DataFrame({"metric": names}).hstack(
            summary(estimate, draws, self.freedom, level=level, basic=basic)
        )

    def best_responses(self) -> "BestResponses":
        """Return the share of draws in which each strategy is a best response to each strategy."""
        maximum = self.payoffs.max(axis=1, keepdims=True)
        replies = self.payoffs >= maximum - near(self.payoffs)
        unique = replies.sum(axis=1, keepdims=True) == 1
        only, tied = ((replies & kind).mean(axis=0) for kind in (unique, ~unique))
        return BestResponses(only, tied, self.payoffs.mean(axis=0))

    def differences(self, metric: str, *, level: float = 0.95) -> pl.DataFrame:
        """Rank strategies by a metric, and return the differences between adjacent ranks.

        The two-sided ``p`` is twice the smaller share of draws on either side of 0, with one draw
        added; ``p_holm`` is corrected for the number of rows (Holm 1979). Undefined draws are
        ignored. Strategies without a value in at least half of the draws are omitted.

        Args:
            metric: a metric's name, ``regret`` (the lowest leads) or ``mixture``.

        Returns:
            One row per pair: ``ahead``, ``behind``, ``difference`` (the mean of ahead minus
            behind), ``error``, ``low``, ``high``, ``p``, ``p_holm``.
        """
        draws = self.against(metric)
        ranked = np.flatnonzero(np.isfinite(draws).mean(axis=0) > 0.5)
        means = np.nanmean(draws[:, ranked], axis=0)
        order = ranked[np.argsort(means if metric == "regret" else -means, kind="stable")]
        gaps = draws[:, order[:-1]] - draws[:, order[1:]]
        side = np.minimum((gaps <= 0).sum(axis=0), (gaps >= 0).sum(axis=0))
        p = np.minimum(1, 2 * (side + 1) / (np.isfinite(gaps).sum(axis=0) + 1))
        low, high = percentiles(gaps, expanded(level, self.freedom))
        return pl.DataFrame(
            {
                "ahead": [self.labels[index] for index in order[:-1]],
                "behind": [self.labels[index] for index in order[1:]],
                "difference": np.nanmean(gaps, axis=0),
                "error": np.nanstd(gaps, axis=0, ddof=1),
                "low": low,
                "high": high,
                "p": p,
                "p_holm": holm(p),
            }
        )

    def __repr__(self) -> str:
        return brief(self, f"{counted(len(self.payoff), 'draw')} of {', '.join(self.labels)}")

    def printout(self) -> Printout:
        names = ["mixture", "regret", *self.values]
        columns: list[str] = ["strategy"]
        numbers: list[Sequence[object]] = [self.labels]
        for name in names:
            columns += [f"mean {name}", f"{name} error"]
            numbers += zip(*map(_mean_and_error, self.against(name).T), strict=True)
        title = f"payoff at equilibrium {mean_and_error(self.payoff)}"
        return Printout(title, columns, list(zip(*numbers, strict=True)))

    def __str__(self) -> str:
        names = ["mixture", "regret", *self.values]
        cells = [["", *names]]
        for index, label in enumerate(self.labels):
            columns = [self.against(name)[:, index] for name in names]
            cells.append([label, *(mean_and_error(column) for column in columns)])
        lines = aligned(cells, range(len(cells[0])))
        return "\n".join([*lines, f"payoff at equilibrium {mean_and_error(self.payoff)}"])


class BestResponses(NamedTuple):
    """How often strategy i is a best response to j, as arrays [i, j] of shape (n, n).

    Attributes:
        unique: the share of draws in which i is the only best response to j, in [0, 1].
        tied: the share of draws in which i is one of several tied best responses.
        payoffs: the mean payoff of i against j over draws.
    """

    unique: Floats
    tied: Floats
    payoffs: Floats


def bootstrap_equilibrium(
    game: EmpiricalGame,
    metrics: Sequence[EquilibriumMetric] = (),
    *,
    draws: int = DRAWS,
    seed: int = 0,
    paired: bool | None = None,
    processes: int = 1,
    on: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Bootstrap:
    """Bootstrap the maximum-entropy equilibrium of a game over its instances.

    Each draw resamples the instances of each cell with replacement and includes all matches of a
    drawn instance. It then recomputes the equilibrium and all its metrics (item bargaining, section
    5; Wiedenbeck, Cassell and Wellman 2014). Mixed games are resampled separately.

    Args:
        metrics: the metrics to compute at equilibrium; the game must include them.
        draws: the number of draws, >= 2.
        seed: the seed; results don't depend on ``processes``.
        paired: True resamples a game's instances once for all its cells. Use it if several pairs
            played the same instances: a generous instance then raises the payoffs of several cells.
            If such cells were treated as independent, differences would seem less certain, and
            payoff levels more certain, than they are, and exact ties between cells would break.
            False resamples each cell separately, as in the publication; use it if each pair had its
            own instances. By default, it is True if any two cells share at least half of the
            smaller cell's instances.
        processes: the number of parallel processes for games of at least 12 strategies; with
            several, protect your script by ``if __name__ == "__main__"``.
        on: a cluster that solves the games; see :func:`~cheaptalk.cluster.cluster`.
        progress: called repeatedly with the number of draws solved so far.

    Raises:
        CheaptalkError: a cell is missing or has fewer than two instances, there are no samples, or
            the cluster is unavailable.
        WrongValue: the game lacks a metric, or a number is invalid.
        EquilibriumError: a draw could not be solved.
    """
    columns = {metric.name: (metric, game.value_index(metric.metric)) for metric in metrics}
    is_paired = shares_instances(game) if paired is None else paired
    samples = resample(game, draws, seed=seed, paired=is_paired)

    def bootstrap_of(means: Floats, estimate: Bootstrap | None) -> Bootstrap:
        values = {name: metric.scaled(means[:, index]) for name, (metric, index) in columns.items()}
        payoffs = means[:, 0]
        solved = _solved(payoffs, processes, on, progress if estimate else None)
        sample = (estimate, payoffs, solved, values)
        return Bootstrap(game.labels, tuple(metrics), is_paired, seed, game.freedom, *sample)

    return bootstrap_of(samples, bootstrap_of(game.means[None], None))


def _solved(
    payoffs: Floats, processes: int, on: str | None, progress: Callable[[int], None] | None
) -> Floats:
    pieces = [payoffs[start : start + PIECE] for start in range(0, len(payoffs), PIECE)]
    small = payoffs.shape[1] < MANY and on is None
    mixtures: list[Floats] = []
    for piece in _mixtures(pieces, 1 if small else processes, on):
        mixtures.append(piece)
        if progress is not None:
            progress(sum(map(len, mixtures)))
    return np.concatenate(mixtures)


def _mixtures(pieces: Sequence[Floats], processes: int, on: str | None) -> Iterator[Floats]:
    if (processes == 1 and on is None) or len(pieces) == 1:
        yield from map(mene_mixtures, pieces)
        return
    with working(processes, on, "use fewer processes") as pool:
        solving = [pool.submit(mene_mixtures, piece) for piece in pieces]
        for solved in solving:
            yield solved.result()


def resample(
    game: Empirical, draws: int = DRAWS, *, seed: int = 0, paired: bool | None = None
) -> Floats:
    """Return bootstrap draws of the mean payoffs and metrics of all cells.

    All values of a cell use the same draw. See :func:`.bootstrap_equilibrium` for the arguments.

    Returns:
        Shape (draws, values, rows, columns); the values are payoffs, then metrics.

    Raises:
        CheaptalkError: a cell is missing or has fewer than two instances, the game has no samples,
            or a paired draw left a cell without an instance.
        WrongValue: there are fewer than 2 draws.
    """
    if draws < 2:
        raise WrongValue(f"A bootstrap needs at least 2 draws, not {draws}")
    check_samples(game)
    is_paired = shares_instances(game) if paired is None else paired
    draw = _resample_shared if is_paired else _resample_each_cell
    return game.assembled(
        [draw(sample, draws, seed, index) for index, sample in enumerate(game.samples)]
    )


def check_samples(game: Empirical) -> None:
    """Raise CheaptalkError unless each cell has enough instances for a bootstrap."""
    game.check()
    if not game.sampled:
        raise CheaptalkError("A bootstrap resamples matches, but only payoffs were given")
    if game.thin:
        raise CheaptalkError(
            f"{counted(len(game.thin), 'pair')} with fewer than 2 instances: {listed(game.thin)}; "
            "play more instances, or leave strategies out"
        )


def shares_instances(game: Empirical) -> bool:
    """Return whether any two cells share at least half of the smaller cell's instances."""
    return game.sampled and all(sample.share_instances for sample in game.samples)


def instances_in_all(game: Empirical) -> tuple[int, int]:
    """Return the numbers of instances in all cells and in any cell; 0 for given payoffs."""
    if not game.sampled:
        return 0, 0
    shares = np.concatenate([sample.played.mean(axis=0) for sample in game.samples])
    return int((shares == 1).sum()), int((shares > 0).sum())


def summary(
    estimate: Floats, samples: Floats, freedom: int, *, level: float = 0.95, basic: bool = False
) -> pl.DataFrame:
    """Return :func:`.draw_summary` with percentiles expanded for these degrees of freedom."""
    if not 0 < level < 1:
        raise WrongValue(f"level must be between 0 and 1, not {level}")
    return draw_summary(estimate, samples, expanded(level, freedom), basic=basic)


class Spread(NamedTuple):
    """An estimate with the mean, standard error and confidence interval from bootstrap draws.

    Attributes:
        estimate: the value for all matches; None if undefined.
        mean, error: the mean and the standard deviation over draws; None without draws.
        low, high: the interval of expanded percentiles; None without draws.
    """

    estimate: float | None
    mean: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


def spreads(estimate: Floats, samples: Floats, freedom: int) -> list[Spread]:
    """Summarise the bootstrap draws, shape (draws, numbers), of several estimates."""
    rows = summary(estimate, samples, freedom, level=LEVEL).select(Spread._fields).iter_rows()
    return [Spread(*row) if len(samples) > 1 else Spread(row[0]) for row in rows]


def _mean_and_error(samples: Floats) -> tuple[float, float] | tuple[None, None]:
    """Return the mean and the standard deviation over draws; None if undefined."""
    defined = samples[np.isfinite(samples)]
    if len(defined) < 2:
        return None, None
    return float(defined.mean()), float(defined.std(ddof=1))


def mean_and_error(samples: Floats) -> str:
    """Format the mean and the standard deviation over draws; N/A if undefined."""
    mean, error = _mean_and_error(samples)
    return "N/A" if mean is None else f"{mean:.4g} ({error:.2g})"


def _times(size: int, draws: int, seed: int, *position: int) -> Floats:
    """Return how often each draw includes each instance, shape (draws, size)."""
    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=position))
    indices = stream.integers(0, size, (draws, size))
    indices += size * np.arange(draws)[:, None]
    return np.bincount(indices.ravel(), minlength=draws * size).reshape(draws, size).astype(float)


def _resample_each_cell(
    sample: GameSample, draws: int, seed: int, index: int
) -> Mapping[Key, Floats]:
    return {
        key: cell.means(_times(len(cell.instances), draws, seed, index, *key))
        for key, cell in sample.cells.items()
    }


def _resample_shared(sample: GameSample, draws: int, seed: int, index: int) -> Mapping[Key, Floats]:
    times = _times(sample.instances, draws, seed, index)
    means = {key: cell.means(times[:, cell.instances]) for key, cell in sample.cells.items()}
    if any(np.isnan(values[:, :2]).any() for values in means.values()):
        raise CheaptalkError(
            "A paired draw contains no instance of a pair of strategies, because the pairs share "
            "too few instances; play the same instances for all pairs, or ",
            Advice("use paired=False", "paired", False),
        )
    return means


def recurs(payoffs: Floats, support: tuple[int, ...]) -> Flags:
    """Flag the draws that have an equilibrium with exactly the given support, shape (draws,)."""
    inside = list(support)
    largest = np.abs(payoffs).max(axis=(1, 2))
    tie = TIE * np.where(largest > 0, largest, 1.0)
    count = len(inside)
    system = np.zeros((len(payoffs), count + 1, count + 1))
    system[:, :count, :count] = payoffs[:, inside][:, :, inside] / tie[:, None, None] * TIE
    system[:, :count, count], system[:, count, :count] = -1, 1
    regular = np.linalg.matrix_rank(system) == count + 1
    exists = np.zeros(len(payoffs), dtype=bool)
    right = np.append(np.zeros(count), 1.0)[:, None]
    shares = np.linalg.solve(system[regular], right)[:, :count, 0]
    answers = np.einsum("dij,dj->di", payoffs[regular][:, :, inside], shares)
    is_best = answers.max(axis=1) - answers[:, inside].min(axis=1) <= tie[regular]
    exists[regular] = (shares > SHARE).all(axis=1) & is_best
    for draw in np.flatnonzero(~regular):
        exists[draw] = _one_of_many(payoffs[draw] / tie[draw] * TIE, inside)
    return exists


def _one_of_many(payoffs: Floats, inside: list[int]) -> bool:
    """Return whether any equilibrium has the given support, even if its equations are singular."""
    count, size = len(inside), len(payoffs)
    equal = np.zeros((count + 1, count + 2))
    equal[:count, :count], equal[:count, count] = payoffs[np.ix_(inside, inside)], -1
    equal[count, :count] = 1
    limits = np.zeros((size + count, count + 2))
    limits[:size, :count], limits[:size, count] = payoffs[:, inside], -1
    limits[size:, :count], limits[size:, -1] = -np.eye(count), 1
    solution = linprog(
        np.append(np.zeros(count + 1), -1.0),
        A_ub=limits,
        b_ub=np.append(np.full(size, TIE), np.zeros(count)),
        A_eq=equal,
        b_eq=np.append(np.zeros(count), 1.0),
        bounds=(None, None),
    )
    return bool(solution.success and solution.x[-1] > SHARE)


def weakly_dominated(payoffs: Floats) -> list[tuple[int, ...]]:
    """Return the strategies that weakly dominate each strategy; payoffs have shape (n, n).

    Payoffs that differ by at most 1e-9 of the largest payoff count as equal.
    """
    lead = payoffs[:, None] - payoffs[None]  # of the first strategy over the second
    tie = float(near(payoffs[None])[0, 0, 0])
    dominates = np.asarray((lead >= -tie).all(axis=2) & (lead > tie).any(axis=2))
    return [tuple(np.flatnonzero(column).tolist()) for column in dominates.T]
