"""The places of a study with a design: each participant follows the course of their place."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cheaptalk.rules import Chance
from cheaptalk.studies.people.path import Play
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.schedules import Round
from cheaptalk.studies.plans.designs import StudyDesign, positions, treatment_of
from cheaptalk.web.participants.admission.quotas import Assignment, Quotas
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.rooms.table_templates import TableTemplate

UNSTARTED = ("assigned", "left", "timed_out")
"""States of games that may not have begun."""


class Place(NamedTuple):
    """A place in a line, which is a cohort or a stratum of it."""

    line: str
    number: int


class Places(Quotas):
    """Assignment of participants to the places of a design.

    A new participant takes the first free place, which may be that of a participant who dropped
    out. In a matching group that has started, places stay empty.
    """

    def __init__(
        self,
        protocol: Protocol,
        templates: Iterable[TableTemplate],
        chance: Chance,
        design: StudyDesign,
    ) -> None:
        super().__init__(protocol, (), chance)
        self.design, self.schedule = design, design.schedule
        self.occupants: defaultdict[str, dict[int, Participant]] = defaultdict(dict)
        self.templates: defaultdict[str, list[TableTemplate]] = defaultdict(list)
        self._started: set[tuple[str, int]] = set()
        for template in templates:
            labels = [seated.label for seated in template.seated.values()]
            name = treatment_of(protocol.games.treatments, template.game, labels)
            self.templates[name].append(template)

    # Free places

    @property
    def full(self) -> bool:
        """Whether no one else may enter, not even to wait for a place."""
        waitlist = self.protocol.games.lobby.waitlist
        used = self._completed + self._active + self._lost()
        if used >= self.design.places + waitlist:
            return True
        lines = {*self.protocol.cohorts, *self.occupants}
        return not waitlist and all(self._first_free(line) is None for line in lines)

    def free_from(self, person: Participant) -> float | None:
        return None  # a design has a single visit

    def may_wait(self, person: Participant) -> bool:
        lobby = self.protocol.games.lobby
        added = person.seconds_added + person.seconds_paused(person.changed)
        in_time = time.time() < person.changed + 60 * lobby.minutes + added
        waits = lobby.waitlist > 0 and self.place_of(person) is None and in_time
        return waits and any(other.ending is None for _, other in self._occupied())

    def _occupied(self) -> Iterator[tuple[Place, Participant]]:
        for line, people in self.occupants.items():
            for number, person in people.items():
                yield Place(line, number), person

    def _first_free(self, line: str, person: Participant | None = None) -> int | None:
        """Return the first free place of a line, or None; a ``person``'s own place is free."""
        taken = {
            number
            for number, other in self.occupants[line].items()
            if other is not person and _stays(other)
        }
        if self.schedule.grouped:
            return self._first_in_group(line, taken)
        if sum(_stays(other) for _, other in self._occupied()) >= self.design.places:
            return None
        full = self._full_treatments()
        if len(full) == len(self.schedule.arms):
            return None
        number = 0
        while number in taken or full & {*self.schedule.order(line, number)}:
            number += 1
        return number

    def _full_treatments(self) -> set[str]:
        if not self.design.quotas:
            return set()
        counts = Counter(
            self.schedule.order(*place)[0] for place, other in self._occupied() if _stays(other)
        )
        return {name for name, quota in self.design.quotas.items() if counts[name] >= quota}

    def _first_in_group(self, line: str, taken: set[int]) -> int | None:
        size, opened = self.schedule.group, self._opened()
        group = 0
        while True:
            is_open = (line, group) in opened
            if not is_open and size * (len(opened) + 1) > self.design.places:
                return None
            if not self._check_started(line, group):
                members = range(group * size, (group + 1) * size)
                free = next((number for number in members if number not in taken), None)
                if free is not None:
                    return free
            group += 1

    def _opened(self) -> set[tuple[str, int]]:
        """Return the matching groups with participants, except those that all have left."""
        groups = {self._group(place) for place, other in self._occupied() if _stays(other)}
        return {group for group in groups | self._started if not self._is_void(*group)}

    def _is_void(self, line: str, group: int) -> bool:
        """Return whether a started group was left by all, so that another group replaces it."""
        return self._check_started(line, group) and not any(map(_stays, self._members(line, group)))

    def _lost(self) -> int:
        """Count the places that stay empty, because their matching group has started."""
        if not self.schedule.grouped:
            return 0
        return sum(
            self.schedule.group - sum(map(_stays, self._members(*group)))
            for group in self._started
            if not self._is_void(*group)
        )

    def _group(self, place: Place) -> tuple[str, int]:
        return place.line, place.number // self.schedule.group

    def _members(self, line: str, group: int) -> list[Participant]:
        size, people = self.schedule.group, self.occupants[line]
        numbers = range(group * size, (group + 1) * size)
        return [people[number] for number in numbers if number in people]

    def _check_started(self, line: str, group: int) -> bool:
        """Return whether a matching group has started, and remember it if so."""
        if (line, group) not in self._started and any(
            person.visitor.room is not None
            or any(
                play.get("match_id") or play["state"] not in UNSTARTED
                for play in person.plays.values()
            )
            for person in self._members(line, group)
        ):
            self._started.add((line, group))
        return (line, group) in self._started

    # Assignment

    def place_of(self, person: Participant) -> Place | None:
        """Return a participant's place; None before the first assignment."""
        assigned = person.journey.assigned
        if assigned is None or assigned.answer["treatment"] is None:
            return None
        return Place(assigned.answer["line"], assigned.answer["place"])

    def assign(self, person: Participant, game: int) -> Assignment | None:
        place = self.place_of(person)
        if place is None:
            line = self._line(person)
            number = self._first_free(line, person)
            if number is None:
                return None
            place = Place(line, number)
            self.occupants[line][number] = person
        item = self.schedule.course(*place)[game - 1]
        template = self._template(place, item, game)
        line, group = self._group(place)
        answer = {
            "treatment": item.treatment,
            "template": template.name,
            "line": place.line,
            "place": place.number,
        }
        columns = {"sequence": " > ".join(self.schedule.order(*place))}
        if self.schedule.grouped:
            columns["matching_group"] = f"{line}/{group + 1}"
        return Assignment(template.game.name, answer, columns)

    def _line(self, person: Participant) -> str:
        item = self.protocol.games.stratify
        if item is None:
            return person.cohort
        responses = reversed(person.journey.responses)
        answers = (response.answer[item] for response in responses if item in response.answer)
        return f"{person.cohort}/{next(answers, None)}"

    def _template(self, place: Place, item: Round, game: int) -> TableTemplate:
        templates = self.templates[item.treatment]
        people = len(templates[0].human_seats)
        first = min(item.table, default=place.number) if people > 1 else place.number
        draw = self.chance("template", place.line, game, first)
        if people > 1 and item.table:  # the same for all members of the table
            return draw.pick(templates)
        if people == 1 and item.position is not None:
            seats = positions(map(_human_indices, templates))
            own = (seats[item.position],)
            templates = [template for template in templates if _human_indices(template) == own]
        counts = Counter(
            response.answer.get("template")
            for _, other in self._occupied()
            if _stays(other)
            for response in other.journey.responses
            if "treatment" in response.answer
        )

        def order(template: TableTemplate) -> tuple[bool, int]:
            count = counts[template.name]
            return count % people == 0, count

        least = min(map(order, templates))
        return draw.pick([template for template in templates if order(template) == least])

    def update(self, person: Participant) -> None:
        super().update(person)
        place = self.place_of(person)
        if place is not None:
            earlier = self.occupants[place.line].get(place.number)
            if earlier is None or not _stays(earlier):
                self.occupants[place.line][place.number] = person

    def remove(self, person: Participant) -> None:
        super().remove(person)
        for people in self.occupants.values():
            for number in [key for key, other in people.items() if other is person]:
                del people[number]

    # Meetings

    def round_of(self, person: Participant) -> Round | None:
        """Return a participant's current game in the schedule; None before the first assignment."""
        place = self.place_of(person)
        return None if place is None else self.schedule.course(*place)[person.journey.stop.game - 1]

    def seat_of(self, person: Participant, template: TableTemplate) -> str | None:
        """Return the seat of a participant's position; None if any seat will do."""
        item, seats = self.round_of(person), template.human_seats
        if len(seats) == 1:
            return seats[0]
        return None if item is None or item.position is None else seats[item.position]

    def partners(self, person: Participant) -> list[Participant | None] | None:
        """Return whom a participant meets in the current game, with None for each who cannot play.

        The result is None if participants meet in the order of arrival.
        """
        item, place = self.round_of(person), self.place_of(person)
        if item is None or place is None or not self.schedule.grouped:
            return None
        others = [
            self.occupants[place.line].get(number)
            for number in item.table
            if number != place.number
        ]
        game = person.journey.stop.game
        return [other if other and _can_still_play(other, game) else None for other in others]

    def has_started(self, person: Participant) -> bool:
        """Return whether a participant's matching group is known to have started."""
        place = self.place_of(person)
        return place is not None and self._group(place) in self._started

    def waiting_group(self, person: Participant) -> tuple[int, int] | None:
        """Return how many members of a matching group are ready to start, and its size.

        The result is None for groups that have started. A group starts when all are ready.
        """
        place, stop = self.place_of(person), person.journey.stop
        if place is None or stop.game > 1 or not self.schedule.grouped:
            return None
        line, group = self._group(place)
        if self._check_started(line, group):
            return None
        ready = [
            member
            for member in self._members(line, group)
            if isinstance(member.journey.stop, Play) and member.visitor.present
        ]
        if len(ready) < self.schedule.group:
            return len(ready), self.schedule.group
        self._started.add((line, group))
        for member in ready:
            member.visitor.notifier.notify()
        return None


def _stays(person: Participant) -> bool:
    """Return whether a participant keeps their place."""
    return person.ending is None or "complete" in person.journey.endings


def _can_still_play(person: Participant, game: int) -> bool:
    """Return whether a participant is in the study and has not played or skipped a game."""
    play = person.plays.get(game)
    return person.ending is None and (play is None or play["state"] == "assigned")


def _human_indices(template: TableTemplate) -> tuple[int, ...]:
    seats = list(template.game.seats)
    return tuple(seats.index(seat) for seat in template.human_seats)
