"""Out-of-sample comparison of a linear model's predictions with those of boosted trees."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics.columns import (
    Frame,
    StatisticsError,
    as_polars,
    demand_columns,
    with_numbers,
)
from cheaptalk.statistics.design_matrix import level_texts, one_hot

Task = Literal["number", "yes or no"]
METRICS = {"number": ("rmse", "r2"), "yes or no": ("accuracy", "auc")}
LEARNERS = {
    "linear": ("sklearn.linear_model", "LinearRegression", "LogisticRegression"),
    "xgboost": ("xgboost", "XGBRegressor", "XGBClassifier"),
    "catboost": ("catboost", "CatBoostRegressor", "CatBoostClassifier"),
}
"""The package of each learner, and its classes for regression and classification."""


@dataclass(frozen=True, eq=False, repr=False)
class Baselines(Printed):
    """Out-of-sample scores of several prediction methods.

    Attributes:
        scores: one row per learner, seed and metric: ``learner``, ``seed``, ``metric``, ``score``.
        frame: one row per learner and metric: ``learner``, ``metric``, ``mean``, ``spread`` (the
            standard deviation over seeds; null for one seed) and ``splits`` (seeds with a score).
    """

    outcome: str
    label: str
    scores: pl.DataFrame = field(repr=False)

    @property
    def frame(self) -> pl.DataFrame:
        return self.scores.group_by("learner", "metric", maintain_order=True).agg(
            mean=pl.col("score").mean(),
            spread=pl.col("score").std(),
            splits=pl.col("score").count(),
        )

    def printout(self) -> Printout:
        return Printout.of(f"{self.outcome}: {self.label}", self.frame)


def prediction_baselines(
    frame: Frame,
    outcome: str,
    factors: Sequence[str],
    *,
    learners: Sequence[str] = tuple(LEARNERS),
    seeds: Sequence[int] = tuple(range(100)),
    test: float = 0.2,
) -> Baselines:
    """Compare a linear model with boosted trees out of sample, over random splits.

    For each seed, each learner is fitted to the training rows with default settings and scored on
    the held-out rows. All learners have the same splits and one-hot columns (GLEE, appendix F.3,
    Table 9: 80/20 splits, 100 seeds). The scores of a boolean outcome are accuracy and the area
    under the ROC curve; the scores of other outcomes are root mean squared error, in the outcome's
    unit, and out-of-sample R2. Undefined scores are null, such as the area if all held-out rows
    have the same outcome. Requires ``pip install "cheaptalk[predict]"``.

    Args:
        outcome: a column of numbers or booleans; rows without a value are ignored.
        factors: columns to treat as categorical; a missing value is a category.
        learners: any of ``linear`` (least squares, or logistic regression), ``xgboost``
            (Chen and Guestrin 2016) and ``catboost`` (Prokhorenkova et al. 2018).
        seeds: one random split for each seed.
        test: the share of rows held out, in (0, 1).

    Raises:
        CheaptalkError: a learner's package is not installed.
        StatisticsError: an argument is invalid, a column is missing, the outcome does not vary, or
            there are too few rows.
    """
    frame = as_polars(frame)
    unknown = [name for name in learners if name not in LEARNERS]
    if unknown or not learners or not len(seeds) or not 0 < test < 1:
        known = ", ".join(LEARNERS)
        raise StatisticsError(f"expected learners from {known}, at least one seed, test in (0, 1)")
    features, values, task = _prepared(frame, outcome, factors)
    for name in learners:
        _package(LEARNERS[name][0])
    split = _package("sklearn.model_selection").train_test_split
    rows: list[tuple[str, int, str, float | None]] = []
    for seed in seeds:
        parts = split(features, values, test_size=test, random_state=seed)
        for name in learners:
            scores = _scores(_learner(name, task, seed), parts, task)
            rows += [(name, seed, metric, score) for metric, score in scores.items()]
    schema = {"learner": pl.String, "seed": pl.Int64, "metric": pl.String, "score": pl.Float64}
    label = f"{len(seeds)} random splits, {test:.0%} of {len(values)} rows held out"
    return Baselines(outcome, label, pl.DataFrame(rows, schema=schema, orient="row"))


def _prepared(
    frame: pl.DataFrame, outcome: str, factors: Sequence[str]
) -> tuple[Any, NDArray[np.float64], Task]:
    demand_columns(frame, factors, "predict with")
    if not factors:
        raise StatisticsError("predictions need at least one factor")
    for name in factors:
        if frame.schema[name].is_nested():
            kind = frame.schema[name]
            raise StatisticsError(f'"{name}" has type {kind}; a predictor needs single values')
    task: Task = "yes or no" if frame.schema.get(outcome) == pl.Boolean else "number"
    rows = with_numbers(frame, [outcome], "predict")
    distinct = rows[outcome].n_unique()
    if len(rows) < 10 or distinct < 2:
        raise StatisticsError(
            f'"{outcome}" has {len(rows)} values, {distinct} of them distinct; prediction needs '
            "at least 10 rows and an outcome that varies"
        )
    codes, width = [], 0
    for name in factors:
        ranks = level_texts(rows, [name]).fill_null("(missing)").rank("dense").to_numpy()
        codes.append(ranks.astype(np.int64) - 1 + width)
        width += int(ranks.max())
    stacked = np.column_stack(codes)
    features = sparse.csr_matrix(one_hot(stacked.ravel(), width, len(codes)))
    return features, rows[outcome].to_numpy(), task


def _scores(learner: Any, parts: Sequence[Any], task: Task) -> dict[str, float | None]:
    train_x, test_x, train_y, test_y = parts
    metrics = _package("sklearn.metrics")
    varies = bool(np.ptp(test_y))
    if not np.ptp(train_y):
        return dict.fromkeys(METRICS[task])
    learner.fit(train_x, train_y)
    guess = learner.predict(test_x)
    if task == "number":
        rmse = float(np.sqrt(np.mean((guess - test_y) ** 2)))
        return {"rmse": rmse, "r2": float(metrics.r2_score(test_y, guess)) if varies else None}
    chance = learner.predict_proba(test_x)[:, 1]
    area = float(metrics.roc_auc_score(test_y, chance)) if varies else None
    return {"accuracy": float(metrics.accuracy_score(test_y, guess)), "auc": area}


def _learner(name: str, task: Task, seed: int) -> Any:
    package, *kinds = LEARNERS[name]
    settings: dict[str, dict[str, Any]] = {
        "linear": {} if task == "number" else {"max_iter": 1_000},
        "xgboost": {"random_state": seed},
        "catboost": {"random_seed": seed, "verbose": False, "allow_writing_files": False},
    }
    return getattr(_package(package), kinds[task != "number"])(**settings[name])


def _package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise CheaptalkError(
            f'Prediction baselines need {name}: pip install "cheaptalk[predict]"'
        ) from None
