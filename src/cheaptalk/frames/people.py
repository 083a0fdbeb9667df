"""Data frames of a study's participants: progress, responses, games and payments.

Participants are identified only by their codes: no frame contains names or other identifying data.
A study without participants gives empty frames; an unknown study raises StoreError.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from cheaptalk.records import Store
from cheaptalk.records.people.queries import (
    SURVEY,
    AnsweredItem,
    Response,
    items_of_response,
    participants_of,
    payments_of,
    plays_of,
    responses_of,
    step_kind,
)
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.lookup import reads_study

PARTICIPANTS: dict[str, Any] = {
    "participant": pl.String, "cohort": pl.String, "step": pl.String, "visit": pl.Int64,
    "ending": pl.String, "language": pl.String, "flags": pl.List(pl.String),
    "begun": pl.Float64, "changed": pl.Float64,
}  # fmt: skip
PLAYS: dict[str, Any] = {
    "participant": pl.String, "number": pl.Int64, "treatment": pl.String, "game": pl.String,
    "match_id": pl.String, "seat": pl.String, "state": pl.String, "payoff": pl.Float64,
    "cents": pl.Int64, "assigned": pl.Float64, "ended": pl.Float64,
}  # fmt: skip
RESPONSES: dict[str, Any] = {
    "participant": pl.String, "number": pl.Int64, "step": pl.String, "visit": pl.Int64,
    "game": pl.Int64, "item": pl.String, "answer": pl.String, "value": pl.Float64,
    "correct": pl.Boolean, "shown": pl.Float64, "answered": pl.Float64,
}  # fmt: skip
PAYMENTS: dict[str, Any] = {
    "participant": pl.String, "kind": pl.String, "key": pl.String, "cents": pl.Int64,
    "made": pl.Float64, "paid_out": pl.Boolean,
}  # fmt: skip


@reads_study
def participants(store: Store, study: str) -> pl.DataFrame:
    """Return the participants of a study, one row each, in the order of arrival.

    Columns: ``participant`` (a code), ``cohort``, ``step`` (the current or last step on the path),
    ``visit`` (the number of visits), ``ending`` (null for active participants), ``language``,
    ``flags``, ``begun`` and ``changed`` (seconds since 1970).
    """
    store.study(study, counted=False)
    return pl.DataFrame(list(participants_of(store, study)), PARTICIPANTS, orient="row")


@reads_study
def plays(store: Store, study: str) -> pl.DataFrame:
    """Return the games of a study's participants, one row each, ordered by participant.

    Columns: ``participant``, ``number`` (1 for the first game), ``treatment``, ``game``,
    ``match_id`` (null before the match begins, and after its deletion), ``seat``, ``state``,
    ``payoff`` (in the game's unit), ``cents`` (the game's earnings), ``assigned`` and ``ended``
    (seconds since 1970).
    """
    store.study(study, counted=False)
    return pl.DataFrame(list(plays_of(store, study)), PLAYS, orient="row")


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

    Columns: ``participant`` (null if their data were deleted), ``kind`` (``base`` or ``bonus``),
    ``key`` (the reason), ``cents``, ``made`` (seconds since 1970), ``paid_out``.
    """
    store.study(study, counted=False)
    return pl.DataFrame(list(payments_of(store, study)), PAYMENTS, orient="row")


@reads_study
def responses(store: Store, study: str) -> pl.DataFrame:
    """Return participants' responses, one row per item, ordered by participant.

    Columns: ``participant``, ``number`` (counts a participant's responses, from 0), ``step``,
    ``visit``, ``game`` (the number of the preceding game), ``item`` and ``answer`` (as text; null
    for steps without questions and for the choice of a name), ``value`` (a numeric answer),
    ``correct`` (of the complete step; null if no answer is expected), ``shown`` and ``answered``
    (seconds since 1970).
    """
    store.study(study, counted=False)
    rows = [
        (*response[:5], *item, *response[6:])
        for response in responses_of(store, study)
        for item in items_of_response(response)
    ]
    return pl.DataFrame(rows, RESPONSES, orient="row")


@reads_study
def survey_answers(store: Store, study: str) -> pl.DataFrame:
    """Return survey answers, one row per participant who answered any question.

    Columns: ``participant``, then one per item, numeric if all answers to the item are. If a
    participant answered an item several times, for example after each game, the last answer is
    used. If two steps contain an item of the same name, the columns are named ``STEP.ITEM``.
    """
    store.study(study, counted=False)
    answers: dict[str, dict[tuple[str, str], AnsweredItem]] = {}
    for response in filter(in_survey, responses_of(store, study)):
        answers.setdefault(response.participant, {}).update(
            ((response.step, item.item), item)
            for item in items_of_response(response)
            if item.item is not None
        )
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


def _column(name: str, answers: list[AnsweredItem | None]) -> pl.Series:
    answered = [answer for answer in answers if answer is not None and answer.text is not None]
    if all(answer.number is not None for answer in answered):
        return pl.Series(name, [answer and answer.number for answer in answers], pl.Float64)
    return pl.Series(name, [answer and answer.text for answer in answers], pl.String)
