"""Judges' verdicts on matches and survey answers, as frames."""

from typing import Any

import polars as pl

from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import MatchRecord, Store, configuration_digest
from cheaptalk.records.judgements import (
    ANSWERS,
    Judgement,
    judges_of,
    read_judged_answers,
    read_judgements,
    specs_of_judges,
)
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads

VERDICT = {"kind": pl.String, "verdict": pl.String, "score": pl.Float64}
MATCH_COLUMNS = {
    **dict.fromkeys(("judge", "match_id", "game", "configuration", "instance"), pl.String),
    **dict.fromkeys(("item", "seat", "player"), pl.String),
    **VERDICT,
}
ANSWER_COLUMNS = {
    **dict.fromkeys(("judge", "rubric", "model", "participant", "item"), pl.String),
    **VERDICT,
}


@reads
def verdict_frame(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return all judgements of a study, one row per item and judge.

    Columns: ``judge`` (digest), ``match_id``, ``game``, ``configuration`` and ``instance`` as in
    :func:`.read_matches`, ``item``, ``seat`` and ``player`` (null for a match), ``kind`` of the
    judge's answer, ``verdict`` (a category, or a score as text; null if invalid) and ``score`` (for
    a category, 1 if the rubric lists the category in ``found``, else 0). For survey answers, see
    :func:`.answer_verdicts`.

    Raises:
        StoreError: the store has no study of this name.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    store.study(study)
    rubrics = {
        key: Rubric.model_validate(spec["rubric"]) for key, spec in judges_of(store, study).items()
    }
    by_match: dict[str, list[Judgement]] = {}
    for judgement in read_judgements(store, study=study):
        by_match.setdefault(judgement.match_id, []).append(judgement)
    rows: list[list[Any]] = []
    for record in store.records(study) if by_match else ():
        rows += [
            _row(record, judgement, rubrics[judgement.judge])
            for judgement in by_match.get(record.id, ())
        ]
    return pl.DataFrame(rows, schema=MATCH_COLUMNS, orient="row")


def _row(record: MatchRecord, judgement: Judgement, rubric: Rubric) -> list[Any]:
    actor = judgement.item.rpartition("/")[2]
    seat = record.at.get(actor)
    verdict, score = verdict_of(judgement, rubric)
    return [
        judgement.judge,
        record.id,
        record.game,
        configuration_digest(record.rules),
        record.instance_key,
        judgement.item,
        seat,
        None if seat is None else record.label(seat),
        judgement.kind.value,
        verdict,
        score,
    ]


@reads
def answer_verdicts(store: StoreLike, study: StudyLike) -> pl.DataFrame:
    """Return all verdicts on a study's free-text survey answers, one row per answer and judge.

    Columns: ``judge`` (digest), names of ``rubric`` and ``model``, ``participant``, ``item`` (the
    survey question), ``kind`` of the judge's answer, ``verdict`` (a category, or a score as text;
    null if invalid) and ``score`` (for a category, 1 if the rubric lists the category in ``found``,
    else 0).

    Raises:
        StoreError: the store has no study of this name.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    store.study(study, counted=False)
    judgements = list(read_judged_answers(store, study))
    specs = specs_of_judges(store, {judgement.judge for judgement in judgements})
    rows = []
    for judgement in judgements:
        rubric, model = (specs[judgement.judge][key] for key in ("rubric", "model"))
        rows.append(
            (
                judgement.judge,
                rubric["name"],
                model["model"],
                judgement.match_id.removeprefix(ANSWERS),
                judgement.item,
                judgement.kind.value,
                *verdict_of(judgement, Rubric.model_validate(rubric)),
            )
        )
    return pl.DataFrame(rows, schema=ANSWER_COLUMNS, orient="row")


def verdict_of(judgement: Judgement, rubric: Rubric) -> tuple[str | None, float | None]:
    """Return a verdict as text and as a score; both are None if the verdict is invalid."""
    if judgement.verdict is None:
        return None, None
    verdict = label(judgement.verdict)
    return verdict, float(verdict in rubric.finds if rubric.scale is None else int(verdict))


def label(verdict: dict[str, Any]) -> str:
    """Return the category or score of a verdict as text."""
    return str(verdict.get("category", verdict.get("score")))


def valid_verdicts(store: Store, study: str, judge: str) -> dict[str, dict[str, str]]:
    """Return the valid verdicts of a judge, by match and item."""
    verdicts: dict[str, dict[str, str]] = {}
    for judgement in read_judgements(store, study=study, judge=judge):
        if judgement.verdict is not None:
            verdicts.setdefault(judgement.match_id, {})[judgement.item] = label(judgement.verdict)
    return verdicts
