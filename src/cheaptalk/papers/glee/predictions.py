"""Whether a linear model is enough: predictions beside those of boosted trees (Table 9)."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from cheaptalk.papers.glee.families import METRICS, FamilyMatches, families
from cheaptalk.papers.glee.regressions import MARKET, PLAYERS
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import COUNT, ERROR, Header, Lacking, ReportTable
from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics import StatisticsError, prediction_baselines
from cheaptalk.statistics.design_matrix import level_texts
from cheaptalk.text import capital

SPLITS = "splits"
LEARNERS = {"linear": "Linear regression", "xgboost": "XGBoost", "catboost": "CatBoost"}


def predictions(evidence: Evidence) -> Iterator[ReportTable]:
    """How far predictions of matches that were held out miss, and whether boosted trees miss less.

    For each split a fifth of the matches is held out at random; each learner is fitted to the rest
    with its own default settings, on the market, all other parameters and both players, one column
    a level. The number is the root mean squared error on what was held out, in the metric's unit,
    its mean over the splits, and in brackets their standard deviation (GLEE, appendix F.3).
    """
    rows, notes = [], []
    found = families(evidence)
    splits = _splits(evidence)
    for played in found:
        for metric in METRICS:
            try:
                rows.append(_row(played, metric, range(evidence.seed, evidence.seed + splits)))
            except StatisticsError as error:
                notes.append(f"{capital(played.game)}, {METRICS[metric]}: {error}.")
    if not rows:
        raise Lacking(" ".join(notes))
    yield ReportTable(
        "predictions", "Root mean squared error out of sample",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("family", "Family"), Header("metric", "Metric"),
         *(Header(key, title, "RMSE", 3) for key, title in LEARNERS.items())),
        f"Over {splits} random splits; in brackets the standard deviation over them.", tuple(notes),
    )  # fmt: skip


def _splits(evidence: Evidence) -> int:
    """How many splits are asked for.

    Raises:
        Lacking: none is, since trees take minutes.
        CheaptalkError: it is no number from 1.
    """
    told = evidence.options.get(SPLITS)
    if told is None:
        raise Lacking("boosted trees take minutes and are fitted when asked for: --set splits=100")
    if not told.isdecimal() or int(told) < 1:
        raise CheaptalkError(f"splits is a whole number from 1, not {told}")
    return int(told)


def _row(played: FamilyMatches, metric: str, seeds: range) -> dict[str, Any]:
    """How far each learner misses one metric.

    Raises:
        Lacking: a learner is not installed.
        StatisticsError: the metric does not vary, or matches are too few.
    """
    factors = [MARKET] * bool(played.market) + [*played.others, *PLAYERS]
    frame = played.frame
    if played.market:
        frame = frame.with_columns(level_texts(frame, played.market).alias(MARKET))
    try:
        found = prediction_baselines(
            frame, metric, factors, learners=list(LEARNERS), seeds=list(seeds)
        )
    except StatisticsError:
        raise
    except CheaptalkError as error:
        raise Lacking(str(error)) from None
    row: dict[str, Any] = {"family": capital(played.game), "metric": capital(METRICS[metric])}
    for one in found.frame.filter(metric="rmse").iter_rows(named=True):
        key = one["learner"]
        row |= {key: one["mean"], f"{key}{ERROR}": one["spread"], f"{key}{COUNT}": one["splits"]}
    return row
