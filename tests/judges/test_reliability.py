"""Krippendorff's alpha of several raters with missing ratings."""

from itertools import combinations
from typing import get_args

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.judges.agreement import Metric, coincidences_by_instance, krippendorff_alpha
from cheaptalk.records import Store
from tests.judges.judged import STUDY, always, judge_of, play
from tests.judges.test_agreement import imitate_check

Ratings = list[list[int | None]]
PUBLISHED: Ratings = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C: four observers."""


def simulate_ratings() -> Ratings:
    """Return ratings of 40 items by four noisy raters, a fifth of them missing."""
    draw = np.random.default_rng(11)
    truth = draw.integers(0, 5, 40)
    raters = [
        np.where(draw.random(40) < 0.6, truth, draw.integers(0, 5, 40)).astype(float)
        for _ in range(4)
    ]
    data = np.array(raters)
    data[draw.random(data.shape) < 0.2] = np.nan
    return [[None if np.isnan(rating) else int(rating) for rating in rater] for rater in data]


def alpha(ratings: Ratings, metric: Metric) -> float:
    verdicts = [
        {"m": {str(item): str(rating) for item, rating in enumerate(rater) if rating is not None}}
        for rater in ratings
    ]
    known = sorted({rating for rater in ratings for rating in rater if rating is not None})
    labels = [str(value) for value in range(known[0], known[-1] + 1)]
    tables, _ = coincidences_by_instance(verdicts, labels, {"m": "deal"})
    return float(krippendorff_alpha(tables, metric)[0])


def pairwise_alpha(ratings: Ratings) -> float:
    """Compute interval alpha from all pairs of verdicts instead of tables."""
    items = [[value for value in item if value is not None] for item in zip(*ratings, strict=True)]
    items = [item for item in items if len(item) > 1]
    pooled = [value for item in items for value in item]
    within = sum(
        2 * (first - second) ** 2 / (len(item) - 1)
        for item in items
        for first, second in combinations(item, 2)
    )
    across = sum(2 * (first - second) ** 2 for first, second in combinations(pooled, 2))
    return float(1 - (len(pooled) - 1) * within / across)


def test_alpha_matches_other_formulas() -> None:
    published: dict[Metric, float] = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    for metric, printed in published.items():
        assert round(alpha(PUBLISHED, metric), 3) == printed

    package: dict[Metric, float] = {
        "nominal": 0.34803278688524597,
        "ordinal": 0.41952947978510957,
        "interval": 0.41300655180781365,
    }
    for metric, value in package.items():
        assert alpha(simulate_ratings(), metric) == pytest.approx(value, abs=1e-12)

    for ratings in (PUBLISHED, simulate_ratings()):
        assert alpha(ratings, "interval") == pytest.approx(pairwise_alpha(ratings), abs=1e-12)

    for metric in get_args(Metric):
        assert np.isnan(alpha([[2, 2, 2], [2, 2, None]], metric))
        assert alpha([[1, 2, 2], [1, 2, None]], metric) == 1


def test_three_judges_have_one_alpha_with_interval(store: Store) -> None:
    play(store, instances=18)
    for model, wrong, sample in (("vllm/a", 0, None), ("vllm/b", 3, 12), ("vllm/c", 2, 15)):
        models = imitate_check(store, wrong)
        ct.judge(store, STUDY, judge_of(model), models=models, sample=sample, concurrency=1)
    (reliability,) = ct.judges.reliabilities(store, STUDY)
    assert (reliability.rubric, len(reliability.raters)) == ("hallucination", 3)
    assert reliability.metric == "nominal"
    value, low, high, instances = reliability.alpha
    assert 0 < (low or 0) < (value or 0) < (high or 0) < 1
    assert 12 <= instances <= 15
    assert 2 * reliability.items < reliability.ratings < 3 * reliability.items
    sections = ct.reports.judge_sections(store, STUDY)
    assert [section.reliabilities for section in sections] == [[reliability]] * 3
    line = ct.reports.reliability_line(reliability)
    assert line.startswith(f"Krippendorff's alpha (nominal) of 3 judges: {value:.3f} (")
    assert line.endswith(f"95 % interval {low:.3f} to {high:.3f}")
    assert sections[0].as_json()["reliabilities"][0]["alpha"]["value"] == value


def test_alpha_needs_judges_and_instances(store: Store) -> None:
    play(store, instances=15)
    ct.judge(store, STUDY, judge_of(), models=imitate_check(store, wrong=3))
    assert ct.judges.reliabilities(store, STUDY) == []
    (section,) = ct.reports.judge_sections(store, STUDY)
    together = section.players[-1]
    assert list(together.shares) == section.rubric.labels
    assert sum(share.value or 0 for share in together.shares.values()) == pytest.approx(1)
    value, low, high = together.shares["consistent"][:3]
    count = together.verdicts["consistent"]
    assert value == pytest.approx(count / sum(together.verdicts.values()))
    assert 0 < (low or 0) < (value or 0) < (high or 0) < 1
    assert section.as_json()["players"][-1]["shares"]["consistent"]["low"] == low

    play(store, instances=3)
    for model, category in (("vllm/a", "consistent"), ("vllm/b", "false value")):
        ct.judge(store, STUDY, judge_of(model), models=always(category))
    (reliability,) = ct.judges.reliabilities(store, STUDY)
    assert reliability.alpha.value is not None
    assert reliability.alpha.value < 0
    assert "too few instances" in ct.reports.reliability_line(reliability)
