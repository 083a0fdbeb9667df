"""How sure an equilibrium of an empirical game is: its bootstrap distribution over deals."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import polars as pl

from cheaptalk.equilibrium.drawing import DRAWS, resampled, shares_deals
from cheaptalk.equilibrium.games import EmpiricalGame
from cheaptalk.equilibrium.metrics import Metric, against, at_equilibrium, regrets
from cheaptalk.equilibrium.payoffs import Floats
from cheaptalk.equilibrium.summaries import said, summary
from cheaptalk.equilibrium.symmetric import mene_mixtures
from cheaptalk.statistics.corrections import holm

PIECE = 125
"""Games that one process solves at a time; fixed, so that processes change no number."""
TIE = 1e-9
"""Payoffs are tied if they differ by no more than this share of the largest."""


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The maximum-entropy equilibrium of an empirical game, and of many draws of its deals.

    Attributes:
        labels: the strategies.
        metrics: what is measured at equilibrium beside regret.
        paired: whether all cells of a draw had the same deals.
        seed: of the draws.
        estimate: what the sample itself says, as a draw of its own.
        payoffs: of each draw, shape (draws, n, n).
        mixtures: the equilibrium of each draw, shape (draws, n).
        values: the metrics' means in the cells of each draw, by name: shape (draws, n, n).
    """

    labels: tuple[str, ...]
    metrics: tuple[Metric, ...]
    paired: bool
    seed: int
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
        return np.where(np.abs(exact) <= _near(self.payoffs)[:, 0], 0, exact)

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
                correct for bias but may leave the range of the number; else percentiles (Davison
                and Hinkley 1997, sections 5.2 and 5.3).

        Returns:
            One row a strategy and metric: ``strategy``, ``metric``, ``estimate`` (of the sample
            itself), ``mean`` and ``error`` (mean and standard deviation over draws, the paper's
            numbers), ``low``, ``high``, ``undefined`` (the share of draws without a value).
        """
        sample = self.estimate or self
        names = ["mixture", "regret", *self.values]
        parts = [
            pl.DataFrame({"strategy": self.labels, "metric": [name] * len(self.labels)}).hstack(
                summary(sample.against(name)[0], self.against(name), level=level, basic=basic)
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
            summary(first, drawn, level=level, basic=basic)
        )

    def best_responses(self) -> "BestResponses":
        """How often each strategy is the best reply to each."""
        best = self.payoffs.max(axis=1, keepdims=True)
        near = self.payoffs >= best - _near(self.payoffs)
        alone = near.sum(axis=1, keepdims=True) == 1
        return BestResponses(
            (near & alone).mean(axis=0), (near & ~alone).mean(axis=0), self.payoffs.mean(axis=0)
        )

    def differences(self, metric: str, *, level: float = 0.95) -> pl.DataFrame:
        """Neighbours in the ranking by a metric: by how much each leads, draw by draw.

        p is twice the smaller share of draws on either side of no difference, with one draw added
        (two-sided), and ``p_holm`` is corrected for there being as many comparisons as rows (Holm
        1979). Draws in which either has no value do not count; strategies that have none in half
        of the draws or more are left out.

        Args:
            metric: a metric's name, ``regret`` (the lowest leads) or ``mixture``.
            level: of the percentile intervals, in (0, 1).

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
        low, high = np.nanquantile(gaps, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return pl.DataFrame(
            {
                "ahead": [self.labels[at] for at in order[:-1]],
                "behind": [self.labels[at] for at in order[1:]],
                "difference": np.nanmean(gaps, axis=0), "error": np.nanstd(gaps, axis=0, ddof=1),
                "low": low, "high": high, "p": p, "p_holm": holm(p),
            }
        )  # fmt: skip

    def __str__(self) -> str:
        """A table of shares, regrets and metrics, mean and standard error over draws."""
        names = ["mixture", "regret", *self.values]
        cells = [["", *names]]
        for at, label in enumerate(self.labels):
            drawn = [self.against(name)[:, at] for name in names]
            cells.append([label, *(said(one) for one in drawn)])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([*lines, f"payoff at equilibrium {said(self.payoff)}"])


class BestResponses(NamedTuple):
    """Who answers whom best; index [i, j] is of i as the reply to j, shape (n, n).

    Attributes:
        alone: share of draws in which i is the only best reply to j, in [0, 1].
        tied: share of draws in which i is one of several, their payoffs equal to 1e-9.
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

    Raises:
        CheaptalkError: a cell is missing or has fewer than two deals, or there are no samples.
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
            game.labels, tuple(metrics), together, seed, estimate, payoffs,
            _solved(payoffs, processes), values,
        )  # fmt: skip

    return made(drawn, made(game.means[None], None))


def _near(payoffs: Floats) -> Floats:
    """How near payoffs of each draw are to count as equal, shape (draws, 1, 1)."""
    return np.asarray(TIE * np.abs(payoffs).max(axis=(1, 2), keepdims=True))


def _solved(payoffs: Floats, processes: int) -> Floats:
    """The equilibrium of each game, in pieces that one process or several solve."""
    pieces = [payoffs[at : at + PIECE] for at in range(0, len(payoffs), PIECE)]
    if processes == 1 or len(pieces) == 1:
        return np.concatenate(list(map(mene_mixtures, pieces)))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return np.concatenate(list(pool.map(mene_mixtures, pieces)))
