"""The tables of an export on the people who took part: who, what they answered, played and got."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT, Column
from cheaptalk.records.exports.rows import moment
from cheaptalk.records.people.queries import (
    AnsweredItem,
    Notice,
    Participant,
    Payment,
    Play,
    Response,
    currency_of,
    items_of_response,
    notices_of,
    participants_of,
    payments_of,
    plays_of,
    responses_of,
)
from cheaptalk.records.store.reader import StoreReader
from cheaptalk.records.store.schema import ENDINGS, PLAY_STATES

PersonRecord: TypeAlias = Participant | Response | Play | Payment | Notice


@dataclass(frozen=True)
class PersonRow:
    """What a row about a person is read from.

    Attributes:
        study: the study that it is exported with.
        one: what the store has.
        item: of a response.
        currency: of a payment.
        game: none, as its columns are those of all games.
    """

    study: str
    one: PersonRecord
    item: AnsweredItem | None = None
    currency: str = ""
    game: str = ""


def _of(name: str, type_: str, range_: str, meaning: str, of: str = "") -> Column:
    return Column(name, type_, range_, meaning, attrgetter(of or f"one.{name}"))


def _moment(name: str, of: str, meaning: str) -> Column:
    return Column(
        name, TEXT, "UTC, ISO 8601", meaning, partial(_moment_of, attrgetter(f"one.{of}"))
    )


def _moment_of(read: Any, row: PersonRow) -> str | None:
    return moment(read(row))


WHO = _of("participant", TEXT, "", "The person, by a code that stands for no other name.")
STUDY = _of("study", TEXT, "", "The study that it is exported with.", "study")
PARTICIPANT = [
    WHO, STUDY,
    _of("cohort", TEXT, "", "The cohort; people of different cohorts never meet."),
    _of("step", TEXT, "", "The step of the path that they are at, or stopped at."),
    _of("visit", INTEGER, ">= 1", "How often they came."),
    _of("ending", TEXT, " | ".join(ENDINGS), "How their last visit ended; empty while it goes on."),
    _of("language", TEXT, "", "The language that they read; empty where nobody noted it."),
    _of("flags", JSON, "", "What was noticed of them, as a list of words."),
    _moment("began_at", "begun", "When they first came."),
    _moment("changed_at", "changed", "When they last went on."),
]  # fmt: skip
RESPONSE = [
    WHO, STUDY,
    _of("number", INTEGER, ">= 0", "Counts what the person answered; the items of one step share "
        "it."),
    _of("step", TEXT, "", "The step of the path that asked."),
    _of("visit", INTEGER, ">= 1", "At which of their visits."),
    _of("game_number", INTEGER, ">= 0", "The number of the game before it, as in the table of "
        "plays; 0 before the first.", "one.game"),
    _of("item", TEXT, "", "What was asked, by its name; empty of a step that asks nothing, and "
        "where people say what they want to be called.", "item.item"),
    _of("answer", TEXT, "", "The answer as text; a list as JSON.", "item.text"),
    _of("value", NUMBER, "the scale's or the question's", "The answer where it is a number.",
        "item.number"),
    _of("right", BOOLEAN, "true | false", "Whether the step's answer was what was wanted; empty "
        "where nothing was."),
    _moment("shown_at", "shown", "When the step was shown; empty where nobody noted it."),
    _moment("answered_at", "answered", "When it was answered."),
]  # fmt: skip
PLAY = [
    WHO, STUDY,
    _of("number", INTEGER, ">= 1", "Counts the person's games."),
    _of("treatment", TEXT, "", "The table that they were assigned to."),
    _of("game", TEXT, "", "The game's name."),
    _of("match_id", TEXT, "", "The match: as in the table of matches; empty before it begins, and "
        "once it is erased.", "one.match"),
    _of("place", TEXT, "", "The place that they filled; empty before it begins."),
    _of("state", TEXT, " | ".join(PLAY_STATES), "What became of it; technical is an error that is "
        "not play."),
    _of("payoff", NUMBER, "the game's unit", "What they got in it; empty where it did not finish."),
    _of("cents", INTEGER, "cents", "What it earned them; empty before it ends."),
    _moment("assigned_at", "assigned", "When they were assigned to it."),
    _moment("ended_at", "ended", "When it ended for them; empty while it goes on."),
]  # fmt: skip
PAYMENT = [
    _of("participant", TEXT, "", "The person, by code; empty where their data were deleted."),
    STUDY,
    _of("kind", TEXT, "base | bonus", "What kind of pay it is."),
    _of("key", TEXT, "", "What it is for; nothing is paid twice."),
    _of("cents", INTEGER, "cents", "How much."),
    _of("currency", TEXT, "", "In what, such as USD.", "currency"),
    _moment("made_at", "made", "When it was earned."),
    _of("paid_out", BOOLEAN, "true | false", "Whether it stands in a file that was paid out."),
]  # fmt: skip
NOTICE = [
    WHO, STUDY,
    _of("kind", TEXT, "message | attention", "A message of the researchers, or a prompt."),
    _of("text", TEXT, "", "What was said."),
    _of("wanted", TEXT, "", "What was to be answered; empty where nothing was."),
    _moment("sent_at", "sent", "When it was sent."),
    _moment("due_at", "due", "When an answer was too late; empty for never."),
    _moment("answered_at", "answered", "When it was answered, or its time was over; empty while it "
            "is open."),
    _of("right", BOOLEAN, "true | false", "Whether what was wanted came in time; empty of messages "
        "and of what is open."),
]  # fmt: skip
PEOPLE = {
    "participants": PARTICIPANT, "responses": RESPONSE, "plays": PLAY, "payments": PAYMENT,
    "notices": NOTICE,
}  # fmt: skip
"""The columns of the tables on people, by table."""


def people_rows(store: StoreReader, study: str) -> Iterator[tuple[str, PersonRow]]:
    """What the rows of the tables on people are read from, table by table."""
    for person in participants_of(store, study):
        yield "participants", PersonRow(study, person)
    for response in responses_of(store, study):
        for item in items_of_response(response):
            yield "responses", PersonRow(study, response, item)
    for play in plays_of(store, study):
        yield "plays", PersonRow(study, play)
    currency = currency_of(store, study)
    for payment in payments_of(store, study):
        yield "payments", PersonRow(study, payment, currency=currency)
    for notice in notices_of(store, study):
        yield "notices", PersonRow(study, notice)
