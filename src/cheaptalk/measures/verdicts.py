"""What judges said of a study, as a frame: one row an item."""

from typing import Any

import polars as pl

from cheaptalk.measures.judging import label
from cheaptalk.measures.rubrics import Rubric
from cheaptalk.records import MatchRecord, Store, configuration_digest
from cheaptalk.records.judgements import Judgement, judges_of, read_judgements

COLUMNS: dict[str, Any] = {
    "judge": pl.String,
    "match": pl.String,
    "game": pl.String,
    "configuration": pl.String,
    "deal": pl.String,
    "item": pl.String,
    "place": pl.String,
    "player": pl.String,
    "kind": pl.String,
    "verdict": pl.String,
    "score": pl.Float64,
}


def verdict_frame(store: Store, study: str) -> pl.DataFrame:
    """All judgements of a study.

    Columns: ``judge`` (its digest), ``match``, ``game``, ``configuration`` and ``deal`` as in
    :func:`.match_frames`, ``item`` (what was judged), ``place`` and ``player`` (whose it is; null
    where a whole match was judged), ``kind`` (of the judge's answer), ``verdict`` (a category, or a
    score as text; null without a valid answer) and ``score`` (of a category, 1 if it counts as a
    find and 0 if not).

    Raises:
        StoreError: there is no such study.
    """
    store.study(study)
    rubrics = {
        key: Rubric.model_validate(spec["rubric"]) for key, spec in judges_of(store, study).items()
    }
    by_match: dict[str, list[Judgement]] = {}
    for one in read_judgements(store, study=study):
        by_match.setdefault(one.match_id, []).append(one)
    rows: list[list[Any]] = []
    for record in store.records(study) if by_match else ():
        rows += [_row(record, one, rubrics[one.judge]) for one in by_match.get(record.id, ())]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _row(record: MatchRecord, one: Judgement, rubric: Rubric) -> list[Any]:
    seat = one.item.rpartition("/")[2]
    place = {seat.name: seat.place for seat in record.rules.seats}.get(seat)
    verdict = None if one.verdict is None else label(one.verdict)
    return [
        one.judge, record.id, record.game, configuration_digest(record.rules), record.deal_key,
        one.item, place, None if place is None else record.label(place), one.kind.value, verdict,
        None if verdict is None else _value(verdict, rubric),
    ]  # fmt: skip


def _value(verdict: str, rubric: Rubric) -> float:
    return float(verdict in rubric.finds if rubric.scale is None else int(verdict))
