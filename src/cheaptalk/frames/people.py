"""Data frames of a study's participants: progress, responses, games and payments.

Participants are identified only by their codes: no frame contains names or other identifying data.
A study without participants gives empty frames; an unknown study raises StoreError. Missing values
are null, and times are in seconds since 1970.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

import polars as pl

from cheaptalk.records import Store
from cheaptalk.records.people.queries import (
    SURVEY,
    participants_of,
    payments_of,
    plays_of,
    responses_of,
    step_kind,
)
from cheaptalk.records.people.rows import Participant, Payment, Play, Response
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.lookup import reads_study


@reads_study
def participants(store: Store, study: str) -> pl.DataFrame:
    """Return the participants of a study, one row each, in the order of arrival.

    The columns are the fields of :class:`.Participant`.
    """
    store.study(study, counted=False)
    return _frame(participants_of(store, study), Participant)


@reads_study
def plays(store: Store, study: str) -> pl.DataFrame:
    """Return the games of a study's participants, one row each, ordered by participant.

    The columns are the fields of :class:`.Play`.
    """
    store.study(study, counted=False)
    return _frame(plays_of(store, study), Play)


def with_people(
    store: Store, study: str, frames: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Add a column with the codes of each match's participants, if the study has participants.

    Returns:
        The frames with the column :data:`.PEOPLE`, a list, null in matches without participants.
    """
    seated = [(play.match_id, play.participant) for play in plays_of(store, study) if play.match_id]
    if not seated:
        return dict(frames)
    people = (
        pl.DataFrame(seated, {"match_id": pl.String, PEOPLE: pl.String}, orient="row")
        .group_by("match_id", maintain_order=True)
        .agg(pl.col(PEOPLE).unique(maintain_order=True))
    )
    return {
        game: frame.join(people, on="match_id", how="left", validate="m:1", maintain_order="left")
        for game, frame in frames.items()
    }


@reads_study
def payments(store: Store, study: str) -> pl.DataFrame:
    """Return the payments of a study's participants, one row per payment.

    The columns are the fields of :class:`.Payment`.
    """
    store.study(study, counted=False)
    return _frame(payments_of(store, study), Payment)


@reads_study
def responses(store: Store, study: str) -> pl.DataFrame:
    """Return participants' responses, one row per item, ordered by participant.

    The columns are the fields of :class:`.Response`.
    """
    store.study(study, counted=False)
    return _frame(responses_of(store, study), Response)


@reads_study
def survey_answers(store: Store, study: str) -> pl.DataFrame:
    """Return survey answers, one row per participant who answered any question.

    Columns: ``participant``, then one per item, numeric if all answers to the item are. If a
    participant answered an item several times, for example after each game, the last answer is
    used. If two steps contain an item of the same name, the columns are named ``STEP.ITEM``.
    """
    store.study(study, counted=False)
    answers: dict[str, dict[tuple[str, str], Response]] = {}
    for response in filter(in_survey, responses_of(store, study)):
        items = answers.setdefault(response.participant, {})
        if response.item is not None:
            items[response.step, response.item] = response
    keys = list(dict.fromkeys(key for items in answers.values() for key in items))
    names = [item for _, item in keys] + ["participant"]
    columns = [
        _column(item if names.count(item) == 1 else f"{step}.{item}",
                [items.get((step, item)) for items in answers.values()])
        for step, item in keys
    ]  # fmt: skip
    return pl.DataFrame([pl.Series("participant", list(answers), pl.String), *columns])


def in_survey(response: Response) -> bool:
    """Return whether a response is from a survey, or from a custom step without a solution."""
    return response.correct is None and step_kind(response.step) in (SURVEY, None)


def _frame(rows: Iterable[tuple[Any, ...]], row_type: type[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), get_type_hints(row_type), orient="row")


def _column(name: str, responses: list[Response | None]) -> pl.Series:
    answered = [item for item in responses if item is not None and item.answer is not None]
    if all(item.value is not None for item in answered):
        return pl.Series(name, [item and item.value for item in responses], pl.Float64)
    return pl.Series(name, [item and item.answer for item in responses], pl.String)
