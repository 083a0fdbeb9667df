"""Coverage of the statistical intervals: ``python -m bench.statistics_coverage [STUDIES]``.

The benchmark simulates studies with known effects, and counts how often each kind of 95 % interval
contains the true value. The data have independent matches, matches that are correlated within
instances, few instances, or unequal variances. For comparison, some cases use an inappropriate
method. The benchmark takes several minutes.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cheaptalk.statistics import bootstrap, correlation, mean_intervals, ols, predicted_means
from cheaptalk.statistics.ranks import rank_ranges

STUDIES = 2_000
DRAWS = 500
EFFECT = 0.3
"""The true effect of the second player, in standard deviations of a match."""
RELATED = 0.5
"""The true correlation."""

Limits = tuple[float, float]
Simulate = Callable[[np.random.Generator], Limits]


class Case(NamedTuple):
    """A kind of interval for a kind of data.

    Attributes:
        interval: simulates a study and returns its interval.
        truth: the true value.
        fair: whether the method is appropriate, so that its coverage must be 93.5 to 96.5 %.
    """

    interval: Simulate
    truth: float
    fair: bool


def study(
    draw: np.random.Generator, instances: int, size: int, alike: float, uneven: float = 1.0
) -> pl.DataFrame:
    """Simulate a study of two players in which each instance is played by one of them.

    Args:
        draw: the random number generator.
        instances: the number of instances.
        size: the number of matches per instance.
        alike: the share of the variance between instances.
        uneven: the factor on the second player's standard deviation within instances.
    """
    instance = np.repeat(np.arange(instances), size)
    second = instance % 4 == 0
    common = draw.normal(0, np.sqrt(alike), instances)[instance]
    own = draw.normal(0, np.sqrt(1 - alike), instances * size) * np.where(second, uneven, 1.0)
    columns = {
        "instance": instance,
        "second": second,
        "horizon": draw.integers(0, 3, instances * size),
    }
    return pl.DataFrame(columns).with_columns(gain=pl.Series(EFFECT * second + common + own))


def effect(draw: np.random.Generator, errors: Any, **data: Any) -> Limits:
    """Return a regression's interval of the second player's effect."""
    fit = ols(
        study(draw, **data), "gain", ["second", "C(horizon)"],
        reference={"second": False, "horizon": 0}, errors=errors, cluster=["instance"],
    )  # fmt: skip
    return _limits(fit.frame.filter(pl.col("factor") == "second").tail(1))


def predicted(draw: np.random.Generator, **data: Any) -> Limits:
    """Return the interval of the second player's predicted mean."""
    fit = ols(
        study(draw, **data), "gain", ["second", "C(horizon)"],
        reference={"second": False, "horizon": 0}, errors="cluster", cluster=["instance"],
    )  # fmt: skip
    return _limits(predicted_means(fit, ["second"]).frame.tail(1))


def mean(draw: np.random.Generator, **data: Any) -> Limits:
    """Return the interval of a mean, as in reports."""
    return _limits(
        mean_intervals(study(draw, **data).filter("second"), ["gain"], cluster=["instance"])
    )


def drawn(draw: np.random.Generator, cluster: list[str], **data: Any) -> Limits:
    """Return the bootstrap interval of a mean."""
    frame = study(draw, **data).filter("second")
    result = bootstrap(frame, _mean, cluster=cluster, draws=DRAWS, seed=draw)
    return _limits(result.frame)


def _mean(frame: pl.DataFrame) -> dict[str, float | None]:
    return {"mean": float(frame["gain"].to_numpy().mean())}


def correlated(
    draw: np.random.Generator, interval: Any, method: Any, rows: int, instances: int = 0
) -> Limits:
    """Return the interval of the correlation of two normal columns.

    With ``instances``, rows of the same instance are identical.
    """
    x = draw.normal(size=instances or rows)
    y = RELATED * x + np.sqrt(1 - RELATED**2) * draw.normal(size=len(x))
    instance = np.arange(rows) % len(x)
    frame = pl.DataFrame({"instance": instance, "x": x[instance], "y": y[instance]})
    result = correlation(
        frame,
        "x",
        "y",
        method=method,
        interval=interval,
        cluster=["instance"],
        draws=DRAWS,
        seed=draw,
    )
    return _limits(result.frame)


def ranks(draw: np.random.Generator, ends: tuple[str, str]) -> Limits:
    """Return (1, 1) if the rank ranges of all five players contain the true ranks, else (0, 0)."""
    truth = np.array([0.0, 0.05, 0.1, 0.6, 0.65])
    gains = draw.normal(size=(60, 1)) + truth + draw.normal(size=(60, 5))
    columns = {"instance": np.repeat(np.arange(60), 5), "player": np.tile(np.arange(5), 60)}
    frame = pl.DataFrame(columns).with_columns(gain=pl.Series(gains.ravel()))
    result = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=DRAWS, seed=draw)
    rows = result.frame.sort("group").select(*ends).to_numpy()
    true_ranks = np.arange(5, 0, -1)
    inside = ((rows[:, 0] <= true_ranks) & (true_ranks <= rows[:, 1])).all()
    return (float(inside), float(inside))


def _limits(row: pl.DataFrame) -> Limits:
    low, high = row.select("low", "high").row(0)
    return float(low), float(high)


FREE: dict[str, Any] = {"instances": 240, "size": 1, "alike": 0.0}
SHARED: dict[str, Any] = {"instances": 80, "size": 8, "alike": 0.4}
SCARCE: dict[str, Any] = {"instances": 12, "size": 8, "alike": 0.4}
UNEVEN: dict[str, Any] = FREE | {"uneven": 3.0}
SPEARMAN = 6 / np.pi * np.arcsin(RELATED / 2)
KENDALL = 2 / np.pi * np.arcsin(RELATED)
CASES = {
    "OLS classical, independent": Case(partial(effect, errors="classical", **FREE), EFFECT, True),
    "OLS HC3, independent": Case(partial(effect, errors="HC3", **FREE), EFFECT, True),
    "OLS HC3, unequal variances": Case(partial(effect, errors="HC3", **UNEVEN), EFFECT, True),
    "OLS classical, unequal variances": Case(
        partial(effect, errors="classical", **UNEVEN), EFFECT, False
    ),
    "OLS cluster, 80 instances": Case(partial(effect, errors="cluster", **SHARED), EFFECT, True),
    "OLS classical, 80 instances": Case(partial(effect, errors="classical", **SHARED), EFFECT,
    False),
    "OLS HC3, 80 instances": Case(partial(effect, errors="HC3", **SHARED), EFFECT, False),
    "OLS cluster, 12 instances": Case(partial(effect, errors="cluster", **SCARCE), EFFECT, False),
    "predicted mean, cluster, 80 instances": Case(partial(predicted, **SHARED), EFFECT, True),
    "mean, cluster, 20 instances": Case(partial(mean, **SHARED), EFFECT, True),
    "bootstrap mean by instance, 60 instances": Case(
        partial(drawn, cluster=["instance"], **SHARED | {"instances": 240}), EFFECT, True
    ),
    "bootstrap mean by match, 60 instances": Case(
        partial(drawn, cluster=[], **SHARED | {"instances": 240}), EFFECT, False
    ),
    "Pearson, Fisher": Case(partial(correlated, interval="fisher", method="pearson", rows=100),
                            RELATED, True),
    "Spearman, Fisher": Case(partial(correlated, interval="fisher", method="spearman", rows=100),
                             SPEARMAN, True),
    "Kendall, Fisher": Case(partial(correlated, interval="fisher", method="kendall", rows=100),
                            KENDALL, True),
    "Pearson, Fisher, 100 rows copied 4 times": Case(
        partial(correlated, interval="fisher", method="pearson", rows=400, instances=100),
        RELATED, False,
    ),
    "Pearson, bootstrap by instance": Case(
        partial(correlated, interval="bootstrap", method="pearson", rows=400, instances=200),
        RELATED, True,
    ),
    "Spearman, bootstrap by instance": Case(
        partial(correlated, interval="bootstrap", method="spearman", rows=400, instances=200),
        SPEARMAN, True,
    ),
    "all five ranks, sure ranges": Case(partial(ranks, ends=("sure_low", "sure_high")), 1, False),
    "all five ranks, percentiles": Case(partial(ranks, ends=("low", "high")), 1, False),
}  # fmt: skip


def main(studies: int, only: str = "") -> None:
    """Print the coverage of each case whose name contains ``only``."""
    for index, (name, case) in enumerate(CASES.items()):
        if only not in name:
            continue
        start = time.perf_counter()
        intervals = [
            case.interval(np.random.default_rng([index, number])) for number in range(studies)
        ]
        share = float(np.mean([low <= case.truth <= high for low, high in intervals]))
        error = np.sqrt(share * (1 - share) / studies)
        verdict = ("ok" if 0.935 <= share <= 0.965 else "OUT OF RANGE") if case.fair else ""
        seconds = time.perf_counter() - start
        print(f"{name:42} {share:6.1%} ± {error:.1%}  {seconds:4.0f} s  {verdict}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES, *sys.argv[2:])
