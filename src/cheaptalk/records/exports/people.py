"""Exported tables of participants: their visits, responses, games and payments."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT
from cheaptalk.records.exports.rows import column, time_column
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
    """A row in one of the exported tables of participants.

    Attributes:
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


WHO = column("participant", TEXT, "", "The participant's code, which does not reveal who it is.")
STUDY = column("study", TEXT, "", "The exported study.", "study")
PARTICIPANT = [
    WHO, STUDY,
    column("cohort", TEXT, "", "The cohort; participants of different cohorts are never matched."),
    column("step", TEXT, "", "The current or last step of the participant."),
    column("visit", INTEGER, ">= 1", "The number of visits."),
    column("ending", TEXT, " | ".join(ENDINGS), "How the last visit ended; empty if it has not."),
    column("language", TEXT, "", "The language of the pages; empty if not recorded."),
    column("flags", JSON, "", "Flags, as a list."),
    time_column("began_at", "record.begun", "Start of the first visit."),
    time_column("changed_at", "record.changed", "Last progress."),
]  # fmt: skip
RESPONSE = [
    WHO, STUDY,
    column("number", INTEGER, ">= 0", "Counts the participant's responses; the items of one step "
        "have the same number."),
    column("step", TEXT, "", "The step that asked."),
    column("visit", INTEGER, ">= 1", "The number of the visit."),
    column("game_number", INTEGER, ">= 0", "The number of the previous game, as in the table of "
        "plays; 0 before the first.", "record.game"),
    column("item", TEXT, "", "The name of the question; empty for steps without questions and for "
        "the choice of a displayed name.", "item.item"),
    column("answer", TEXT, "", "The answer as text; a list as JSON.", "item.text"),
    column("value", NUMBER, "the scale's or the question's", "The answer, if it is a number.",
        "item.number"),
    column("correct", BOOLEAN, "true | false", "Whether the response to the step was correct; "
        "empty if none was expected."),
    time_column("shown_at", "record.shown", "When the step was shown; empty if not recorded."),
    time_column("answered_at", "record.answered", "When it was answered."),
]  # fmt: skip
PLAY = [
    WHO, STUDY,
    column("number", INTEGER, ">= 1", "Counts the participant's games."),
    column("treatment", TEXT, "", "The treatment to which the participant was assigned."),
    column("game", TEXT, "", "The game's name."),
    column("match_id", TEXT, "", "The match, as in the table of matches; empty before it begins "
        "and after erasure.", "record.match_id"),
    column("seat", TEXT, "", "The participant's seat; empty before the match begins."),
    column("state", TEXT, " | ".join(PLAY_STATES), "The state of the game; technical means an "
        "error outside the game."),
    column("payoff", NUMBER, "the game's unit", "The payoff; empty if the match did not finish."),
    column("cents", INTEGER, "cents", "The earnings; empty before the game ends."),
    time_column("assigned_at", "record.assigned", "Time of assignment."),
    time_column("ended_at", "record.ended", "When the game ended for the participant; "
        "empty if it has not."),
]  # fmt: skip
PAYMENT = [
    column("participant", TEXT, "", "The participant's code; empty if their data were deleted."),
    STUDY,
    column("kind", TEXT, "base | bonus", "The kind of payment."),
    column("key", TEXT, "", "The reason; each reason is paid only once."),
    column("cents", INTEGER, "cents", "The amount."),
    column("currency", TEXT, "", "The currency, such as USD.", "currency"),
    time_column("made_at", "record.made", "When it was earned."),
    column("paid_out", BOOLEAN, "true | false", "Whether it is part of a payout."),
]  # fmt: skip
NOTICE = [
    WHO, STUDY,
    column("kind", TEXT, "message | attention", "A message from the researchers, or an attention "
        "prompt."),
    column("text", TEXT, "", "The text."),
    column("wanted", TEXT, "", "The expected answer; empty if none is expected."),
    time_column("sent_at", "record.sent", "When it was sent."),
    time_column("due_at", "record.due", "The deadline for an answer; empty if there is none."),
    time_column("answered_at", "record.answered", "When it was answered or timed out; empty "
        "if still open."),
    column("correct", BOOLEAN, "true | false", "Whether the expected answer came in time; empty "
        "for messages and open prompts."),
]  # fmt: skip
PEOPLE = {
    "participants": PARTICIPANT, "responses": RESPONSE, "plays": PLAY, "payments": PAYMENT,
    "notices": NOTICE,
}  # fmt: skip
"""Columns of the tables of participants, by table."""


def people_rows(store: StoreReader, study: str) -> Iterator[tuple[str, PersonRow]]:
    """Yield each exported row about participants with the name of its table."""
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
