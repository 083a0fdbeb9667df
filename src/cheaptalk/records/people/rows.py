"""Rows about a study's participants: the columns of their frames and exported tables.

A frame has a column for each field. The exported table has the same columns, with names and ranges
from :class:`.Exported`, and the codebook contains the docstring of each field.
"""

from typing import Annotated, NamedTuple

from cheaptalk.records.exports.columns import TIME, Exported
from cheaptalk.records.store.schema import ENDINGS, NOTICE_KINDS, PLAY_STATES


class Participant(NamedTuple):
    """A participant, with columns of :data:`.schema.participants` as fields."""

    participant: str
    """The participant's code, which does not reveal who it is."""
    cohort: str
    """The cohort; participants of different cohorts are never matched."""
    step: str
    """The current or last step of the participant."""
    visit: Annotated[int, Exported(">= 1")]
    """The number of visits."""
    ending: Annotated[str | None, Exported(" | ".join(ENDINGS))]
    """How the last visit ended; empty if it has not."""
    language: str | None
    """The language of the pages; empty if not recorded."""
    flags: list[str]
    """Flags, as a list."""
    begun: Annotated[float, Exported(TIME, "started_at")]
    """Start of the first visit."""
    changed: Annotated[float, Exported(TIME, "changed_at")]
    """Last progress."""
    hidden_seconds: Annotated[float, Exported("s")]
    """How long the page was open but not visible, for example behind another tab."""
    hidden_times: Annotated[int, Exported(">= 0")]
    """How often the page was hidden."""


class Response(NamedTuple):
    """An item of a participant's response to a step; a response without items has one row.

    Other fields are columns of :data:`.schema.responses`.
    """

    participant: str
    """The participant's code, which does not reveal who it is."""
    number: Annotated[int, Exported(">= 0")]
    """Counts the participant's responses; the items of one step have the same number."""
    step: str
    """The step that asked."""
    visit: Annotated[int, Exported(">= 1")]
    """The number of the visit."""
    game: Annotated[int, Exported(">= 0", "game_number")]
    """The number of the previous game, as in the table of plays; 0 before the first."""
    item: str | None
    """The name of the question, or ``QUESTION.ROW`` if it has rows, such as the statements of a
    grid; empty for steps without questions and for the choice of a displayed name."""
    answer: str | None
    """The answer as text; a list as JSON."""
    value: Annotated[float | None, Exported("the scale's or the question's")]
    """The answer, if it is a number."""
    correct: bool | None
    """Whether the response to the step was correct; empty if none was expected."""
    shown: Annotated[float | None, Exported(TIME, "shown_at")]
    """When the step was shown; empty if not recorded."""
    answered: Annotated[float, Exported(TIME, "answered_at")]
    """When it was answered."""
    text_version: Annotated[int | None, Exported(">= 1")]
    """The version of the texts on the page; empty for steps without a page and if not recorded."""


class Play(NamedTuple):
    """A participant's game, with columns of :data:`.schema.plays` as fields."""

    participant: str
    """The participant's code, which does not reveal who it is."""
    number: Annotated[int, Exported(">= 1")]
    """Counts the participant's games."""
    treatment: str
    """The treatment to which the participant was assigned."""
    game: str
    """The game's name."""
    sequence: str | None
    """The participant's order of treatments, separated by " > "; empty without a design."""
    matching_group: str | None
    """The group within which the participant meets others; empty without matching groups."""
    match_id: str | None
    """The match, as in the table of matches; empty before it begins and after erasure."""
    seat: str | None
    """The participant's seat; empty before the match begins."""
    state: Annotated[str, Exported(" | ".join(PLAY_STATES))]
    """The state of the game; technical means an error outside the game."""
    payoff: Annotated[float | None, Exported("the game's unit")]
    """The payoff; empty if the match did not finish."""
    cents: Annotated[int | None, Exported("cents")]
    """The earnings, even if the game was not selected for payment; empty before the game ends."""
    paid: bool | None
    """Whether the game was selected for payment; empty before the visit ends."""
    paid_rounds: list[int] | None
    """The rounds that were drawn for payment, as a list; empty if none were drawn."""
    assigned: Annotated[float, Exported(TIME, "assigned_at")]
    """Time of assignment."""
    ended: Annotated[float | None, Exported(TIME, "ended_at")]
    """When the game ended for the participant; empty if it has not."""


class Payment(NamedTuple):
    """A payment to a participant, with columns of :data:`.schema.payments` as fields."""

    participant: str | None
    """The participant's code; empty if their data were deleted."""
    kind: Annotated[str, Exported("base | bonus")]
    """The kind of payment."""
    key: str
    """The reason; each reason is paid only once."""
    cents: Annotated[int, Exported("cents")]
    """The amount."""
    made: Annotated[float, Exported(TIME, "made_at")]
    """When it was earned."""
    paid_out: bool
    """Whether it is part of a payout."""


class Notice(NamedTuple):
    """A message to a participant or a researcher's action, with columns of the table of notices."""

    participant: str
    """The participant's code, which does not reveal who it is."""
    kind: Annotated[str, Exported(" | ".join(NOTICE_KINDS))]
    """A message, an attention prompt, or a researcher's action: a pause, an extension of deadlines,
    a skipped step (advance), or replacement by a program for the rest of a match."""
    text: str
    """The text; of an extension, the minutes; of a skipped step, its name; of a replacement, the
    match; of a pause, empty."""
    wanted: str | None
    """The expected answer; empty if none is expected."""
    sent: Annotated[float, Exported(TIME, "sent_at")]
    """When it was sent."""
    due: Annotated[float | None, Exported(TIME, "due_at")]
    """The deadline for an answer; of a pause or an extension, the participant's next deadline;
    empty if there is none."""
    answered: Annotated[float | None, Exported(TIME, "answered_at")]
    """When it was answered or timed out; of a pause, when it ended; empty if still open."""
    correct: bool | None
    """Whether the expected answer came in time; empty for messages and open prompts."""


class Correction(NamedTuple):
    """A text that was corrected after the study had started."""

    version: Annotated[int, Exported(">= 2")]
    """The version of the study's texts after the correction, which may change several texts."""
    made: Annotated[float, Exported(TIME, "made_at")]
    """When it was made."""
    by: str
    """The account or user that made it; empty if not recorded."""
    reason: str
    """The reason that was given; empty if not recorded."""
    text: str
    """The location of the text in the study file."""
    language: str
    """The code of the language; empty if the text has no languages."""
    before: str | None
    """The text before the correction; empty if it was added."""
    after: str | None
    """The text after the correction; empty if it was removed."""
