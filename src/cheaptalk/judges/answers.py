"""The free answers of a study's people: what is judged of them, and the verdicts."""

from typing import Any

import polars as pl

from cheaptalk.frames.people import plays, survey_answers
from cheaptalk.judges.items import Item, answer_item
from cheaptalk.judges.rubrics import Rubric
from cheaptalk.records import Store
from cheaptalk.records.judgements import (
    ANSWERS,
    Judgement,
    answers_id,
    read_judged_answers,
    specs_of_judges,
)
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.lookup import reads_study
from cheaptalk.text import capital

COLUMNS: dict[str, Any] = {
    "judge": pl.String, "rubric": pl.String, "model": pl.String, "participant": pl.String,
    "item": pl.String, "kind": pl.String, "verdict": pl.String, "score": pl.Float64,
}  # fmt: skip


def people_for(store: Store, study: str, rubric: Rubric) -> list[str]:
    """The people whose answers a rubric judges, as :func:`.answers_id` calls them.

    Raises:
        CheaptalkError: nobody gave such an answer, or nobody who did played a game that it fits.
    """
    found = answers_of(store, study, rubric)
    if not found:
        raise CheaptalkError(
            f"{study} has no free answer to judge by {rubric.name}: {_why(store, study, rubric)}"
        )
    return list(found)


def _why(store: Store, study: str, rubric: Rubric) -> str:
    texts = [name for name in survey_answers(store, study).columns if name != "participant"]
    if not texts:
        return "nobody answered a survey"
    asked = f"its surveys ask {', '.join(texts)}"
    if rubric.answers is not None and not {*rubric.answers} & {*texts}:
        return f"it judges {', '.join(rubric.answers)}, and {asked}"
    if rubric.games is not None:
        return f"nobody wrote any who played {', '.join(rubric.games)}"
    return f"nobody wrote any; {asked}"


def answers_of(store: Store, study: str, rubric: Rubric) -> dict[str, list[Item]]:
    """What people wrote that a rubric judges, by person; of people who played what it fits."""
    said = survey_answers(store, study)
    texts = [
        name for name, kind in said.schema.items()
        if kind == pl.String and name != "participant"
        and (rubric.answers is None or name in rubric.answers)
    ]  # fmt: skip
    fit = {
        person
        for person, game in plays(store, study).select("participant", "game").iter_rows()
        if rubric.fits(game)
    }
    found: dict[str, list[Item]] = {}
    for row in said.filter(pl.col("participant").is_in(list(fit))).iter_rows(named=True):
        items = [
            answer_item(name, name, capital(name), row[name])
            for name in texts
            if row[name] is not None and row[name].strip()
        ]
        if items:
            found[answers_id(row["participant"])] = items
    return found


@reads_study
def answer_verdicts(store: Store, study: str) -> pl.DataFrame:
    """All that judges said of the free answers of a study's people, one row an answer and judge.

    Columns: ``judge`` (its digest), ``rubric`` and ``model`` (their names), ``participant``,
    ``item`` (what was asked), ``kind`` (of the judge's answer), ``verdict`` (a category, or a score
    as text; null without a valid answer) and ``score`` (of a category, 1 if it counts as a find and
    0 if not).

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    said = list(read_judged_answers(store, study))
    specs = specs_of_judges(store, {one.judge for one in said})
    rows = [
        (one.judge, specs[one.judge]["rubric"]["name"], specs[one.judge]["model"]["model"],
         one.match_id.removeprefix(ANSWERS), one.item, one.kind.value,
         *verdict_of(one, Rubric.model_validate(specs[one.judge]["rubric"])))
        for one in said
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def verdict_of(one: Judgement, rubric: Rubric) -> tuple[str | None, float | None]:
    """A verdict in a word and as a number; see :func:`answer_verdicts`."""
    if one.verdict is None:
        return None, None
    verdict = label(one.verdict)
    return verdict, float(verdict in rubric.finds if rubric.scale is None else int(verdict))


def label(verdict: dict[str, Any]) -> str:
    """A verdict in a word: its category, or its score as text."""
    return str(verdict.get("category", verdict.get("score")))
