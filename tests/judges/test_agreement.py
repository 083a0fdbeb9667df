"""Agreement: a judge of known mistakes is found to make just those."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import cheaptalk as ct
from cheaptalk.judges.agreement import CHECK, ENOUGH, interval, kappa
from cheaptalk.models import ModelCall
from cheaptalk.records import Store
from cheaptalk.records.judgements import read_judgements
from tests.fakes import Canned
from tests.judges.judged import STUDY, always, checked, judge_of, play, says

NOMINAL = 1 - np.eye(2)


def knowing(store: Store, wrong: int) -> Canned:
    """Models that know what the check says, and say "consistent" to every n-th fault instead."""
    known = checked(store)
    faults = 0

    def answer(call: ModelCall, number: str) -> str:
        nonlocal faults
        match_id, request, seat = number.split("/")[:3]
        said = known[match_id.rpartition(":")[2]].get(f"{request}/{seat}", "consistent")
        if said != "consistent":
            faults += 1
            if wrong and faults % wrong == 0:
                return says("consistent")
        return says(said)

    return Canned(answer)


def test_a_judge_who_is_always_right_agrees_fully(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=0))
    (found,) = ct.judges.agreements(store, STUDY)
    assert found.reference == CHECK
    assert found.kappa == (1, None, None, 30)
    assert found.kappa.missing == "no interval: all instances have the same value"
    assert found.precision.value == found.recall.value == found.same.value == 1
    assert found.items + found.silent == len(list(read_judgements(store)))
    assert found.matches == 30


def test_known_mistakes_are_found_as_the_confusion_they_are(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=3), concurrency=1)
    said = [one for of in checked(store).values() for one in of.values()]
    faults = sum(one != "consistent" for one in said)
    missed = faults // 3
    (found,) = ct.judges.agreements(store, STUDY)
    assert found.precision[:2] == (faults - missed, faults - missed)
    assert found.recall[:2] == (faults - missed, faults)
    assert found.alike[:2] == (len(said) - missed, len(said))
    assert sum(row[0] for row in found.table[1:]) == missed
    assert found.table[0] == (len(said) - faults, 0, 0, 0)
    for value, low, high, instances in (found.kappa, found.same.interval, found.recall.interval):
        assert value is not None
        assert low is not None
        assert high is not None
        assert 0 < low < value < high < 1
        assert 10 <= instances <= 30


def test_a_judge_who_says_always_the_same_agrees_by_chance_alone(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=always("consistent"))
    (found,) = ct.judges.agreements(store, STUDY)
    assert found.kappa.value == pytest.approx(0)
    assert found.precision.value is None
    assert found.recall.value == 0


def test_a_check_that_reads_nothing_in_what_was_judged_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(store, instances=2)
    checks = ct.get_game("deal_or_no_deal").checks
    assert isinstance(checks, dict)
    monkeypatch.setitem(checks, "hallucination", lambda result: {})
    ct.judge(store, STUDY, judge_of(), models=always("consistent"))
    (found,) = ct.judges.agreements(store, STUDY)
    count = len(list(read_judgements(store)))
    assert (found.reference, found.items, found.silent) == (CHECK, 0, count)
    assert found.kappa.value is None
    says_so = f"the reference has no verdict on the {count} items of this judge"
    assert ct.reports.agreement_lines(found) == [says_so]


def test_two_judges_of_one_rubric_are_compared_on_what_both_judged(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of("vllm/a"), models=knowing(store, wrong=0), sample=20)
    ct.judge(store, STUDY, judge_of("vllm/b"), models=knowing(store, wrong=2), sample=10)
    found = ct.judges.agreements(store, STUDY)
    between = [one for one in found if one.reference != CHECK]
    assert len(found) == 3
    (pair,) = between
    assert {pair.judge, pair.reference} == {judge_of("vllm/a").digest, judge_of("vllm/b").digest}
    assert pair.matches == 10


def test_kappa_is_that_of_the_textbook() -> None:
    table = np.array([[[20, 5], [10, 15]]])
    assert kappa(table, NOMINAL)[0] == pytest.approx(0.4)
    scores = np.array([[[5, 1, 0], [1, 5, 1], [0, 1, 5]], [[5, 0, 1], [1, 5, 1], [0, 1, 5]]])
    apart = np.subtract.outer(np.arange(3), np.arange(3)) ** 2.0
    near, far = kappa(scores, apart)
    assert near == pytest.approx(1 - 4 / ((4 * 6 * 7 + 4 * (6 * 6 + 6 * 6)) / 19))
    assert far < near < 1
    assert np.isnan(kappa(np.array([[[7, 0], [0, 0]]]), NOMINAL)[0])


def test_too_few_instances_give_no_interval_however_many_matches(store: Store) -> None:
    play(store, instances=ENOUGH - 1, repeats=2)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=3))
    (found,) = ct.judges.agreements(store, STUDY)
    assert found.matches == 2 * (ENOUGH - 1)
    assert found.kappa[1:] == (None, None, ENOUGH - 1)
    assert "too few instances" in found.kappa.missing
    (section,) = ct.reports.judge_sections(store, STUDY)
    assert all(one.numbers[1] == "too few instances" for one in section.players)
    assert all(one["estimate"]["low"] is None for one in section.as_json()["players"])
    said = ct.reports.agreement_lines(found)
    assert all(" of " in line or " in " in line for line in said)
    assert sum("too few instances" in line for line in said) == 5


def test_matches_on_one_instance_are_drawn_together() -> None:
    def all_(tables: NDArray[Any]) -> NDArray[np.float64]:
        counts: NDArray[np.float64] = tables.sum(axis=(1, 2), dtype=float)
        return counts

    def right(tables: NDArray[Any]) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = tables[:, 0, 0] / all_(tables)
        return shares

    apart = np.array([[[number % 2, 1 - number % 2], [0, 0]] for number in range(40)])
    together = np.array(
        [[[4 * (number % 2), 4 - 4 * (number % 2)], [0, 0]] for number in range(10)]
    )
    one, four = (interval(tables, right, all_, 0) for tables in (apart, together))
    assert one.value == four.value == 0.5
    assert (one.low, one.high) == pytest.approx(
        tuple(binom.ppf([0.025, 0.975], 40, 0.5) / 40), abs=0.03
    )
    assert (four.low, four.high) == pytest.approx(
        tuple(binom.ppf([0.025, 0.975], 10, 0.5) / 10), abs=0.03
    )


def test_the_bootstrap_is_the_same_each_time(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=3))
    assert ct.judges.agreements(store, STUDY) == ct.judges.agreements(store, STUDY)


def test_scores_have_means_and_no_precision(store: Store, tmp_path: object) -> None:
    play(store, instances=3)
    rubric = ct.judges.Rubric.model_validate(
        {
            "name": "warmth", "item": "seat", "question": "How warm is the player?",
            "scale": {"low": 1, "high": 3, "low_means": "cold", "high_means": "warm"},
        }
    )  # fmt: skip
    for model, score in (("vllm/a", 2), ("vllm/b", 3)):
        judge = ct.judges.judge_of(rubric, model)
        said = json.dumps({"reason": "So.", "score": score})
        ct.judge(store, STUDY, judge, models=Canned(lambda *_, said=said: said))
    (pair,) = ct.judges.agreements(store, STUDY)
    assert pair.finds == ()
    assert pair.table[1][2] == pair.items == 6
    assert ct.reports.agreement_lines(pair)[0].startswith("quadratically weighted Cohen's kappa ")
    first, second = ct.reports.judge_sections(store, STUDY)
    assert first.alone == "compared with this judge below: warmth by vllm/b"
    assert second.alone == ""
    frame = ct.judges.verdict_frame(store, STUDY)
    assert frame["score"].sum() == 6 * 2 + 6 * 3
    assert set(frame["player"]) == {"one", "two"}
