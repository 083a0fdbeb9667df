from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from statsmodels.stats.multitest import multipletests

from cheaptalk.statistics import (
    StatisticsError,
    benjamini_hochberg,
    holm,
    pairwise_tests,
    permutation_test,
)


def two_sided(shuffled: list[float], seen: float) -> float:
    """Return twice the smaller one-sided share."""
    above = sum(value >= seen - 1e-12 for value in shuffled)
    below = sum(value <= seen + 1e-12 for value in shuffled)
    return min(1, 2 * min(above, below) / len(shuffled))


def test_few_values_are_tested_exactly() -> None:
    first, second = [5.0, 7.0, 6.5, 9.0, 1.0], [4.0, 5.5, 5.0, 6.0, 1.5]
    gaps = np.subtract(first, second)
    flips = [float(np.mean(gaps * signs)) for signs in product([1, -1], repeat=5)]
    result = permutation_test(first, second, paired=True)
    assert result.exact
    assert result.difference == pytest.approx(gaps.mean())
    assert result.p == pytest.approx(two_sided(flips, float(gaps.mean())))

    first, second = [1.0, 4.0, 3.0], [2.0, 7.0, 8.0, 9.0]
    pool = np.array(first + second)
    shuffled = []
    for chosen in combinations(range(7), 3):
        rest = [at for at in range(7) if at not in chosen]
        shuffled.append(float(pool[list(chosen)].mean() - pool[rest].mean()))
    result = permutation_test(first, second, paired=False)
    assert result.exact
    assert result.n == (3, 4)
    assert result.p == pytest.approx(two_sided(shuffled, float(np.mean(first) - np.mean(second))))

    for paired in (True, False):
        assert permutation_test([1.0, 2.0], [1.0, 2.0], paired=paired).p == 1
    assert permutation_test([1.0], [2.0], paired=True).p == 1


def test_many_values_use_random_permutations() -> None:
    for paired in (True, False):
        draw = np.random.default_rng(1)
        first, second = draw.normal(0.9, 1, 40), draw.normal(0, 1, 40)
        result = permutation_test(first, second, paired=paired, draws=999, seed=1)
        assert not result.exact
        assert 0.001 <= result.p < 0.05
        assert result == permutation_test(first, second, paired=paired, draws=999, seed=1)


def test_invalid_tests_raise_error() -> None:
    for first, second, paired, message in [
        ([1.0], [1.0, 2.0], True, "of equal length, not 1 values with 2"),
        ([], [1.0], False, "two samples, not 0 values with 1"),
        ([float("nan")], [1.0], True, "finite"),
    ]:
        with pytest.raises((StatisticsError, ValueError), match=message):
            permutation_test(first, second, paired=paired)

    with pytest.raises(StatisticsError, match="fewer than two groups"):
        pairwise_tests(
            populations().with_columns(one=1), "gain", "one", paired=True, cluster=["instance"]
        )


def test_corrections_agree_with_statsmodels() -> None:
    p = np.random.default_rng(3).random(30) ** 3
    assert_allclose(holm(p), multipletests(p, method="holm")[1])
    assert_allclose(benjamini_hochberg(p), multipletests(p, method="fdr_bh")[1])
    for correct in (holm, benjamini_hochberg):
        assert len(correct([])) == 0
        with pytest.raises(ValueError, match="finite numbers"):
            correct([0.5, float("nan")])
        with pytest.raises(ValueError, match="between 0 and 1"):
            correct([0.5, 1.5])


def populations() -> pl.DataFrame:
    """Return three populations on shared instances, two matches each; the third gains more."""
    draw = np.random.default_rng(4)
    instance = np.repeat(np.arange(20), 6)
    who = np.tile(["bayes", "bayes", "human", "human", "model", "model"], 20)
    gain = 5 * draw.normal(size=20)[instance] + (who == "model") + 0.3 * draw.normal(size=120)
    return pl.DataFrame({"instance": instance, "who": who, "gain": gain})


def test_pairs_of_groups_are_compared() -> None:
    frame = populations()
    result = pairwise_tests(frame, "gain", "who", paired=True, cluster=["instance"])
    rows = {(row["first"], row["second"]): row for row in result.frame.rows(named=True)}
    assert list(rows) == [("bayes", "human"), ("bayes", "model"), ("human", "model")]
    assert rows["bayes", "human"]["p"] > 0.05
    assert rows["human", "model"]["p_holm"] < 0.01
    assert rows["human", "model"]["n_first"] == 20
    assert_allclose(result.frame["p_holm"], holm(result.frame["p"].to_numpy()))
    assert_allclose(result.frame["p_bh"], benjamini_hochberg(result.frame["p"].to_numpy()))
    assert rows["human", "model"]["test"] == "paired permutation test, two-sided, drawn"
    assert "p_holm" in str(result)
    unpaired = pairwise_tests(frame, "gain", "who", paired=False, cluster=["instance"]).frame
    assert unpaired["p"].to_numpy().min() > 0.1

    frame = populations()
    copies = pl.concat([frame] * 4)
    for paired in (True, False):
        single, repeated = (
            pairwise_tests(data, "gain", "who", paired=paired, cluster=["instance"]).frame["p"]
            for data in (frame, copies)
        )
        assert_allclose(single, repeated)
    unclustered = pairwise_tests(frame, "gain", "who", paired=False, cluster=[]).frame
    assert unclustered["n_first"].to_list() == [40, 40, 40]

    frame = pl.DataFrame(
        {"instance": [1, 2, 3, 4, 1, 2], "who": list("aabbcc"), "gain": [1.0, 2, 3, 4, 5, 7]}
    )
    result = pairwise_tests(frame, "gain", "who", paired=True, cluster=["instance"])
    assert result.frame.select("first", "second").rows() == [("a", "c")]
    assert result.notes == (
        "cannot compare a with b: they share no instance",
        "cannot compare b with c: they share no instance",
    )
    apart = pairwise_tests(frame.head(4), "gain", "who", paired=True, cluster=["instance"])
    assert apart.frame.is_empty()
