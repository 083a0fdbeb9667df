"""Agreement: a judge of known mistakes is found to make just those."""

import json

import numpy as np
import pytest

import cheaptalk as ct
from cheaptalk.measures.agreement import CHECK, kappa
from cheaptalk.models import ModelCall
from cheaptalk.records import Store
from cheaptalk.records.judgements import read_judgements
from tests.fakes import Canned
from tests.measures.judged import STUDY, always, checked, judge_of, play, says

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
    (found,) = ct.measures.agreements(store, STUDY)
    assert found.reference == CHECK
    assert found.kappa == 1
    assert (found.low, found.high) == (1, 1)
    assert found.precision.value == found.recall.value == found.same.value == 1
    assert found.items + found.silent == len(list(read_judgements(store)))
    assert found.matches == 30


def test_known_mistakes_are_found_as_the_confusion_they_are(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=3), concurrency=1)
    said = [one for of in checked(store).values() for one in of.values()]
    faults = sum(one != "consistent" for one in said)
    missed = faults // 3
    (found,) = ct.measures.agreements(store, STUDY)
    assert found.precision == (faults - missed, faults - missed)
    assert found.recall == (faults - missed, faults)
    assert sum(row[0] for row in found.table[1:]) == missed
    assert found.table[0] == (len(said) - faults, 0, 0, 0)
    assert found.kappa is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.kappa < found.high < 1


def test_a_judge_who_says_always_the_same_agrees_by_chance_alone(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=always("consistent"))
    (found,) = ct.measures.agreements(store, STUDY)
    assert found.kappa == pytest.approx(0)
    assert found.precision.value is None
    assert found.recall.value == 0


def test_two_judges_of_one_rubric_are_compared_on_what_both_judged(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of("vllm/a"), models=knowing(store, wrong=0), sample=20)
    ct.judge(store, STUDY, judge_of("vllm/b"), models=knowing(store, wrong=2), sample=10)
    found = ct.measures.agreements(store, STUDY)
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
    assert far < near < 1
    assert np.isnan(kappa(np.array([[[7, 0], [0, 0]]]), NOMINAL)[0])


def test_one_match_gives_no_interval(store: Store) -> None:
    play(store, deals=1)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=0))
    (found,) = ct.measures.agreements(store, STUDY)
    assert (found.low, found.high, found.matches) == (None, None, 1)


def test_the_bootstrap_is_the_same_each_time(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=knowing(store, wrong=3))
    assert ct.measures.agreements(store, STUDY) == ct.measures.agreements(store, STUDY)


def test_scores_have_means_and_no_precision(store: Store, tmp_path: object) -> None:
    play(store, deals=3)
    rubric = ct.measures.Rubric.model_validate(
        {
            "name": "warmth", "item": "seat", "question": "How warm is the player?",
            "scale": {"low": 1, "high": 3, "low_means": "cold", "high_means": "warm"},
        }
    )  # fmt: skip
    for model, score in (("vllm/a", 2), ("vllm/b", 3)):
        judge = ct.measures.judge_of(rubric, model)
        said = json.dumps({"reason": "So.", "score": score})
        ct.judge(store, STUDY, judge, models=Canned(lambda *_, said=said: said))
    (pair,) = ct.measures.agreements(store, STUDY)
    assert pair.finds == ()
    assert pair.table[1][2] == pair.items == 6
    frame = ct.measures.verdict_frame(store, STUDY)
    assert frame["score"].sum() == 6 * 2 + 6 * 3
    assert set(frame["player"]) == {"one", "two"}
