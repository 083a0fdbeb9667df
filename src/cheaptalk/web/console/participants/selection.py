"""The selection and order of the participants in the console's table, as query parameters."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, get_args
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.web.console.participants.monitor import Activity, State, activity_of
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant

PAGE = 100
"""Participants per page."""
STATES: tuple[State, ...] = get_args(State)
"""The states of participants, in the order of the table."""


class TableRow(NamedTuple):
    """A participant with their current state."""

    participant: Participant
    now: Activity

    @property
    def step(self) -> str:
        """The participant's current step or, after the visit, how it ended."""
        return status_of(self.participant)

    @property
    def treatments(self) -> list[str]:
        """The treatments of the participant's games, each once."""
        plays = self.participant.plays.values()
        return [*dict.fromkeys(play["treatment"] for play in plays if play.get("treatment"))]

    @property
    def online(self) -> bool:
        return self.participant.visitor.present and not self.participant.ending

    @property
    def seen(self) -> float:
        """When the participant was last seen, in seconds since 1970; 0 if never."""
        return self.participant.visitor.seen or self.participant.went_on

    @property
    def earned(self) -> int:
        return earned_by(self.participant)


SORT_KEYS: dict[str, Callable[[TableRow], Any]] = {
    "participant": lambda row: row.participant.code,
    "step": lambda row: (row.now.step or row.now.steps + 1, row.step),
    "state": lambda row: (STATES.index(row.now.state), row.now.since or 0.0),
    "cohort": lambda row: row.participant.cohort,
    "arrived": lambda row: row.participant.begun,
    "seen": lambda row: (row.online, row.seen),
    "games": lambda row: len(row.participant.plays),
    "earned": lambda row: row.earned,
    "flags": lambda row: (len(row.participant.flags), row.participant.flags),
}
"""What the rows are sorted by, by column."""


class Selection(BaseModel):
    """A part of the table of participants: its filters, order and page.

    Attributes:
        at: a step or an ending, or "" for all.
        state: a state, or "" for all.
        treatment: the treatment of one of a participant's games, or "" for all.
        code: a part of a participant's code, in either case.
        sort: a column of :data:`SORT_KEYS`, after "-" in descending order; else by arrival.
        after: number of rows on the pages before.
    """

    model_config = ConfigDict(frozen=True)

    at: str = Field("", max_length=200)
    state: str = Field("", max_length=20)
    treatment: str = Field("", max_length=200)
    code: str = Field("", max_length=64)
    sort: str = Field("", max_length=20)
    after: int = Field(0, ge=0, le=10**9)

    @property
    def filtered(self) -> bool:
        return any((self.at, self.state, self.treatment, self.code))

    def query(self, **changes: object) -> str:
        """Return the query string of this selection with some changes, or "".

        Unless ``after`` is among the changes, it leads to the first page.

        >>> Selection(state="waiting", after=100).query(sort="-seen")
        '?state=waiting&sort=-seen'
        """
        fields = {**self.model_dump(exclude={"after"}), **changes}
        given = {name: value for name, value in fields.items() if value}
        return f"?{urlencode(given)}" if given else ""

    def sorted_by(self, column: str) -> str:
        """Return the query string of the table sorted by a column, or by it in reverse."""
        return self.query(sort=f"-{column}" if self.sort == column else column)

    def order(self, column: str) -> str:
        """Return whether the table is sorted by a column: ascending, descending or none."""
        if self.sort.removeprefix("-") != column:
            return "none"
        return "descending" if self.sort.startswith("-") else "ascending"

    def matches(self, row: TableRow) -> bool:
        """Return whether a row passes all filters except that of the state."""
        return (
            self.at in ("", row.step)
            and (not self.treatment or self.treatment in row.treatments)
            and self.code.strip().lower() in row.participant.code.lower()
        )


class Selected(NamedTuple):
    """The selected rows: those of a page, their total, and the matching participants by state."""

    rows: list[TableRow]
    total: int
    states: dict[State, int]
    treatments: list[str]


def select(experiment: Experiment, selection: Selection) -> Selected:
    """Return the rows of a selection; unknown columns and states select as if they were ""."""
    people = list(experiment.people.values())
    rows = [TableRow(person, activity_of(experiment, person)) for person in people]
    treatments = sorted({name for row in rows for name in row.treatments})
    rows = [row for row in rows if selection.matches(row)]
    counts = Counter(row.now.state for row in rows)
    if selection.state in STATES:
        rows = [row for row in rows if row.now.state == selection.state]
    if key := SORT_KEYS.get(selection.sort.removeprefix("-")):
        rows.sort(key=key, reverse=selection.sort.startswith("-"))
    page = rows[selection.after : selection.after + PAGE]
    states = {state: counts[state] for state in STATES if counts[state]}
    return Selected(page, len(rows), states, treatments)


def earned_by(participant: Participant) -> int:
    """Return the cents that a participant has earned in games over all visits.

    Games that were not selected for payment are excluded when the visit has ended.
    """
    plays = participant.plays.values()
    return sum(play.get("cents") or 0 for play in plays if play.get("paid") is not False)


def status_of(participant: Participant) -> str:
    """Return a participant's current step or, after the visit, how it ended."""
    return participant.ending or participant.journey.stop.name
