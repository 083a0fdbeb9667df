"""Language metrics of many matches: the formulas for one match, with intervals."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.frames.language import corpus_metrics, entropy_name
from cheaptalk.games.language import ngram_entropy, vocabulary, words

WORDS = ["I", "take", "the", "books", "hats", "you'd", "don\u2019t", "2", "Instance", "no", "yes"]
SCHEMA = {
    "configuration": pl.String, "instance": pl.String, "who": pl.String, "message": pl.String,
}  # fmt: skip


def messages(seed: int = 1, number: int = 200) -> pl.DataFrame:
    """Messages of two players on a dozen instances; some are empty."""
    draw = np.random.default_rng(seed)
    rows = [
        ("c", str(draw.integers(12)), str(draw.choice(["a", "b"])),
         " ".join(draw.choice(WORDS, draw.integers(0, 9))))
        for _ in range(number)
    ]  # fmt: skip
    return pl.DataFrame(rows, SCHEMA, orient="row")


def plain_metric(frame: pl.DataFrame, metric: str) -> float | None:
    texts = frame["message"].to_list()
    if metric == "vocabulary":
        return vocabulary(texts)
    return ngram_entropy(texts, int(metric[-1]))


def test_metrics_match_plain_functions_and_their_jackknife() -> None:
    frame = messages()
    metrics = corpus_metrics(frame, ["who"])
    assert metrics.height == 8
    for row in metrics.iter_rows(named=True):
        rows = frame.filter(pl.col("who") == row["who"])
        assert row["value"] == pytest.approx(plain_metric(rows, row["metric"]))
        without = [
            plain_metric(rows.filter(pl.col("instance") != instance), row["metric"])
            for instance in rows["instance"].unique()
        ]
        spread = np.array(without, float)
        instances = len(without)
        error = math.sqrt(
            (instances - 1) / instances * float(((spread - spread.mean()) ** 2).sum())
        )
        assert row["error"] == pytest.approx(error)
        assert row["clusters"] == instances
        assert row["low"] <= row["value"] <= row["high"]


def test_interval_uses_students_t_quantile() -> None:
    row = corpus_metrics(messages(), ngrams=[2]).row(1, named=True)
    assert row["metric"] == entropy_name(2)
    assert row["high"] - row["value"] == pytest.approx(2.200985 * row["error"], rel=1e-6)
    wider = corpus_metrics(messages(), ngrams=[2], level=0.99).row(1, named=True)
    assert wider["high"] > row["high"]


def test_intervals_cover_the_mean_over_studies() -> None:
    """Messages of an instance share a vocabulary, so they are correlated."""

    def study(draw: np.random.Generator) -> pl.DataFrame:
        rows = []
        for instance in range(40):
            favourites = draw.permutation(len(WORDS))[:4]
            for _ in range(5):
                message = " ".join(WORDS[index] for index in draw.choice(favourites, 6))
                rows.append(("c", str(instance), "a", message))
        return pl.DataFrame(rows, SCHEMA, orient="row")

    draw = np.random.default_rng(5)
    estimates = [corpus_metrics(study(draw), ngrams=[1]).row(1, named=True) for _ in range(100)]
    mean = np.mean([row["value"] for row in estimates])
    covered = np.mean([row["low"] <= mean <= row["high"] for row in estimates])
    assert 0.9 <= covered <= 0.99


def test_one_instance_has_no_interval_and_empty_texts_no_entropy() -> None:
    single = corpus_metrics(messages().with_columns(instance=pl.lit("0")))
    assert single["error"].null_count() == single.height == 4
    mute = pl.DataFrame([("c", "0", "a", "!?"), ("c", "1", "a", "")], SCHEMA, orient="row")
    (row,) = corpus_metrics(mute).rows(named=True)
    assert (row["metric"], row["value"], row["n"], row["clusters"]) == ("vocabulary", 0, 0, 2)
    assert corpus_metrics(messages().head(0), ["who"]).is_empty()
    rows = [("c", "0", "a", "no instance"), ("c", "1", "a", "yes")]
    metrics = corpus_metrics(pl.DataFrame(rows, SCHEMA, orient="row"), ngrams=[2])
    pairs = metrics.row(by_predicate=pl.col("metric") == "entropy_2", named=True)
    assert (pairs["value"], pairs["error"], pairs["n"]) == (0, None, 1)


@given(st.lists(st.text("aB'\u2019 _-2.é\n", max_size=20), max_size=8))
def test_python_and_polars_split_words_alike(texts: list[str]) -> None:
    frame = pl.DataFrame([("c", "d", "a", text) for text in texts], SCHEMA, orient="row")
    metrics = {row["metric"]: row for row in corpus_metrics(frame).iter_rows(named=True)}
    if texts:
        assert metrics["vocabulary"]["value"] == vocabulary(texts)
        assert metrics["vocabulary"]["n"] == sum(len(words(text)) for text in texts)
    for n in (1, 2, 3):
        value = ngram_entropy(texts, n)
        entropy = metrics.get(entropy_name(n))
        assert (entropy is None) == (value is None)
        assert entropy is None or entropy["value"] == pytest.approx(value, abs=1e-9)
