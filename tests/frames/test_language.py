"""The language of many matches: the same words and formulas as of one, and honest intervals."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cheaptalk as ct
from cheaptalk.frames.language import corpus_metrics, entropy_name
from cheaptalk.games.language import ngram_entropy, vocabulary, words

WORDS = ["I", "take", "the", "books", "hats", "you'd", "don\u2019t", "2", "Instance", "no", "yes"]
SCHEMA = {
    "configuration": pl.String, "instance": pl.String, "who": pl.String, "message": pl.String,
}  # fmt: skip


def messages(seed: int = 1, number: int = 200) -> pl.DataFrame:
    """Messages of two players over a dozen instances, some of them empty."""
    draw = np.random.default_rng(seed)
    rows = [
        ("c", str(draw.integers(12)), str(draw.choice(["a", "b"])),
         " ".join(draw.choice(WORDS, draw.integers(0, 9))))
        for _ in range(number)
    ]  # fmt: skip
    return pl.DataFrame(rows, SCHEMA, orient="row")


def one_by_one(frame: pl.DataFrame, metric: str) -> float | None:
    texts = frame["message"].to_list()
    if metric == "vocabulary":
        return vocabulary(texts)
    return ngram_entropy(texts, int(metric[-1]))


def test_the_numbers_are_those_of_the_plain_functions_and_their_jackknife() -> None:
    frame = messages()
    found = corpus_metrics(frame, ["who"])
    assert found.height == 8
    for row in found.iter_rows(named=True):
        own = frame.filter(pl.col("who") == row["who"])
        assert row["value"] == pytest.approx(one_by_one(own, row["metric"]))
        without = [
            one_by_one(own.filter(pl.col("instance") != instance), row["metric"])
            for instance in own["instance"].unique()
        ]
        spread = np.array(without, float)
        instances = len(without)
        error = math.sqrt(
            (instances - 1) / instances * float(((spread - spread.mean()) ** 2).sum())
        )
        assert row["error"] == pytest.approx(error)
        assert row["clusters"] == instances
        assert row["low"] <= row["value"] <= row["high"]


def test_an_interval_has_the_quantile_of_students_t() -> None:
    row = corpus_metrics(messages(), ngrams=[2]).row(1, named=True)
    assert row["metric"] == entropy_name(2)
    assert row["high"] - row["value"] == pytest.approx(2.200985 * row["error"], rel=1e-6)
    wider = corpus_metrics(messages(), ngrams=[2], level=0.99).row(1, named=True)
    assert wider["high"] > row["high"]


def test_intervals_cover_what_other_instances_would_say() -> None:
    """Each instance is a dialogue of its own kind, so that messages of one instance are alike."""

    def study(draw: np.random.Generator) -> pl.DataFrame:
        rows = []
        for instance in range(40):
            favourite = draw.permutation(len(WORDS))[:4]
            for _ in range(5):
                said = " ".join(WORDS[at] for at in draw.choice(favourite, 6))
                rows.append(("c", str(instance), "a", said))
        return pl.DataFrame(rows, SCHEMA, orient="row")

    draw = np.random.default_rng(5)
    found = [corpus_metrics(study(draw), ngrams=[1]).row(1, named=True) for _ in range(200)]
    truth = np.mean([row["value"] for row in found])
    covered = np.mean([row["low"] <= truth <= row["high"] for row in found])
    assert 0.9 <= covered <= 0.99


def test_one_instance_has_no_interval_and_no_words_have_no_entropy() -> None:
    one = corpus_metrics(messages().with_columns(instance=pl.lit("0")))
    assert one["error"].null_count() == one.height == 4
    mute = pl.DataFrame([("c", "0", "a", "!?"), ("c", "1", "a", "")], SCHEMA, orient="row")
    (row,) = corpus_metrics(mute).rows(named=True)
    assert (row["metric"], row["value"], row["n"], row["clusters"]) == ("vocabulary", 0, 0, 2)
    assert corpus_metrics(messages().head(0), ["who"]).is_empty()


def test_what_is_said_on_one_instance_only_has_no_interval() -> None:
    rows = [("c", "0", "a", "no instance"), ("c", "1", "a", "yes")]
    found = corpus_metrics(pl.DataFrame(rows, SCHEMA, orient="row"), ngrams=[2])
    pairs = found.row(by_predicate=pl.col("metric") == "entropy_2", named=True)
    assert (pairs["value"], pairs["error"], pairs["n"]) == (0, None, 1)


@given(st.lists(st.text("aB'\u2019 _-2.é\n", max_size=20), max_size=8))
def test_words_are_read_alike_in_python_and_in_polars(texts: list[str]) -> None:
    frame = pl.DataFrame([("c", "d", "a", text) for text in texts], SCHEMA, orient="row")
    found = {row["metric"]: row for row in corpus_metrics(frame).iter_rows(named=True)}
    if texts:
        assert found["vocabulary"]["value"] == vocabulary(texts)
        assert found["vocabulary"]["n"] == sum(len(words(text)) for text in texts)
    for n in (1, 2, 3):
        value = ngram_entropy(texts, n)
        said = found.get(entropy_name(n))
        assert (said is None) == (value is None)
        assert said is None or said["value"] == pytest.approx(value, abs=1e-9)


def test_it_is_where_people_look_for_it() -> None:
    assert ct.frames.corpus_metrics is corpus_metrics
