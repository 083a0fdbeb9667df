"""Participants while they take part: where they are on their path, and what waits for them."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import Journey, Page
from cheaptalk.studies.people.protocol import Ending
from cheaptalk.web.rooms.rooms import Guest


class Refused(CheaptalkError):
    """Somebody who comes cannot take part.

    Attributes:
        status: of the page that says so.
    """

    def __init__(self, why: str, status: int) -> None:
        super().__init__(why)
        self.status = status


@dataclass
class Notice:
    """A message or a prompt to a participant, as its row in the store."""

    COLUMNS: ClassVar = ("id", "kind", "text", "wanted", "due", "answered", "right")

    id: int
    kind: str
    text: str
    wanted: str | None
    due: float | None
    answered: float | None = None
    right: bool | None = None
    refused: str = ""
    """What was answered last, where that was not what is wanted."""


@dataclass
class Participant:
    """Somebody who takes part.

    Attributes:
        id: their number in the store.
        guest: who they are at tables; the guest's name is their code.
        journey: where they are.
        plays: their games by number, as rows.
        notices: sent to them, oldest first.
        flags: what was noticed of them.
        shown: when the page that they are at was first shown.
        given, problems: a form that was not whole, as it was filled in, and what it lacks.
        prompt: when a prompt in the game under way is due; None where none is.
        begun: when they came, in seconds since 1970.
        went_on: when they had last gone on as the server started; 0 for those who came since.
        waits_since: from when on they have waited for others without going away.
        quiz: the page of the last quiz, with its question.
        counted: what they add to the experiment's counts: treatments that they fill, and whether
            they have completed, or are under way.
    """

    id: int
    guest: Guest
    cohort: str
    journey: Journey
    plays: dict[int, dict[str, Any]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    shown: float | None = None
    given: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    prompt: float | None = None
    begun: float = 0.0
    went_on: float = 0.0
    waits_since: float = 0.0
    quiz: Page | None = None
    counted: tuple[tuple[str, ...], bool, bool] = ((), False, False)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def code(self) -> str:
        """By which the store knows them."""
        return self.guest.name

    @property
    def ending(self) -> Ending | None:
        """How their visit ended; None while it goes on."""
        return self.journey.ending

    @property
    def notice(self) -> Notice | None:
        """What they are to answer or read first: what has a time comes before what has none.

        After the end nothing is to be answered any more.
        """
        waiting = [
            one for one in self.notices
            if one.answered is None and (one.wanted is None or self.ending is None)
        ]  # fmt: skip
        return min(waiting, key=lambda one: (one.wanted is None, one.id), default=None)
