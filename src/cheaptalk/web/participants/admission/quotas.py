"""Quotas: the current and required number of participants in each treatment."""

import time
from collections import Counter
from collections.abc import Iterable
from math import ceil
from typing import Any, NamedTuple

from cheaptalk.rules import Chance
from cheaptalk.studies.people.assignment import Treatment, assign
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.rooms.table_templates import TableTemplate

HOUR = 3600.0
STAYING = ("complete", "partner_left", "technical")
"""Endings of participants who still count toward their treatments."""
STATES = ("assigned", "playing", "finished")
"""States of games that count toward a treatment."""


class Assignment(NamedTuple):
    """An assignment of a participant to a treatment for one game.

    Attributes:
        game: the game's name.
        answer: the recorded response, with the name of the ``treatment``.
        play: further columns of the participant's game.
    """

    game: str
    answer: dict[str, Any]
    play: dict[str, Any]


class Quotas:
    """Counts of participants in each treatment, compared with the required numbers.

    ``filled`` excludes those who dropped out. If all games of a visit have the same treatment, a
    participant counts once per visit.
    """

    def __init__(
        self, protocol: Protocol, table_templates: Iterable[TableTemplate], chance: Chance
    ) -> None:
        self.protocol = protocol
        self.chance = chance
        self.filled: Counter[str] = Counter()
        self._completed = self._active = 0
        games = protocol.games.max if protocol.games.same_treatment else 1
        self.treatments = [
            Treatment(
                template.name,
                template.game.name,
                len(template.human_seats),
                ceil(template.planned_matches / games),
            )
            for template in table_templates
        ]

    @property
    def full(self) -> bool:
        maximum = self.protocol.recruitment.places
        if maximum is not None and self._completed + self._active >= maximum:
            return True
        return not self._open()

    def _open(self) -> list[Treatment]:
        return [item for item in self.treatments if self.filled[item.name] < item.seats]

    def free_from(self, person: Participant) -> float | None:
        """Return when a participant may next play, in seconds since 1970; None if never."""
        return min((self._free_from(person, item) for item in self._open()), default=None)

    def _free_from(self, person: Participant, treatment: Treatment) -> float:
        hours = self.protocol.limits.hours
        played = [
            play["assigned"] for play in person.plays.values() if play["game"] == treatment.game
        ]
        return max(played) + hours * HOUR if played and hours else 0.0

    def assign(self, person: Participant, game: int) -> Assignment | None:
        """Assign a participant to a treatment for a game; return None if none is available."""
        now, previous, games = time.time(), person.journey.assigned, self.protocol.games
        allowed = [item for item in self.treatments if self._free_from(person, item) <= now]
        if games.same_treatment and previous and previous.visit == person.journey.stop.visit:
            name = previous.answer["treatment"]
            treatment = next((item for item in allowed if item.name == name), None)
            return None if treatment is None else _assignment(treatment)
        played = Counter(play["treatment"] for play in person.plays.values())
        draw = self.chance("assignment", person.code, game)
        treatment = assign(allowed, self.filled, played, draw)
        if treatment is None:
            return None
        filled, completed, active = person.counted  # counted before the next one is assigned
        self.filled[treatment.name] += 1
        person.counted = (*filled, treatment.name), completed, active
        return _assignment(treatment)

    def seat_of(self, person: Participant, template: TableTemplate) -> str | None:
        """Return the seat that a participant must have; None if any seat will do."""
        return None

    def may_wait(self, person: Participant) -> bool:
        """Return whether a participant may wait for a place that becomes free."""
        return False

    def update(self, person: Participant) -> None:
        stays = person.ending is None or person.ending in STAYING
        visits = {
            response.game: response.visit
            for response in person.journey.responses
            if "treatment" in response.answer
        }
        treatments = {
            visits[number] if self.protocol.games.same_treatment else number: play["treatment"]
            for number, play in person.plays.items()
            if stays and play["state"] in STATES
        }
        completed = "complete" in person.journey.endings
        active = person.ending is None and not completed
        self._replace(person, tuple(treatments.values()), completed, active)

    def remove(self, person: Participant) -> None:
        self._replace(person, (), False, False)

    def _replace(
        self, person: Participant, filled: tuple[str, ...], completed: bool, active: bool
    ) -> None:
        before = person.counted
        self.filled.subtract(before[0])
        self.filled.update(filled)
        self._completed += completed - before[1]
        self._active += active - before[2]
        person.counted = filled, completed, active


def _assignment(treatment: Treatment) -> Assignment:
    return Assignment(treatment.game, {"treatment": treatment.name}, {})
