"""Participants' free-text survey answers as items to judge, and the judges' verdicts."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.people import plays, survey_answers
from cheaptalk.judges.items import Item, answer_item, items_of
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.judgements import (
    ANSWERS,
    Judgement,
    answers_id,
    read_judged_answers,
    specs_of_judges,
)
from cheaptalk.records.store.queries import read_matches
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.lookup import reads_study
from cheaptalk.text import capital

COLUMNS: dict[str, Any] = {
    "judge": pl.String,
    "rubric": pl.String,
    "model": pl.String,
    "participant": pl.String,
    "item": pl.String,
    "kind": pl.String,
    "verdict": pl.String,
    "score": pl.Float64,
}


def people_for(store: Store, study: str, rubric: Rubric) -> list[str]:
    """Return the ids of participants with answers to judge by a rubric (see :func:`.answers_id`).

    Raises:
        CheaptalkError: no participant gave such an answer and played a game of the rubric.
    """
    answers = answers_of(store, study, rubric)
    if not answers:
        raise CheaptalkError(
            f"{study} has no free answers to judge with {rubric.name}: {_why(store, study, rubric)}"
        )
    return list(answers)


def _why(store: Store, study: str, rubric: Rubric) -> str:
    texts = [name for name in survey_answers(store, study).columns if name != "participant"]
    if not texts:
        return "no participant answered a survey"
    questions = f"the study's surveys ask {', '.join(texts)}"
    if rubric.answers is not None and not {*rubric.answers} & {*texts}:
        return f"the rubric is for answers to {', '.join(rubric.answers)}, but {questions}"
    if rubric.games is not None:
        return f"no participant of {', '.join(rubric.games)} wrote a free answer"
    return f"no participant wrote a free answer; {questions}"


def answers_of(store: Store, study: str, rubric: Rubric) -> dict[str, list[Item]]:
    """Return the survey answers to judge by a rubric, from participants who played its games."""
    responses = survey_answers(store, study)
    texts = [
        name
        for name, kind in responses.schema.items()
        if kind == pl.String
        and name != "participant"
        and (rubric.answers is None or name in rubric.answers)
    ]
    games = plays(store, study).select("participant", "game").iter_rows()
    eligible = {person for person, game in games if rubric.fits(game)}
    items_by_person: dict[str, list[Item]] = {}
    for row in responses.filter(pl.col("participant").is_in(list(eligible))).iter_rows(named=True):
        items = [
            answer_item(name, name, capital(name), row[name])
            for name in texts
            if row[name] is not None and row[name].strip()
        ]
        if items:
            items_by_person[answers_id(row["participant"])] = items
    return items_by_person


@reads_study
def answer_verdicts(store: Store, study: str) -> pl.DataFrame:
    """Return all verdicts on a study's free-text survey answers, one row per answer and judge.

    Columns: ``judge`` (digest), names of ``rubric`` and ``model``, ``participant``, ``item`` (the
    survey question), ``kind`` of the judge's answer, ``verdict`` (a category, or a score as text;
    null if invalid) and ``score`` (for a category, 1 if the rubric lists the category in ``found``,
    else 0).

    Raises:
        StoreError: the store has no study of this name.
    """
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
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def verdict_of(judgement: Judgement, rubric: Rubric) -> tuple[str | None, float | None]:
    """Return a verdict as text and as a score; both are None if the verdict is invalid."""
    if judgement.verdict is None:
        return None, None
    verdict = label(judgement.verdict)
    return verdict, float(verdict in rubric.finds if rubric.scale is None else int(verdict))


def label(verdict: dict[str, Any]) -> str:
    """Return the category or score of a verdict as text."""
    return str(verdict.get("category", verdict.get("score")))


class Subject(NamedTuple):
    """A match, or a participant with survey answers.

    Attributes:
        id: the id of the match, or of the participant (see :func:`.answers_id`).
        items: creates the items to judge.
    """

    id: str
    items: Callable[[], list[Item]]


def subjects(
    store: Store, study: str, rubric: Rubric, ids: Sequence[str], batch: int = 200
) -> Iterator[Subject]:
    """Yield the matches or participants with the given ids, in the given order.

    Args:
        ids: ids of matches, or of participants if the rubric is for answers.
        batch: number of matches read together.
    """
    if rubric.item == "answer":
        items_by_person = answers_of(store, study, rubric)
        for id_ in ids:
            yield Subject(id_, partial(items_by_person.__getitem__, id_))
        return
    for record in read_matches(store, study, ids, batch):
        yield Subject(record.id, partial(items_of, record, rubric))
