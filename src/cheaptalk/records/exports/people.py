"""The export tables of participants: their visits, responses, games and payments."""

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
    """The source of a row about a participant.

    Attributes:
        study: the exported study.
        record: the data from the store.
        item: the item of a response.
        currency: the currency of a payment.
        game: empty, because the columns are the same for all games.
    """

    study: str
    record: PersonRecord
    item: AnsweredItem | None = None
    currency: str = ""
    game: str = ""


def _of(name: str, type_: str, range_: str, meaning: str, of: str = "") -> Column:
    return Column(name, type_, range_, meaning, attrgetter(of or f"record.{name}"))


def _moment(name: str, of: str, meaning: str) -> Column:
    return Column(
        name, TEXT, "UTC, ISO 8601", meaning, partial(_moment_of, attrgetter(f"record.{of}"))
    )


def _moment_of(read: Any, row: PersonRow) -> str | None:
    return moment(read(row))


WHO = _of("participant", TEXT, "", "The participant's code, which does not reveal who it is.")
STUDY = _of("study", TEXT, "", "The exported study.", "study")
PARTICIPANT = [
    WHO, STUDY,
    _of("cohort", TEXT, "", "The cohort; participants of different cohorts are never matched."),
    _of("step", TEXT, "", "The current or last step of the participant."),
    _of("visit", INTEGER, ">= 1", "The number of visits."),
    _of("ending", TEXT, " | ".join(ENDINGS), "How the last visit ended; empty if it has not."),
    _of("language", TEXT, "", "The language of the pages; empty if not recorded."),
    _of("flags", JSON, "", "Flags, as a list."),
    _moment("began_at", "begun", "Start of the first visit."),
    _moment("changed_at", "changed", "Last progress."),
]  # fmt: skip
RESPONSE = [
    WHO, STUDY,
    _of("number", INTEGER, ">= 0", "Counts the participant's responses; the items of one step have "
        "the same number."),
    _of("step", TEXT, "", "The step that asked."),
    _of("visit", INTEGER, ">= 1", "The number of the visit."),
    _of("game_number", INTEGER, ">= 0", "The number of the previous game, as in the table of "
        "plays; 0 before the first.", "record.game"),
    _of("item", TEXT, "", "The name of the question; empty for steps without questions and for the "
        "choice of a displayed name.", "item.item"),
    _of("answer", TEXT, "", "The answer as text; a list as JSON.", "item.text"),
    _of("value", NUMBER, "the scale's or the question's", "The answer, if it is a number.",
        "item.number"),
    _of("correct", BOOLEAN, "true | false", "Whether the response to the step was correct; empty "
        "if none was expected."),
    _moment("shown_at", "shown", "When the step was shown; empty if not recorded."),
    _moment("answered_at", "answered", "When it was answered."),
]  # fmt: skip
PLAY = [
    WHO, STUDY,
    _of("number", INTEGER, ">= 1", "Counts the participant's games."),
    _of("treatment", TEXT, "", "The treatment to which the participant was assigned."),
    _of("game", TEXT, "", "The game's name."),
    _of("match_id", TEXT, "", "The match, as in the table of matches; empty before it begins and "
        "after erasure.", "record.match_id"),
    _of("seat", TEXT, "", "The participant's seat; empty before the match begins."),
    _of("state", TEXT, " | ".join(PLAY_STATES), "The state of the game; technical means an error "
        "outside the game."),
    _of("payoff", NUMBER, "the game's unit", "The payoff; empty if the match did not finish."),
    _of("cents", INTEGER, "cents", "The earnings; empty before the game ends."),
    _moment("assigned_at", "assigned", "Time of assignment."),
    _moment("ended_at", "ended", "When the game ended for the participant; empty if it has not."),
]  # fmt: skip
PAYMENT = [
    _of("participant", TEXT, "", "The participant's code; empty if their data were deleted."),
    STUDY,
    _of("kind", TEXT, "base | bonus", "The kind of payment."),
    _of("key", TEXT, "", "The reason; each reason is paid only once."),
    _of("cents", INTEGER, "cents", "The amount."),
    _of("currency", TEXT, "", "The currency, such as USD.", "currency"),
    _moment("made_at", "made", "When it was earned."),
    _of("paid_out", BOOLEAN, "true | false", "Whether it is part of a payout."),
]  # fmt: skip
NOTICE = [
    WHO, STUDY,
    _of("kind", TEXT, "message | attention", "A message from the researchers, or an attention "
        "prompt."),
    _of("text", TEXT, "", "The text."),
    _of("wanted", TEXT, "", "The expected answer; empty if none is expected."),
    _moment("sent_at", "sent", "When it was sent."),
    _moment("due_at", "due", "The deadline for an answer; empty if there is none."),
    _moment("answered_at", "answered", "When it was answered or timed out; empty if still open."),
    _of("correct", BOOLEAN, "true | false", "Whether the expected answer came in time; empty for "
        "messages and open prompts."),
]  # fmt: skip
PEOPLE = {
    "participants": PARTICIPANT, "responses": RESPONSE, "plays": PLAY, "payments": PAYMENT,
    "notices": NOTICE,
}  # fmt: skip
"""The columns of the tables of participants, by table."""


def people_rows(store: StoreReader, study: str) -> Iterator[tuple[str, PersonRow]]:
    """Yield the table and source of each row about participants."""
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
