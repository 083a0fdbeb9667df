"""Agreement of judges with exact checks and with each other."""

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
from tests.judges.judged import (
    STUDY,
    always,
    check_verdicts,
    judge_of,
    play,
    rate_warmth,
    verdict_text,
)

NOMINAL = 1 - np.eye(2)


def imitate_check(store: Store, wrong: int) -> Canned:
    """Return models that repeat the check's verdicts, but miss every n-th fault (0: none)."""
    known = check_verdicts(store)
    faults = 0

    def answer(call: ModelCall, number: str) -> str:
        nonlocal faults
        match_id, request, seat = number.split("/")[:3]
        category = known[match_id.rpartition(":")[2]].get(f"{request}/{seat}", "consistent")
        if category != "consistent":
            faults += 1
            if wrong and faults % wrong == 0:
                return verdict_text("consistent")
        return verdict_text(category)

    return Canned(answer)


def test_perfect_judge_agrees_fully_and_constant_judge_by_chance(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of(), models=imitate_check(store, wrong=0))
    (agreement,) = ct.judges.agreements(store, STUDY)
    assert agreement.reference == CHECK
    assert agreement.kappa == (1, None, None, 12)
    assert agreement.kappa.missing == "no interval: all instances have the same value"
    assert agreement.precision.value == agreement.recall.value == agreement.same.value == 1
    assert agreement.items + agreement.silent == len(list(read_judgements(store)))
    assert agreement.matches == 12
    ct.judge(store, STUDY, judge_of("vllm/constant"), models=always("consistent"))
    constant = ct.judges.agreements(store, STUDY)[1]
    assert constant.kappa.value == pytest.approx(0)
    assert (constant.precision.value, constant.recall.value) == (None, 0)


def test_known_errors_appear_in_the_confusion_table(store: Store) -> None:
    play(store, instances=20)
    ct.judge(store, STUDY, judge_of(), models=imitate_check(store, wrong=3), concurrency=1)
    verdicts = [verdict for items in check_verdicts(store).values() for verdict in items.values()]
    faults = sum(verdict != "consistent" for verdict in verdicts)
    missed = faults // 3
    (agreement,) = ct.judges.agreements(store, STUDY)
    assert agreement.precision[:2] == (faults - missed, faults - missed)
    assert agreement.recall[:2] == (faults - missed, faults)
    assert agreement.alike[:2] == (len(verdicts) - missed, len(verdicts))
    assert sum(row[0] for row in agreement.table[1:]) == missed
    assert agreement.table[0] == (len(verdicts) - faults, 0, 0, 0)
    intervals = agreement.kappa, agreement.same.interval, agreement.recall.interval
    for value, low, high, instances in intervals:
        assert 0 < (low or 0) < (value or 0) < (high or 0) < 1
        assert 10 <= instances <= 20


def test_reference_without_verdicts_is_reported(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(store, instances=2)
    checks = ct.get_game("deal_or_no_deal").checks
    assert isinstance(checks, dict)
    monkeypatch.setitem(checks, "hallucination", lambda result: {})
    ct.judge(store, STUDY, judge_of(), models=always("consistent"))
    (agreement,) = ct.judges.agreements(store, STUDY)
    count = len(list(read_judgements(store)))
    assert (agreement.reference, agreement.items, agreement.silent) == (CHECK, 0, count)
    assert agreement.kappa.value is None
    message = f"the reference has no verdict on the {count} items of this judge"
    assert ct.reports.agreement_lines(agreement) == [message]


def test_judges_are_compared_on_shared_matches(store: Store) -> None:
    play(store)
    ct.judge(store, STUDY, judge_of("vllm/a"), models=imitate_check(store, wrong=0), sample=8)
    ct.judge(store, STUDY, judge_of("vllm/b"), models=imitate_check(store, wrong=2), sample=4)
    agreements = ct.judges.agreements(store, STUDY)
    between = [agreement for agreement in agreements if agreement.reference != CHECK]
    assert len(agreements) == 3
    (pair,) = between
    assert {pair.judge, pair.reference} == {judge_of("vllm/a").digest, judge_of("vllm/b").digest}
    assert pair.matches == 4


def test_bootstrap_intervals_of_instances(store: Store) -> None:
    play(store, instances=ENOUGH - 1, repeats=2)
    ct.judge(store, STUDY, judge_of(), models=imitate_check(store, wrong=3))
    (agreement,) = ct.judges.agreements(store, STUDY)
    assert agreement.matches == 2 * (ENOUGH - 1)
    assert agreement.kappa[1:] == (None, None, ENOUGH - 1)
    assert "too few instances" in agreement.kappa.missing
    (section,) = ct.reports.judge_sections(store, STUDY)
    assert all(player.numbers[1] == "too few instances" for player in section.players)
    assert all(player["estimate"]["low"] is None for player in section.as_json()["players"])
    lines = ct.reports.agreement_lines(agreement)
    assert all(" of " in line or " in " in line for line in lines)
    assert sum("too few instances" in line for line in lines) == 5

    def right(tables: NDArray[Any]) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = tables[:, 0, 0] / tables.sum(axis=(1, 2), dtype=float)
        return shares

    apart = np.array([[[number % 2, 1 - number % 2], [0, 0]] for number in range(40)])
    together = np.array(
        [[[4 * (number % 2), 4 - 4 * (number % 2)], [0, 0]] for number in range(10)]
    )
    separate, clustered = (interval(tables, right, 0) for tables in (apart, together))
    assert separate.value == clustered.value == 0.5
    assert (separate.low, separate.high) == pytest.approx(
        tuple(binom.ppf([0.025, 0.975], 40, 0.5) / 40), abs=0.03
    )
    assert (clustered.low, clustered.high) == pytest.approx(
        tuple(binom.ppf([0.025, 0.975], 10, 0.5) / 10), abs=0.03
    )

    table = np.array([[[20, 5], [10, 15]]])
    assert kappa(table, NOMINAL)[0] == pytest.approx(0.4)
    scores = np.array([[[5, 1, 0], [1, 5, 1], [0, 1, 5]], [[5, 0, 1], [1, 5, 1], [0, 1, 5]]])
    apart = np.subtract.outer(np.arange(3), np.arange(3)) ** 2.0
    near, far = kappa(scores, apart)
    assert near == pytest.approx(1 - 4 / ((4 * 6 * 7 + 4 * (6 * 6 + 6 * 6)) / 19))
    assert far < near < 1
    assert np.isnan(kappa(np.array([[[7, 0], [0, 0]]]), NOMINAL)[0])


def test_scores_have_weighted_kappa_alphas_and_no_precision(store: Store) -> None:
    play(store, instances=3)
    rate_warmth(store)
    (pair,) = ct.judges.agreements(store, STUDY)
    assert pair.finds == ()
    assert pair.table[1][2] == pair.items == 6
    assert ct.reports.agreement_lines(pair)[0].startswith("quadratically weighted Cohen's kappa ")
    reliabilities = ct.judges.reliabilities(store, STUDY)
    assert [result.metric for result in reliabilities] == ["interval", "ordinal"]
    assert [(result.items, result.ratings) for result in reliabilities] == [(6, 12)] * 2
    first, second = ct.reports.judge_sections(store, STUDY)
    assert first.alone == "compared with this judge below: warmth by vllm/b"
    assert second.alone == ""
    frame = ct.judges.verdict_frame(store, STUDY)
    assert frame["score"].sum() == 6 * 2 + 6 * 3
    assert set(frame["player"]) == {"one", "two"}
