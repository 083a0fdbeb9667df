"""Language metrics over many matches: vocabulary and n-gram entropy with intervals.

:mod:`cheaptalk.games.language` computes the metrics of a single match with the same formulas.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cheaptalk.games.language import WORD
from cheaptalk.statistics.intervals import INSTANCES
from cheaptalk.statistics.limits import jackknife_error, t_limits

VOCABULARY = "vocabulary"
NGRAMS = (1, 2, 3)
SCHEMA: dict[str, Any] = {
    "metric": pl.String,
    **dict.fromkeys(("value", "error", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "clusters"), pl.Int64),
}


def entropy_name(n: int) -> str:
    """Return the name of the metric for the entropy of n-grams."""
    return f"entropy_{n}"


def corpus_metrics(
    messages: pl.DataFrame,
    by: Sequence[str] = (),
    *,
    ngrams: Iterable[int] = NGRAMS,
    cluster: Sequence[str] = INSTANCES,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return the diversity of messages (Liao, Tomlin and Klein 2024, figures 7 and 10).

    The vocabulary is the number V of different words in all messages of a cell, in lower case and
    without punctuation. The entropy of n-grams is H = - sum over g of p(g) log2 p(g), in bits,
    where p(g) is the share of n-gram g among all sequences of n words within a message.

    Both metrics increase with the number of messages, so compare only cells with similar numbers of
    matches. For the same reason, a bootstrap, which draws some instances twice, would be biased.
    Intervals are computed by leaving out one instance at a time (the jackknife of Efron and
    Tibshirani 1993, chapter 11): with T_d the value without instance d, of D instances, the
    standard error is

        sqrt((D - 1) / D * sum over d of (T_d - mean of T_d) ** 2),

    and the interval is the value -/+ t * error, where t is the quantile of Student's t with D - 1
    degrees of freedom, and the lower end is at least 0. One instance gives no interval.

    Args:
        messages: one row per message, with a text column ``message``.
        by: the columns whose combinations are the cells; by default all rows are one cell.
        ngrams: the n of n-grams, from 1.
        cluster: the columns that identify instances.
        level: the confidence level.

    Returns:
        One row per cell and metric: the columns of ``by``, then ``metric`` (``vocabulary``,
        ``entropy_1`` and so on), ``value``, ``error``, ``low``, ``high``, ``n`` (words or n-grams)
        and ``clusters`` (instances). A cell without n-grams has no row for their entropy.
    """
    sizes = sorted(set(ngrams))
    parts: list[pl.DataFrame] = []
    cells = messages.group_by(by, maintain_order=True) if by else [((), messages)]
    for key, cell in cells:
        rows = pl.DataFrame(list(_measured(cell, sizes, cluster, level)), SCHEMA, orient="row")
        named = [
            pl.lit(value, dtype=messages.schema[name]).alias(name)
            for name, value in zip(by, key, strict=True)
        ]
        parts.append(rows.select(*named, *SCHEMA))
    empty = pl.DataFrame(schema={name: messages.schema[name] for name in by} | SCHEMA)
    return pl.concat([empty, *parts])


def _measured(
    cell: pl.DataFrame, ngrams: Sequence[int], cluster: Sequence[str], level: float
) -> Iterator[list[Any]]:
    """Yield one row per metric, without grouping columns, for one group of messages."""
    instances = cell.select(cluster).unique().height
    words = (
        cell.select(
            instance=pl.struct(cluster).rank("dense"),
            text=pl.int_range(pl.len()),
            word=pl.col("message").str.to_lowercase().str.extract_all(WORD.pattern),
        )
        .explode("word")
        .drop_nulls("word")
    )
    for n in [0, *ngrams]:
        counts = _counts(words, n or 1)
        if n and counts.is_empty():
            continue
        own, total, instance = (counts[name].to_numpy() for name in ("own", "total", "instance"))
        value, without = (_entropies if n else _sizes)(own, total, instance - 1, instances)
        error = low = high = None
        if instances > 1 and not np.isnan(without).any():  # no instance has all n-grams
            error = jackknife_error(without)
            low, high = t_limits(value, error, instances - 1, level, (0.0, math.inf))
        name = entropy_name(n) if n else VOCABULARY
        yield [name, value, error, low, high, int(own.sum()), instances]


def _counts(words: pl.DataFrame, n: int) -> pl.DataFrame:
    """Count each n-gram by instance (``own``) and over all instances (``total``)."""
    later = {f"word.{step}": pl.col("word").shift(-step) for step in range(1, n)}
    within = pl.col("text") == pl.col("text").shift(1 - n)
    names = ["word", *later]
    runs = words.select("instance", "word", within=within, **later)
    same = runs.filter("within").group_by("instance", *names, maintain_order=True)
    own = same.agg(pl.len().alias("own"))
    return own.with_columns(total=pl.col("own").sum().over(names))


def _sizes(
    own: NDArray[Any], total: NDArray[Any], instance: NDArray[Any], instances: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the number of different n-grams, in total and with each instance left out."""
    size = float((own / total).sum().round())
    without = size - np.bincount(instance, own == total, instances).astype(np.float64)
    return size, without


def _entropies(
    own: NDArray[Any], overall: NDArray[Any], instance: NDArray[Any], instances: int
) -> tuple[float, NDArray[np.float64]]:
    """Return the entropy of n-grams, in total and with each instance left out.

    With N n-grams in total and c of one kind, it is log2 N - sum over kinds of c log2 c / N.
    """
    total, weight = float(own.sum()), float((own * np.log2(overall)).sum())
    removed = np.bincount(instance, _weights(overall) - _weights(overall - own), instances)
    remaining = total - np.bincount(instance, own, instances)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.where(
            remaining > 0, np.log2(remaining) - (weight - removed) / remaining, np.nan
        )
    return max(0.0, math.log2(total) - weight / total), without


def _weights(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return c log2 c, which is 0 for c = 0."""
    weights: NDArray[np.float64] = counts * np.log2(np.maximum(counts, 1))
    return weights
