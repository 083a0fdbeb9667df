"""The language of many matches together: vocabulary and the entropy of n-grams, with intervals.

What one match says is measured by :mod:`cheaptalk.games.language`, whose words and formulas these
are.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from cheaptalk.games.language import WORD
from cheaptalk.statistics.intervals import DEALS

VOCABULARY = "vocabulary"
NGRAMS = (1, 2, 3)
SCHEMA: dict[str, Any] = {
    "measure": pl.String, "value": pl.Float64, "error": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "n": pl.Int64, "clusters": pl.Int64,
}  # fmt: skip


def entropy_name(n: int) -> str:
    """What the entropy of n-grams is called among measures."""
    return f"entropy_{n}"


def corpus_measures(
    messages: pl.DataFrame,
    by: Sequence[str] = (),
    *,
    ngrams: Iterable[int] = NGRAMS,
    cluster: Sequence[str] = DEALS,
    level: float = 0.95,
) -> pl.DataFrame:
    """How varied the language of many messages is (Liao, Tomlin and Klein 2024, figures 7 and 10).

    The vocabulary is the number V of different words in all messages of a cell, in small letters
    and without punctuation. The entropy of n-grams is H = - sum over g of p(g) log2 p(g), in bits,
    with p(g) the share of n-gram g among all runs of n words within a message.

    Both grow with the number of messages, so that only cells with about as many matches compare.
    For the same reason a bootstrap, which draws the same deals twice, would be off; intervals are
    made by leaving out one deal at a time (the jackknife of Efron and Tibshirani 1993, chapter 11):
    with T_d the value without deal d, of D deals, the standard error is

        sqrt((D - 1) / D * sum over d of (T_d - mean of T_d) ** 2),

    and the interval is the value -/+ t * error, with the quantile of Student's t with D - 1 degrees
    of freedom, and no less than 0. One deal gives no interval.

    Args:
        messages: one row a message, with a text column ``message``.
        by: the columns whose combinations are the cells; all rows are one cell without any.
        ngrams: the n of n-grams, from 1.
        cluster: the columns that tell deals apart.
        level: of the intervals.

    Returns:
        One row a cell and measure: the columns of ``by``, then ``measure`` (``vocabulary``,
        ``entropy_1`` and so on), ``value``, ``error``, ``low``, ``high``, ``n`` (words or n-grams)
        and ``clusters`` (deals). A cell without any n-gram has no row for their entropy.
    """
    wanted = sorted(set(ngrams))
    parts: list[pl.DataFrame] = []
    cells = messages.group_by(by, maintain_order=True) if by else [((), messages)]
    for key, cell in cells:
        found = pl.DataFrame(list(_measured(cell, wanted, cluster, level)), SCHEMA, orient="row")
        named = [
            pl.lit(value, dtype=messages.schema[name]).alias(name)
            for name, value in zip(by, key, strict=True)
        ]
        parts.append(found.select(*named, *SCHEMA))
    empty = pl.DataFrame(schema={name: messages.schema[name] for name in by} | SCHEMA)
    return pl.concat([empty, *parts])


def _measured(
    cell: pl.DataFrame, ngrams: Sequence[int], cluster: Sequence[str], level: float
) -> Iterator[list[Any]]:
    """The rows of a cell, without its key."""
    deals = cell.select(cluster).unique().height
    words = cell.select(
        deal=pl.struct(cluster).rank("dense"),
        text=pl.int_range(pl.len()),
        word=pl.col("message").str.to_lowercase().str.extract_all(WORD.pattern),
    ).explode("word").drop_nulls("word")  # fmt: skip
    for n in [0, *ngrams]:
        counts = _counts(words, n or 1)
        if n and counts.is_empty():
            continue
        own, whole, place = (counts[name].to_numpy() for name in ("own", "whole", "deal"))
        value, without = (_entropies if n else _sizes)(own, whole, place - 1, deals)
        error = low = high = None
        if deals > 1 and not np.isnan(without).any():  # else it is from one deal, or said on one
            error = math.sqrt((deals - 1) / deals * float(((without - without.mean()) ** 2).sum()))
            width = float(stdtrit(deals - 1, (1 + level) / 2)) * error
            low, high = max(0.0, value - width), value + width
        name = entropy_name(n) if n else VOCABULARY
        yield [name, value, error, low, high, int(own.sum()), deals]


def _counts(words: pl.DataFrame, n: int) -> pl.DataFrame:
    """How often each n-gram comes on each deal (``own``) and in all (``whole``)."""
    later = [pl.col("word").shift(-step).alias(f"word.{step}") for step in range(1, n)]
    names = ["word", *(f"word.{step}" for step in range(1, n))]
    runs = words.select(
        "deal", "word", *later, within=pl.col("text") == pl.col("text").shift(1 - n)
    )
    same = runs.filter("within").group_by("deal", *names, maintain_order=True)
    own = same.agg(pl.len().alias("own"))
    return own.with_columns(whole=pl.col("own").sum().over(names))


def _sizes(
    own: NDArray[Any], whole: NDArray[Any], deal: NDArray[Any], deals: int
) -> tuple[float, NDArray[np.float64]]:
    """The number of different n-grams, and what it is without each deal."""
    size = float((own / whole).sum().round())
    without = size - np.bincount(deal, own == whole, deals).astype(np.float64)
    return size, without


def _entropies(
    own: NDArray[Any], whole: NDArray[Any], deal: NDArray[Any], deals: int
) -> tuple[float, NDArray[np.float64]]:
    """The entropy of n-grams, and what it is without each deal.

    With N n-grams in all and c of one kind it is log2 N - sum over kinds of c log2 c / N.
    """
    total, weight = float(own.sum()), float((own * np.log2(whole)).sum())
    lost = np.bincount(deal, _weights(whole) - _weights(whole - own), deals)
    left = total - np.bincount(deal, own, deals)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.where(left > 0, np.log2(left) - (weight - lost) / left, np.nan)
    return max(0.0, math.log2(total) - weight / total), without


def _weights(counts: NDArray[Any]) -> NDArray[np.float64]:
    """c log2 c, 0 for none."""
    found: NDArray[np.float64] = counts * np.log2(np.maximum(counts, 1))
    return found
