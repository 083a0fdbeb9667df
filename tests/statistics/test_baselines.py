import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics import StatisticsError, prediction_baselines

TREES = ("xgboost", "catboost")


def games(rows: int = 240) -> pl.DataFrame:
    """A gain that adds up over two factors, and one that is high only where both agree."""
    draw = np.random.default_rng(1)
    one, two = draw.integers(0, 2, rows), draw.integers(0, 2, rows)
    return pl.DataFrame({"one": one, "two": two}).with_columns(
        sum=pl.Series(one + 2.0 * two + 0.3 * draw.normal(size=rows)),
        alike=pl.Series((one == two) + 0.3 * draw.normal(size=rows)),
        instance=pl.Series(one + two > 0),
        odd=pl.Series(one != two),
        flat=pl.lit(1.0),
    )


def scores(found: Any, metric: str) -> dict[str, float]:
    rows = found.frame.filter(metric=metric).select("learner", "mean").rows()
    return {learner: float(mean) for learner, mean in rows}


def test_a_linear_model_is_enough_where_effects_add_up() -> None:
    pytest.importorskip("sklearn")
    found = prediction_baselines(
        games(), "sum", ["one", "two"], learners=["linear"], seeds=range(5)
    )
    assert scores(found, "rmse")["linear"] == pytest.approx(0.3, abs=0.05)
    assert scores(found, "r2")["linear"] > 0.9
    assert found.frame["splits"].to_list() == [5, 5]
    assert "5 random splits, 20% of 240 rows held out" in str(found)
    again = prediction_baselines(
        games(), "sum", ["one", "two"], learners=["linear"], seeds=range(5)
    )
    assert found.scores.equals(again.scores)


@pytest.mark.parametrize("learner", TREES)
def test_trees_find_what_a_linear_model_cannot(learner: str) -> None:
    pytest.importorskip(learner)
    frame = games()
    number = prediction_baselines(
        frame, "alike", ["one", "two"], learners=["linear", learner], seeds=[1, 2]
    )
    assert scores(number, "r2")["linear"] < 0.1
    assert scores(number, "r2")[learner] > 0.5
    yes = prediction_baselines(
        frame, "odd", ["one", "two"], learners=["linear", learner], seeds=[1]
    )
    assert yes.scores["metric"].unique().sort().to_list() == ["accuracy", "auc"]
    assert scores(yes, "auc")[learner] == 1 > scores(yes, "accuracy")["linear"]
    assert yes.frame["spread"].null_count() == 4


def test_missing_levels_are_a_category_and_undefined_scores_are_null() -> None:
    pytest.importorskip("sklearn")
    frame = games().with_columns(one=pl.when(pl.col("one") == 1).then(1))
    found = prediction_baselines(frame, "sum", ["one", "two"], learners=["linear"], seeds=[0])
    assert scores(found, "r2")["linear"] > 0.9
    rare = pl.DataFrame({"x": ["a"] * 11, "instance": [True] + [False] * 10})
    some = prediction_baselines(rare, "instance", ["x"], learners=["linear"], seeds=range(8))
    assert some.frame.filter(metric="auc")["splits"][0] < 8
    assert not some.scores["score"].is_nan().any()


def test_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "catboost"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(CheaptalkError, match=r'need catboost: pip install "cheaptalk\[predict\]"'):
        prediction_baselines(games(), "sum", ["one"], learners=["catboost"])


@pytest.mark.parametrize(
    ("outcome", "factors", "options", "said"),
    [
        (
            "sum",
            ["one"],
            {"learners": ["forest"]},
            "expected learners from linear, xgboost, catboost",
        ),
        ("sum", ["one"], {"test": 20}, r"test in \(0, 1\)"),
        ("flat", ["one"], {}, '"flat" has 240 values, 1 of them distinct'),
        ("sum", ["three"], {}, 'no column "three" .* to predict with'),
        ("sum", [], {}, "at least one factor"),
    ],
)
def test_says_what_it_cannot_predict(
    outcome: str, factors: list[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises((StatisticsError, ValueError), match=said):
        prediction_baselines(games(), outcome, factors, **options)
