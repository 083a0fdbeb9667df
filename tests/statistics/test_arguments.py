"""Errors of the public statistics functions: one sentence that says how to fix the argument."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
import pytest

from cheaptalk import statistics
from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics import (
    benjamini_hochberg,
    bootstrap,
    correlation,
    holm,
    mean_intervals,
    ols,
    pairwise_tests,
    permutation_test,
    predicted_means,
    prediction_baselines,
    rank_ranges,
    regressions,
)

Function = Callable[..., Any]


def games() -> pl.DataFrame:
    draw = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "configuration": ["c"] * 60,
            "instance": [str(at // 2) for at in range(60)],
            "model": ["a", "b"] * 30,
            "gain": draw.normal(size=60),
            "share": draw.random(60),
        }
    )


def mean(frame: pl.DataFrame) -> dict[str, float | None]:
    return {"mean": float(frame["gain"].to_numpy().mean()) if len(frame) else None}


FIT = ols(games(), "gain", ["model"], reference={"model": "a"})
FRAMES: dict[str, Function] = {
    "mean_intervals": lambda frame, value="gain", by="model": mean_intervals(frame, [value], [by]),
    "bootstrap": lambda frame, value="instance", by="instance": bootstrap(
        frame, mean, cluster=[value], strata=[by], draws=9
    ),
    "correlation": lambda frame, value="gain", by="share": correlation(frame, value, by, draws=9),
    "ols": lambda frame, value="gain", by="model": ols(frame, value, [by], reference={by: "a"}),
    "regressions": lambda frame, value="gain", by="model": regressions(
        frame, [value], [by], reference={by: "a"}
    ),
    "pairwise_tests": lambda frame, value="gain", by="model": pairwise_tests(
        frame, value, by, paired=True, draws=9
    ),
    "rank_ranges": lambda frame, value="gain", by="model": rank_ranges(frame, value, by, draws=9),
    "prediction_baselines": lambda frame, value="gain", by="model": prediction_baselines(
        frame, value, [by], learners=["linear"], seeds=[1]
    ),
    "predicted_means": lambda frame, value="share", by="model": predicted_means(
        FIT, [by], configurations=frame, weight=value
    ),
}
"""Functions of a frame, by a value column and a grouping column."""
SAMPLES: dict[str, Function] = {
    "holm": holm,
    "benjamini_hochberg": benjamini_hochberg,
    "permutation_test": lambda values: permutation_test(values, [0.1, 0.2], paired=False),
}
"""Functions of lists of numbers."""


def error_message(use: Function, *arguments: Any, **options: Any) -> str:
    """Return the message of the error that a call raises."""
    with pytest.raises(CheaptalkError) as error:
        use(*arguments, **options)
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 300
    return text


def test_public_functions_are_tested_with_invalid_arguments() -> None:
    functions = {name for name in statistics.__all__ if name.islower()}
    assert functions == {*FRAMES, *SAMPLES}

    cases: list[tuple[Any, ...]] = [
        (mean_intervals, {"values": "gain"}, r'such as \["gain"\]'),
        (mean_intervals, {"values": []}, "at least one column"),
        (mean_intervals, {"values": ["gain"], "level": 95}, "not 95"),
        (mean_intervals, {"values": ["gain"], "cluster": []}, "to cluster by"),
        (mean_intervals, {"values": ["gain"], "cluster": ["instances"]}, 'did you mean "instance"'),
        (mean_intervals, {"values": ["gain"], "strata": ["game"]}, 'no column "game"'),
        (mean_intervals, {"values": ["gain"], "bounds": {"gain": ("model", "share")}}, "String"),
        (bootstrap, {"statistic": mean, "draws": 1}, "draws must be at least 2, not 1"),
        (bootstrap, {"statistic": len}, "must return numbers by name"),
        (bootstrap, {"statistic": mean, "level": 0}, "not 0"),
        (correlation, {"x": "gain", "y": "share", "method": "linear"}, 'not a str: "linear"'),
        (correlation, {"x": "gain", "y": "share", "interval": "exact"}, 'not a str: "exact"'),
        (correlation, {"x": "gain", "y": "share", "level": 2}, "not 2"),
        (pairwise_tests, {"value": "gain", "by": "model", "paired": True, "cluster": []}, "paired"),
        (pairwise_tests, {"value": "gain", "by": "model", "paired": True, "draws": 0}, "not 0"),
        (rank_ranges, {"value": "gain", "by": "model", "draws": 0}, "not 0"),
        (ols, {"outcome": "gain", "factors": ["model", "model"]}, "list of distinct names"),
        (ols, {"outcome": "gain", "factors": ["model"], "level": -1}, "not -1"),
        (prediction_baselines, {"outcome": "gain", "factors": [], "learners": ["linear"]}, "one"),
    ]
    for use, options, message in cases:
        assert re.search(message, error_message(use, games(), **options))


def test_missing_column_suggests_the_nearest() -> None:
    frame = games().rename({"gain": "gains", "instance": "instances", "share": "shares"})
    for use in FRAMES.values():
        assert 'did you mean "' in error_message(use, frame)
        assert '"modle" (did you mean "model"?)' in error_message(use, games(), by="modle")


def test_unusable_frames_are_rejected() -> None:
    for name in [name for name in FRAMES if name != "bootstrap"]:
        frame = games().with_columns(pl.col("gain", "share").cast(pl.String))
        assert re.search(
            r'"(gain|share)" has type String; numbers are needed',
            error_message(FRAMES[name], frame),
        )

    for name in [name for name in FRAMES if name != "mean_intervals"]:
        error_message(FRAMES[name], games().clear())

    for name in [name for name in FRAMES if name != "predicted_means"]:
        text = error_message(FRAMES[name], games().to_dict())
        assert "polars or pandas" in text or "or None" in text, text

    means = mean_intervals(games().clear(), ["gain"], ["model"])
    assert means.is_empty()
    assert means.columns == mean_intervals(games(), ["gain"], ["model"]).columns

    wide = games().with_columns(pl.lit(0).alias(f"column {at}") for at in range(50))
    assert error_message(FRAMES["ols"], wide, value="xyz").endswith("and 43 more) to explain")


def test_non_numeric_samples_are_rejected() -> None:
    samples: list[Any] = [["much", "more"], [0.1, None], [0.1, float("nan")], [[0.1]]]
    for use in SAMPLES.values():
        assert all("numbers" in error_message(use, values) for values in samples)


def test_column_correlates_perfectly_with_itself() -> None:
    assert correlation(games(), "gain", "gain", interval="fisher").estimate == pytest.approx(1)


def test_pandas_frames_are_accepted() -> None:
    frame = games().with_columns(gain=pl.when(pl.col("instance") != "3").then("gain"))
    pandas = frame.to_pandas().set_index(np.arange(60)[::-1])  # a missing gain is NaN
    for name, function in FRAMES.items():
        if name != "prediction_baselines" or find_spec("sklearn"):
            assert str(function(pandas)) == str(function(frame)), name
