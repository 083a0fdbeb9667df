import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics import StatisticsError, prediction_baselines

TREES = ("xgboost", "catboost")


def games(rows: int = 240) -> pl.DataFrame:
    """Return a gain that adds up over two factors, and one that is high only if both agree."""
    draw = np.random.default_rng(1)
    first, second = draw.integers(0, 2, rows), draw.integers(0, 2, rows)
    return pl.DataFrame({"one": first, "two": second}).with_columns(
        sum=pl.Series(first + 2.0 * second + 0.3 * draw.normal(size=rows)),
        alike=pl.Series((first == second) + 0.3 * draw.normal(size=rows)),
        instance=pl.Series(first + second > 0),
        odd=pl.Series(first != second),
        flat=pl.lit(1.0),
    )


def scores(result: Any, metric: str) -> dict[str, float]:
    rows = result.frame.filter(metric=metric).select("learner", "mean").rows()
    return {learner: float(mean) for learner, mean in rows}


def test_linear_model_fits_additive_effects() -> None:
    pytest.importorskip("sklearn")
    result = prediction_baselines(
        games(), "sum", ["one", "two"], learners=["linear"], seeds=range(5)
    )
    assert scores(result, "rmse")["linear"] == pytest.approx(0.3, abs=0.05)
    assert scores(result, "r2")["linear"] > 0.9
    assert result.frame["splits"].to_list() == [5, 5]
    assert "5 random splits, 20% of 240 rows held out" in str(result)
    again = prediction_baselines(
        games(), "sum", ["one", "two"], learners=["linear"], seeds=range(5)
    )
    assert result.scores.equals(again.scores)


def test_trees_find_interactions_that_linear_models_miss() -> None:
    for learner in TREES:
        pytest.importorskip(learner)
        frame = games()
        regression = prediction_baselines(
            frame, "alike", ["one", "two"], learners=["linear", learner], seeds=[1, 2]
        )
        assert scores(regression, "r2")["linear"] < 0.1
        assert scores(regression, "r2")[learner] > 0.5
        binary = prediction_baselines(
            frame, "odd", ["one", "two"], learners=["linear", learner], seeds=[1]
        )
        assert binary.scores["metric"].unique().sort().to_list() == ["accuracy", "auc"]
        assert scores(binary, "auc")[learner] == 1 > scores(binary, "accuracy")["linear"]
        assert binary.frame["spread"].null_count() == 4


def test_missing_levels_are_a_category_and_undefined_scores_are_null() -> None:
    pytest.importorskip("sklearn")
    frame = games().with_columns(one=pl.when(pl.col("one") == 1).then(1))
    result = prediction_baselines(frame, "sum", ["one", "two"], learners=["linear"], seeds=[0])
    assert scores(result, "r2")["linear"] > 0.9
    rare = pl.DataFrame({"x": ["a"] * 11, "instance": [True] + [False] * 10})
    rare_result = prediction_baselines(rare, "instance", ["x"], learners=["linear"], seeds=range(8))
    assert rare_result.frame.filter(metric="auc")["splits"][0] < 8
    assert not rare_result.scores["score"].is_nan().any()


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "catboost"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(CheaptalkError, match=r'need catboost: pip install "cheaptalk\[predict\]"'):
        prediction_baselines(games(), "sum", ["one"], learners=["catboost"])


def test_invalid_arguments_raise_error() -> None:
    cases: list[tuple[Any, ...]] = [
        ("sum", ["one"], {"learners": ["forest"]}, "learners from linear, xgboost, catboost"),
        ("sum", ["one"], {"test": 20}, r"test in \(0, 1\)"),
        ("flat", ["one"], {}, '"flat" has 240 values, 1 of them distinct'),
    ]
    for outcome, factors, options, message in cases:
        with pytest.raises((StatisticsError, ValueError), match=message):
            prediction_baselines(games(), outcome, factors, **options)
