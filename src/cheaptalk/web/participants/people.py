"""Participants with their current step, games and messages, and their groups."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cheaptalk.records.people.identities import Identities
from cheaptalk.records.people.invitations import is_invited
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import Journey, Page
from cheaptalk.studies.people.protocol import Ending, Recruitment
from cheaptalk.studies.people.steps import QUIZZES, Quiz
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.web.rooms.rooms import Visitor

PAUSE, EXTENSION = "pause", "extension"
"""Kinds of notices about a participant's clocks."""


class Refused(CheaptalkError):
    """Raised if a person cannot take part; ``status`` is the HTTP status of the page.

    ``ending`` is that whose completion code the person gets, for example because the study is full.
    """

    def __init__(self, message: str, status: int, ending: Ending | None = None) -> None:
        super().__init__(message)
        self.status, self.ending = status, ending


def study_changed() -> Refused:
    """Return the error for a participant whose current step was removed from the study."""
    return Refused("The study has changed, so you cannot continue where you left off.", 409)


def closed() -> Refused:
    """Return the refusal of newcomers to a closed study."""
    text = "This study no longer accepts new participants. Thank you for your interest."
    return Refused(text, 410, "quota_full")


def full() -> Refused:
    """Return the refusal of newcomers to a study without free places."""
    text = "This study has enough participants. Thank you for your interest."
    return Refused(text, 409, "quota_full")


def missing_id() -> Refused:
    """Return the error for a link without a platform ID."""
    return Refused(
        "Your ID is missing from this link. Use the complete link that you received.", 400
    )


def may_take_part(
    recruitment: Recruitment, identities: Identities, study: str, known_by: str
) -> bool:
    """Return whether a study's recruitment admits an id, or invites a code."""
    if known_by in (recruitment.invited or ()):
        return True
    if recruitment.source == "code":
        return is_invited(identities, study, known_by)
    return recruitment.invited is None


@dataclass
class Notice:
    """A stored message or researcher's action, or a check that expects a word until it is due.

    Kinds and texts are those of :class:`.rows.Notice`; ``answered`` is when a pause ended.
    """

    COLUMNS: ClassVar = ("id", "kind", "text", "wanted", "due", "answered", "correct", "sent")

    id: int
    kind: str
    text: str
    expected: str | None
    due: float | None
    answered: float | None = None
    correct: bool | None = None
    sent: float = 0.0
    rejected: str = ""


@dataclass
class Participant:
    """A participant of an experiment.

    Attributes:
        visitor: the participant in rooms; the visitor's name is the participant's code.
        plays: rows of the participant's games by number.
        flags: observations for researchers, such as missed prompts.
        shown_at: time at which the current page was first shown.
        entered, problems: values and problems of an incomplete form.
        prompt_due: time of the attention check in the current game, or None.
        went_on: time of the last step before the server's start; 0 for later participants.
        waits_since: start of uninterrupted waiting for other players.
        counted: contribution to the quotas: treatments, whether completed, and whether active.
        hidden_since: since when the page is not visible, or None.
        hidden_seconds, hidden_times: how long and how often the page was hidden before.
    """

    id: int
    visitor: Visitor
    cohort: str
    journey: Journey
    plays: dict[int, dict[str, Any]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    shown_at: float | None = None
    entered: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str | dict[str, str]] = field(default_factory=dict)
    prompt_due: float | None = None
    begun: float = 0.0
    went_on: float = 0.0
    waits_since: float = 0.0
    quiz: Page | None = None
    counted: tuple[tuple[str, ...], bool, bool] = ((), False, False)
    hidden_since: float | None = None
    hidden_seconds: float = 0.0
    hidden_times: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def code(self) -> str:
        return self.visitor.name

    @property
    def ending(self) -> Ending | None:
        """How the participant's visit ended; None while the visit is in progress."""
        return self.journey.ending

    def note_visible(self, now: float | None = None) -> None:
        """Count the time for which the page has been hidden, if it is."""
        if self.hidden_since is not None:
            now = time.time() if now is None else now
            self.hidden_seconds += max(0.0, now - self.hidden_since)
            self.hidden_since = None

    @property
    def notice(self) -> Notice | None:
        """Next unanswered message or attention check; checks are dropped once the visit ends."""
        waiting = [
            notice
            for notice in self.notices
            if notice.answered is None
            and notice.kind != PAUSE
            and (notice.expected is None or self.ending is None)
        ]
        return min(waiting, key=lambda notice: (notice.expected is None, notice.id), default=None)

    @property
    def pause(self) -> Notice | None:
        """The current pause; None if the participant's clocks run."""
        pauses = (notice for notice in self.notices if notice.kind == PAUSE)
        return next((pause for pause in pauses if pause.answered is None), None)

    def seconds_paused(self, since: float) -> float:
        """Return the seconds for which the participant was paused since a time."""
        now = time.time()
        return sum(
            max(0.0, (notice.answered or now) - max(notice.sent, since))
            for notice in self.notices
            if notice.kind == PAUSE
        )

    @property
    def changed(self) -> float:
        """Time at which the current step began, in seconds since 1970."""
        responses = self.journey.responses
        return responses[-1].answered if responses else self.begun

    @property
    def seconds_added(self) -> float:
        """Seconds by which researchers have extended the current step's waiting time."""
        added = (notice for notice in self.notices if notice.kind == EXTENSION)
        return sum(60 * float(notice.text) for notice in added if notice.sent >= self.changed)


def group_of(person: Participant, people: Mapping[str, Participant]) -> frozenset[str] | None:
    """Return the codes of all participants in a participant's group.

    The result is None in the first game of a visit, and in studies without ``fixed_groups``.
    """
    journey = person.journey
    if not journey.protocol.games.fixed_groups:
        return None
    stop = journey.stop
    earlier = [
        response.game
        for response in journey.responses
        if "treatment" in response.answer
        and response.visit == stop.visit
        and response.game < stop.game
    ]
    if not earlier:
        return None
    match = person.plays[earlier[-1]].get("match_id")
    return frozenset({person.code}) | {
        other.code
        for other in people.values()
        if match is not None and any(play.get("match_id") == match for play in other.plays.values())
    }


def is_broken(group: frozenset[str] | None, people: Mapping[str, Participant], size: int) -> bool:
    """Return whether a group has too few active members for its games."""
    if group is None:
        return False
    active = [code for code in group if code in people and people[code].ending is None]
    return len(active) < size


def check_protocol(study: Study) -> None:
    """Raise a StudyError if a study has no participants or a game lacks the required quiz."""
    if study.people is None:
        raise StudyError(
            f"the study {study.name} has no participants; add their steps under people"
        )
    games = [grid.game for grid in study.games]
    for step in study.people.steps:
        missing = [name for name in games if isinstance(step, Quiz) and name not in QUIZZES]
        if missing:
            raise StudyError(
                f"people.path: {missing[0]} has no quiz; remove the step quiz, or register a quiz "
                "under the entry point cheaptalk.quizzes"
            )
