"""The people who took part in a study as frames: who they are, what they answered, played and got.

People are told apart by their codes alone: no frame has a name or anything else that tells who
somebody is.
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
    "match": pl.String, "place": pl.String, "state": pl.String, "payoff": pl.Float64,
    "cents": pl.Int64, "assigned": pl.Float64, "ended": pl.Float64,
}  # fmt: skip
RESPONSES: dict[str, Any] = {
    "participant": pl.String, "number": pl.Int64, "step": pl.String, "visit": pl.Int64,
    "game": pl.Int64, "item": pl.String, "answer": pl.String, "value": pl.Float64,
    "right": pl.Boolean, "shown": pl.Float64, "answered": pl.Float64,
}  # fmt: skip
PAYMENTS: dict[str, Any] = {
    "participant": pl.String, "kind": pl.String, "key": pl.String, "cents": pl.Int64,
    "made": pl.Float64, "paid_out": pl.Boolean,
}  # fmt: skip


@reads_study
def participants(store: Store, study: str) -> pl.DataFrame:
    """The people of a study, one row each, in the order in which they came.

    Columns: ``participant`` (a code), ``cohort``, ``step`` (where on the path they are or stopped),
    ``visit`` (how often they came), ``ending`` (null while they are under way), ``language``,
    ``flags``, ``begun`` and ``changed`` (seconds since 1970). A study without people gives an empty
    frame, as all frames here.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    return pl.DataFrame(list(participants_of(store, study)), PARTICIPANTS, orient="row")


@reads_study
def plays(store: Store, study: str) -> pl.DataFrame:
    """The games of the people of a study, one row each, every person's in order.

    Columns: ``participant``, ``number`` (1 for the first), ``treatment``, ``game``, ``match`` (its
    id; null before it begins, and once it is erased), ``place``, ``state``, ``payoff`` (in the
    game's unit), ``cents`` (what it earned), ``assigned`` and ``ended`` (seconds since 1970).

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    return pl.DataFrame(list(plays_of(store, study)), PLAYS, orient="row")


def with_people(
    store: Store, study: str, frames: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Return frames of matches with the participants of each match, if the study has any.

    Returns:
        The frames with the column :data:`.PEOPLE`, a list of the codes of those who played in the
        match, null in matches without participants.
    """
    seated = [(play.match, play.participant) for play in plays_of(store, study) if play.match]
    if not seated:
        return dict(frames)
    people = (
        pl.DataFrame(seated, {"match": pl.String, PEOPLE: pl.String}, orient="row")
        .group_by("match", maintain_order=True)
        .agg(pl.col(PEOPLE).unique(maintain_order=True))
    )
    return {
        game: frame.join(people, on="match", how="left", validate="m:1", maintain_order="left")
        for game, frame in frames.items()
    }


@reads_study
def payments(store: Store, study: str) -> pl.DataFrame:
    """What the people of a study are paid, one row a thing that is paid for.

    Columns: ``participant`` (null where their data are deleted), ``kind`` (``base`` or ``bonus``),
    ``key`` (what it is for), ``cents``, ``made`` (seconds since 1970), ``paid_out``.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    return pl.DataFrame(list(payments_of(store, study)), PAYMENTS, orient="row")


@reads_study
def responses(store: Store, study: str) -> pl.DataFrame:
    """What the people of a study answered, one row an item, every person's in order.

    Columns: ``participant``, ``number`` (counts a person's answers, from 0), ``step``, ``visit``,
    ``game`` (the number of the game before it), ``item`` and ``answer`` (as text; null where
    nothing was asked, and at the step where people choose a name), ``value`` (of a number),
    ``right`` (of the whole step; null where nothing was wanted), ``shown`` and ``answered``
    (seconds since 1970).

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    rows = [
        (*one[:5], *item, *one[6:])
        for one in responses_of(store, study)
        for item in items_of_response(one)
    ]
    return pl.DataFrame(rows, RESPONSES, orient="row")


@reads_study
def survey_answers(store: Store, study: str) -> pl.DataFrame:
    """What people said in the surveys of a study, one row a person who said anything.

    Columns: ``participant``, then one an item, numbers where all of its answers are. Who answered
    an item several times, as after each game, is there with the last answer. An item that two steps
    ask is called by both, such as ``survey.age``.

    Raises:
        StoreError: there is no such study.
    """
    store.study(study, counted=False)
    said: dict[str, dict[tuple[str, str], AnsweredItem]] = {}
    for one in filter(in_survey, responses_of(store, study)):
        said.setdefault(one.participant, {}).update(
            ((one.step, item.item), item)
            for item in items_of_response(one)
            if item.item is not None
        )
    asked = list(dict.fromkeys(key for own in said.values() for key in own))
    names = [item for _, item in asked] + ["participant"]
    columns = [
        _column(item if names.count(item) == 1 else f"{step}.{item}",
                [own.get((step, item)) for own in said.values()])
        for step, item in asked
    ]  # fmt: skip
    return pl.DataFrame([pl.Series("participant", list(said), pl.String), *columns])


def in_survey(one: Response) -> bool:
    """Whether it is of a survey: of a step of that kind, or of none, where nothing is wanted."""
    return one.right is None and step_kind(one.step) in (SURVEY, None)


def _column(name: str, answers: list[AnsweredItem | None]) -> pl.Series:
    given = [one for one in answers if one is not None and one.text is not None]
    if all(one.number is not None for one in given):
        return pl.Series(name, [one and one.number for one in answers], pl.Float64)
    return pl.Series(name, [one and one.text for one in answers], pl.String)
