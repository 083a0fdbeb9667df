from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from cheaptalk.rules import CheaptalkError
from cheaptalk.statistics import Regression, StatisticsError, ols, predicted_means, regressions
from tests.statistics.dense import bias_reduced

FACTORS = ["C(horizon)", "C(loss)", "model"]
REFERENCE = {"horizon": 12, "loss": 0.9, "model": "b"}


def games(rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """Return games with effects of 1 per step of a factor's levels, correlated within instances."""
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "instance": draw.integers(0, 40, rows),
            "horizon": draw.choice([1, 2, 12], rows),
            "loss": draw.choice([0.8, 0.9], rows),
            "model": draw.choice(["a", "b", "c", "d"], rows),
            "talk": draw.random(rows) < 0.5,
        }
    )
    effect = draw.normal(size=40)[frame["instance"].to_numpy()]
    noise = draw.normal(size=rows) * (1 + (frame["model"] == "a").to_numpy())
    steps = frame["model"].replace_strict({"a": 0, "b": 1, "c": 2, "d": 3}).to_numpy()
    return frame.with_columns(gain=pl.Series(steps + effect + noise, dtype=pl.Float64))


def columns(frame: pl.DataFrame) -> NDArray[np.float64]:
    """Return the same design matrix, built independently."""
    parts = [np.ones(len(frame))]
    for name in REFERENCE:
        parts += [
            (frame[name] == level).to_numpy().astype(float)
            for level in frame[name].unique().sort().to_list()
            if level != REFERENCE[name]
        ]
    return np.column_stack(parts)


def fitted(frame: pl.DataFrame, factors: Sequence[str] = FACTORS, **options: Any) -> Regression:
    return ols(
        frame, "gain", factors, **{"reference": REFERENCE, "cluster": ["instance"]} | options
    )


@pytest.mark.parametrize("errors", ["classical", "HC3", "cluster"])
@pytest.mark.parametrize("numbers", [[], ["age"]])
def test_agrees_with_statsmodels(errors: str, numbers: list[str]) -> None:
    frame = with_numbers(games())
    result = fitted(frame, [*FACTORS, *numbers], errors=errors, level=0.9)
    matrix = np.column_stack([columns(frame), *(frame[name].to_numpy() for name in numbers)])
    plain = sm.OLS(frame["gain"].to_numpy(), matrix).fit()
    robust = plain.get_robustcov_results
    oracle = {
        "classical": lambda: plain,
        "HC3": lambda: robust("HC3", use_t=True),
        "cluster": lambda: robust("cluster", groups=frame["instance"].to_numpy(), use_t=True),
    }[errors]()
    rows = result.frame.filter(~pl.col("reference"))
    names = ["horizon", "horizon", "loss", *["model"] * 3]
    assert rows["factor"].to_list() == ["(constant)", *names, *numbers]
    assert rows["level"].to_list() == [None, "1", "2", "0.8", "a", "c", "d", *[None] * len(numbers)]
    assert_allclose(rows["estimate"], oracle.params, rtol=1e-10, atol=1e-12)
    assert_allclose(result.coefficients, oracle.params, rtol=1e-10, atol=1e-12)
    assert_allclose(rows["error"], oracle.bse, rtol=1e-9)
    assert_allclose(rows["p"], oracle.pvalues, rtol=1e-7)
    limits = oracle.conf_int(alpha=0.1)
    assert_allclose(rows.select("low", "high").to_numpy(), limits, rtol=1e-8)
    assert result.r2 == pytest.approx(plain.rsquared)
    assert result.adjusted_r2 == pytest.approx(plain.rsquared_adj)
    assert (result.rows, result.notes) == (400, ())


def with_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Return games whose players have an age, played in a second of one day."""
    draw = np.random.default_rng(3)
    age = draw.integers(18, 80, len(frame)).astype(float)
    second = 1.7e9 + draw.uniform(0, 5e3, len(frame))
    outcome = pl.col("gain") + 0.05 * pl.Series(age)
    return frame.with_columns(age=pl.Series(age), second=pl.Series(second), gain=outcome)


def test_numeric_factors_are_single_regressors() -> None:
    """Large numbers, such as time stamps, don't reduce precision."""
    frame = with_numbers(games())
    since = frame.with_columns(second=(pl.col("second") - 1.7e9) / 1e6)
    late, early = (fitted(data, ["model", "second"]).frame for data in (frame, since))
    for name in ("estimate", "error"):
        far, near = (rows.filter(factor="second")[name][0] for rows in (late, early))
        assert far * 1e6 == pytest.approx(near, rel=1e-9)
        far, near = (rows.filter(factor="model", level="a")[name][0] for rows in (late, early))
        assert far == pytest.approx(near, rel=1e-9)

    result = fitted(games().with_columns(age=0.1 + 0.2), ["age"])
    assert result.frame["factor"].to_list() == ["(constant)"]
    assert result.notes == ('"age" is 0.3 in every row here, so it has no effect',)


def test_few_clusters_have_bias_reduced_errors() -> None:
    for instances in (10, 15):
        frame = games(80).with_columns(pl.col("instance") % instances)
        rare = (pl.col("instance") < 3) & (pl.col("model") == "c")
        frame = frame.with_columns(model=pl.when(rare).then(pl.lit("e")).otherwise("model"))
        result = fitted(frame).frame.filter(~pl.col("reference"))
        errors, freedom = bias_reduced(
            columns(frame), frame["gain"].to_numpy(), frame["instance"].to_numpy()
        )
        assert_allclose(result["error"], errors, rtol=1e-9)
        assert_allclose(result["freedom"], freedom, rtol=1e-9)
        assert "cluster-robust (CR2) by instance" in result["interval"][0]
        assert "t with Satterthwaite's degrees of freedom" in result["interval"][0]


def test_predicted_means_share_one_distribution() -> None:
    rows = [("a", "easy", 3.0)] * 9 + [("a", "hard", 1.0)] + [("b", "easy", 4.0)] * 2
    rows += [("b", "hard", 2.0)] * 8
    frame = pl.DataFrame(rows, schema=["model", "game", "gain"], orient="row")
    reference = {"model": "a", "game": "easy"}
    fit = fitted(frame, ["model", "game"], reference=reference, errors="classical")
    means = dict(predicted_means(fit, ["model"]).frame.select("model", "estimate").rows())
    assert means == pytest.approx({"a": 2.1, "b": 3.1})
    hard = pl.DataFrame({"game": ["easy", "hard"], "share": [1, 3]})
    result = predicted_means(fit, ["model"], configurations=hard, weight="share")
    assert result.frame["estimate"].to_list() == pytest.approx([1.5, 2.5])
    assert result.over == "2 given configurations"
    even = predicted_means(fit, ["model"], configurations=hard)
    assert even.frame["estimate"].to_list() == pytest.approx([2, 3])
    assert "predicted over 2 given configurations" in str(even)

    fit = fitted(games())
    result = predicted_means(fit, ["model"], configurations=pl.DataFrame({"horizon": [12]}))
    assert result.over == "1 given configurations, loss as in the regression's rows"
    cases: list[tuple[Any, Any, Any, str]] = [
        ([], {"horizon": [99]}, None, '"horizon" has no level 99; its levels are 1, 2, 12'),
        ([], {"horizon": []}, None, "configurations has no rows"),
        (["instance"], {"horizon": [12]}, None, 'unknown factor "instance"'),
        ([], {"horizon": [12], "w": [-1.0]}, "w", "must be >= 0"),
        ([], None, "w", "none are given"),
    ]
    for by, given, weight, message in cases:
        configurations = None if given is None else pl.DataFrame(given)
        with pytest.raises(CheaptalkError, match=message):
            predicted_means(fit, by, configurations=configurations, weight=weight)

    frame = with_numbers(games())
    fit = fitted(frame, ["model", "age"], reference={"model": "a"})
    constant, *_, slope = fit.coefficients
    at_mean = predicted_means(fit, ["model"]).frame.filter(model="a")["estimate"][0]
    assert at_mean == pytest.approx(constant + slope * float(frame["age"].to_numpy().mean()))
    ages = pl.DataFrame({"age": [20, 40]})
    means_of_ages = predicted_means(fit, ["model"], configurations=ages).frame
    assert means_of_ages.filter(model="a")["estimate"][0] == pytest.approx(constant + slope * 30)
    with pytest.raises(StatisticsError, match='"age" is a number and has no levels'):
        predicted_means(fit, ["age"])


INVALID: list[tuple[Any, Any, dict[str, Any], str]] = [
    ([], FACTORS, {"errors": "HC9"}, 'not a str: "HC9"'),
    ([], FACTORS, {"cluster": []}, "at least one column"),
    ([], ["age"], {"cluster": ["nowhere"]}, r'no column "nowhere" .* name the columns in cluster'),
    ([], ["model", "model"], {}, "distinct names"),
    ([], ["pair"], {}, r'no column "pair" .* to make the factor "pair" of'),
    ([], FACTORS, {"reference": {}}, 'a reference level for "horizon": one of 1, 2, 12'),
    ([], ["model"], {"reference": {"model": ("a", "b")}}, "has no reference level"),
    ([], ["model"], {"reference": {"model": "z"}}, '"model" has no reference level z'),
    ([], ["C(horizon)"], {"reference": {"horizon": True}}, "has no reference level true"),
    (
        [],
        ["both"],
        {"reference": {"both": (1,)}, "composites": {"both": ["talk", "model"]}},
        "has 2 parts",
    ),
    (
        [pl.col("model").alias("loss")],
        ["model", "loss"],
        {"reference": REFERENCE | {"loss": "a"}},
        "model and loss cannot be separated",
    ),
    ([pl.when("talk").then("model").alias("model")], ["model"], {}, '"model" is missing in'),
    ([pl.lit(None).alias("gain")], ["model"], {}, "no row has a value"),
    ([], ["age"], {"reference": {"age": 30}}, r'"age" is numeric .* write "C\(age\)"'),
    ([pl.lit(None, pl.Float64).alias("age")], ["age"], {}, '"age" is missing in 400 of 400 rows'),
    ([pl.lit(float("inf")).alias("age")], ["age"], {}, '"age" has values that are not finite'),
    ([pl.lit([1, 2]).alias("age")], ["age"], {}, r'"age" has type List\(Int64\)'),
]


@pytest.mark.parametrize(("changes", "factors", "options", "message"), INVALID)
def test_undetermined_effects_raise_error(
    changes: list[pl.Expr], factors: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(CheaptalkError, match=message):
        fitted(with_numbers(games()).with_columns(changes), factors, **options)


def test_missing_clusters_are_one_cluster() -> None:
    frame = games()
    gap = pl.when(pl.col("instance") > 0).then("instance")
    named = fitted(frame)
    result = fitted(frame.with_columns(instance=gap))
    assert result.frame.equals(named.frame)


def test_joint_regressions_equal_separate_ones() -> None:
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "kind": draw.choice(["a", "b", "c"], 60),
            "instance": draw.integers(0, 25, 60),
            "gain": draw.normal(size=60),
            "fair": [None if at % 7 == 0 else float(at % 5) for at in range(60)],
        }
    )
    shared: dict[str, Any] = {"reference": {"kind": "a"}, "cluster": ["instance"]}
    kinds: list[Any] = ["classical", "HC3", "cluster"]
    results = regressions(frame, ["gain", "fair"], ["kind"], errors=kinds, **shared)
    assert list(results) == [(outcome, kind) for outcome in ("gain", "fair") for kind in kinds]
    for (outcome, kind), result in results.items():
        single = ols(frame, outcome, ["kind"], errors=kind, **shared)
        assert result.frame.equals(single.frame)
        assert (result.rows, result.clusters) == (single.rows, single.clusters)
        assert (result.r2, result.notes) == (single.r2, single.notes)
    with pytest.raises(CheaptalkError, match="errors of regressions must be"):
        regressions(frame, ["gain"], ["kind"], errors=["robust"], **shared)  # type: ignore[list-item]


def test_rows_state_references_and_methods() -> None:
    frame = games()
    clustered = "cluster-robust (CR1) by instance, 40 clusters, t with 39 degrees of freedom"
    labels = {"HC3": "HC3, t with 393 degrees of freedom", "cluster": clustered}
    for errors, label in labels.items():
        result = fitted(frame, errors=errors)
        assert result.frame["interval"].unique().to_list() == [f"95 %, {label}"]
        assert label in str(result)
        assert "nan" not in str(result).lower()
    rows = fitted(frame).frame.filter("reference").rows(named=True)
    assert [(row["factor"], row["level"]) for row in rows] == [
        ("horizon", "12"),
        ("loss", "0.9"),
        ("model", "b"),
    ]
    for row in rows:
        assert (row["estimate"], row["error"], row["p"]) == (0, None, None)
    assert rows[2]["n"] == (frame["model"] == "b").sum()


def test_composite_contains_all_interactions() -> None:
    frame, composites = games(), {"market": ["talk", "horizon"]}
    result, again = (
        fitted(frame, ["market"], composites=composites, reference={"market": reference})
        for reference in ((False, 12), "talk=false horizon=12")
    )
    cells = frame.partition_by("talk", "horizon", as_dict=True)
    means = {key: float(part["gain"].to_numpy().mean()) for key, part in cells.items()}
    effects = {row["level"]: row["estimate"] for row in result.frame.rows(named=True)}
    assert effects["talk=true horizon=1"] == pytest.approx(means[True, 1] - means[False, 12])
    assert again.frame.equals(result.frame)


@pytest.mark.parametrize("value", [0.1, -123_456.789])
def test_equal_outcomes_have_no_effects(value: float) -> None:
    result = fitted(games(60).with_columns(gain=pl.lit(value)))
    first, *rest = result.frame.filter(~pl.col("reference")).rows(named=True)
    assert (first["estimate"], first["low"], first["high"]) == (value, value, value)
    assert all((row["estimate"], row["error"], row["p"]) == (0, 0, None) for row in rest)
    assert result.r2 is None
    assert "the factors fit the outcome exactly" in result.notes[0]
    assert "R2 = undefined" in str(result)


def test_factor_with_one_level_is_omitted_with_a_note() -> None:
    result = fitted(games().filter(pl.col("loss") == 0.9), errors="HC3")
    assert result.notes == ('"loss" has only the level 0.9 here, so it has no effect',)
    assert "loss" not in result.frame["factor"].to_list()


def test_rows_without_an_outcome_are_omitted_and_counted() -> None:
    frame = games()
    gaps = frame.with_columns(gain=pl.when(pl.col("talk")).then("gain"))
    result = fitted(gaps, errors="HC3")
    complete = frame.filter("talk")
    assert result.frame.equals(fitted(complete, errors="HC3").frame)
    assert result.notes == (f'{400 - len(complete)} rows without a value of "gain" omitted',)


def test_errors_need_enough_rows_and_clusters() -> None:
    frame = pl.DataFrame({"model": ["a", "b", "c"], "gain": [1.0, 2.0, 4.0]})
    by_model = partial(fitted, factors=["model"], errors="HC3", reference={"model": "a"})
    result = by_model(frame, errors="classical")
    assert result.frame["estimate"].to_list() == pytest.approx([1, 0, 1, 3])
    for column in ("error", "low", "high", "p"):
        assert result.frame[column].null_count() == 4
    assert result.notes == ("errors cannot be estimated from as many rows as effects",)
    assert result.adjusted_r2 is None

    gains = [1.0, 2, 3, 1, 4, 2, 3, 2, 5, 6, 4, 7, 5, 9]
    frame = pl.DataFrame({"model": ["a"] * 7 + ["b"] * 6 + ["c"], "gain": gains})
    result = by_model(frame)
    errors = dict(result.frame.select("level", "error").rows())
    assert errors["c"] is None
    two = by_model(frame.head(13))
    assert errors["b"] == pytest.approx(two.frame.filter(level="b")["error"][0])
    assert "only one row" in result.notes[0]
    single = by_model(frame, reference={"model": "c"}).frame
    assert single["error"].null_count() == 4

    frame = games().with_columns(instance=pl.when(model="c").then(99).otherwise("instance"))
    errors = dict(fitted(frame).frame.select("level", "error").rows())
    assert errors["c"] is None
    assert errors["d"] > 0
    other = fitted(frame, errors="cluster", reference=REFERENCE | {"model": "c"})
    known = other.frame.filter(pl.col("error").is_not_null())["factor"].unique().to_list()
    assert sorted(known) == ["horizon", "loss"]
    assert "only one cluster" in other.notes[0]

    instance = np.repeat(np.arange(30), 4)
    gain = np.sin(5.0 * np.arange(120))
    rows = {"instance": instance, "late": instance < 2, "long": instance == 1, "gain": gain}
    frame = pl.DataFrame(rows)
    fit = fitted(frame, ["late", "long"], reference={"late": False, "long": False})
    known = fit.frame.filter(pl.col("error").is_not_null())["factor"].to_list()
    assert known == ["(constant)"]  # except for instance 1, only instance 0 is late


def test_few_clusters_and_degrees_of_freedom_are_noted() -> None:
    few = fitted(games().with_columns(pl.col("instance") % 10))
    assert few.clusters == 10
    assert few.notes == (
        "10 clusters are few: if the outcome is a share or skewed, the intervals are too narrow",
    )
    fewer = fitted(games().with_columns(pl.col("instance") % 9))
    assert fewer.frame.select("error", "low", "high", "p").null_count().row(0) == (
        (len(fewer.frame),) * 4
    )
    assert fewer.frame["estimate"].to_list() == few.frame["estimate"].to_list()
    assert fewer.notes == (
        "the uncertainty of effects cannot be estimated: 9 clusters; at least 10 are needed",
    )
    single = fitted(games().with_columns(instance=1))
    assert single.frame["error"].null_count() == len(single.frame)
    assert single.notes == ("errors cannot be estimated from one cluster",)

    gain = np.random.default_rng(4).normal(size=24)
    frame = pl.DataFrame({"instance": range(24), "model": np.arange(24) // 2, "gain": gain})
    result = fitted(frame, ["C(model)"], reference={"model": 0})
    assert "24 rows for 12 columns leave 12 degrees of freedom" in " ".join(result.notes)
    fewer = fitted(frame.head(18), ["C(model)"], reference={"model": 0}, errors="HC3")
    problem = "9 degrees of freedom; at least 10 are needed"
    assert fewer.notes == (f"the uncertainty of effects cannot be estimated: {problem}",)
    assert fewer.frame["low"].null_count() == len(fewer.frame)

    instance = np.repeat(np.arange(80), 2)
    levels = {"treated": instance < 3, "spared": instance < 76, "odd": instance % 2 == 1}
    frame = pl.DataFrame({"instance": instance, **levels, "gain": np.sin(7.0 * instance)})
    (note,) = fitted(frame, [*levels], reference=dict.fromkeys(levels, False)).notes
    assert "few of the 80 clusters have these levels" in note
    assert note.endswith("too narrow: treated true (3), spared true (4)")


def test_identifiable_effects_are_estimated_beside_others() -> None:
    for errors in ("classical", "HC3", "cluster"):
        frame = games().with_columns(pl.col("model").alias("loss"))
        factors = ["C(horizon)", "talk", "model", "loss"]
        reference = REFERENCE | {"talk": True, "loss": "b"}
        options: dict[str, Any] = {"reference": reference, "cluster": ["instance"]}
        (result,) = regressions(
            frame, ["gain"], factors, errors=[errors], partial=True, **options
        ).values()
        separable = ols(frame, "gain", factors[:-1], errors=errors, **options)
        cols = ["estimate", "error", "low", "high", "p"]
        tied = pl.col("factor").is_in(["model", "loss"])
        unknown = result.frame.filter(tied, ~pl.col("reference")).select(cols)
        assert unknown.null_count().row(0) == (6,) * 5
        actual, oracle = (fit.frame.filter(~tied).select(cols) for fit in (result, separable))
        assert actual.equals(oracle) or actual.rows() == [
            pytest.approx(row) for row in oracle.rows()
        ]
        assert result.adjusted_r2 == pytest.approx(separable.adjusted_r2)
        assert "the effects of model and loss cannot be separated" in result.notes[0]


def test_predicted_means_are_cell_means() -> None:
    frame = games()
    result = predicted_means(fitted(frame, ["model"]), ["model"])
    raw = dict(frame.group_by("model").agg(pl.col("gain").mean()).rows())
    for row in result.frame.rows(named=True):
        assert row["estimate"] == pytest.approx(raw[row["model"]])
    overall = predicted_means(fitted(frame)).frame
    assert overall["estimate"][0] == pytest.approx(frame["gain"].mean())
    assert overall.columns == ["estimate", "error", "low", "high", "freedom", "interval"]

    frame = games()
    fit = fitted(frame, errors="HC3")
    matrix = columns(frame)
    oracle = sm.OLS(frame["gain"].to_numpy(), matrix).fit()
    robust = oracle.get_robustcov_results("HC3", use_t=True)
    point = matrix.mean(axis=0)
    point[-3:] = [0, 1, 0]
    test = robust.t_test(point)
    row = predicted_means(fit, ["model"]).frame.filter(model="c").row(0, named=True)
    assert (row["estimate"], row["error"]) == pytest.approx((test.effect[0], np.ravel(test.sd)[0]))
    assert (row["low"], row["high"]) == pytest.approx(tuple(test.conf_int()[0]))

    frame = games().with_columns(instance=pl.when(model="c").then(99).otherwise("instance"))
    cells = predicted_means(fitted(frame), ["model"]).frame
    assert cells.filter(pl.col("error").is_null())["model"].to_list() == ["c"]
    assert cells["estimate"].null_count() == 0


def test_levels_with_constant_outcome_are_noted() -> None:
    instance = np.arange(90)
    frame = pl.DataFrame(
        {"instance": instance, "kind": instance % 3, "won": (instance % 3 != 1) | (instance < 45)}
    )
    for reference in (0, 1):
        won = frame.with_columns(gain=pl.col("won").cast(int))
        (note,) = fitted(won, ["C(kind)"], reference={"kind": reference}).notes
        assert note.startswith("the outcome never varied at these levels")
        assert note.endswith("too narrow: kind 0, kind 2")
