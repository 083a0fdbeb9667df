"""The casting of a preview: which seats its researcher and its bots take.

The researcher has the chosen treatment and seat. In a design with matching groups, bots take the
other places of the researcher's group. Otherwise, bots take seats only at tables where the
researcher waits, so that they never wait for the researcher elsewhere.
"""

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.people.path import Play
from cheaptalk.studies.people.schedules import Round
from cheaptalk.studies.plans.designs import StudyDesign
from cheaptalk.web.participants.admission.places import Place, Places
from cheaptalk.web.participants.admission.quotas import Assignment, Quotas
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.people import Participant
from cheaptalk.web.previews.settings import ARROW, SEARCHED, PreviewSettings, line_of, seat_at
from cheaptalk.web.rooms.rooms import Room, Stage
from cheaptalk.web.rooms.table_templates import TableTemplate

BOTS = "bots"
"""The line of the places of bots that fill seats on demand."""
MOST_GROUPS = 120
"""Number of matching groups that are searched for the chosen treatment and seat."""


class Promise(NamedTuple):
    """A seat at a table that a bot is going to take, with the table's treatment."""

    room: Room
    seat: str
    treatment: str


class Cast:
    """The researcher's participants and the bots of a preview.

    Attributes:
        own: codes of the researcher's participants.
        promises: seats that bots are going to take, by their codes.
    """

    def __init__(self, experiment: Experiment, settings: PreviewSettings, own: list[str]) -> None:
        self.experiment = experiment
        self.settings = settings
        self.own = own
        self.promises: dict[str, Promise] = {}

    def people(self) -> list[Participant]:
        """Return the researcher's participants, without deleted ones."""
        people = self.experiment.people
        return [people[code] for code in self.own if code in people]

    def seats(self, template: TableTemplate) -> list[str]:
        """Return the seats of people at a table, the chosen one first."""
        seats = list(template.human_seats)
        first = seats.index(self.settings.seat) if self.settings.seat in seats else 0
        return seats[first:] + seats[:first]

    def demand(self) -> Iterator[tuple[Participant, Promise]]:
        """Yield the seats that bots must take, with the participant who waits for them."""
        promised = {(promise.room.code, promise.seat) for promise in self._open_promises()}
        for person in self.people():
            room = person.visitor.room
            if room is None or room.stage is not Stage.WAITING or not self._plays(person):
                continue
            coming = {
                self.experiment.quotas.seat_of(other, room.table_template)
                for other in self.people()
                if other is not person and self._is_coming(other, person)
            }
            assigned = person.journey.assigned
            assert assigned is not None
            for seat in room.free:
                if seat not in coming and (room.code, seat) not in promised:
                    promised.add((room.code, seat))
                    yield person, Promise(room, seat, assigned.answer["treatment"])

    def is_short(self) -> bool:
        """Return whether bots are missing, or on their way, where the researcher waits."""
        return any(self._open_promises()) or any(self.demand())

    def _plays(self, person: Participant) -> bool:
        return isinstance(person.journey.stop, Play)

    def _is_coming(self, other: Participant, person: Participant) -> bool:
        """Return whether another own participant will play at the table of one who waits."""
        room, game = other.visitor.room, person.journey.stop.game
        if other.ending is not None or (room is not None and not room.over):
            return False
        if other.journey.stop.game < game:
            return True
        same = self.experiment.template_of(other) is self.experiment.template_of(person)
        play = other.plays.get(game, {})
        return other.journey.stop.game == game and same and play.get("state") == "assigned"

    def _open_promises(self) -> Iterator[Promise]:
        for code, promise in list(self.promises.items()):
            bot = self.experiment.people.get(code)
            ended = bot is not None and bot.ending is not None
            if ended or promise.room.stage is not Stage.WAITING:
                del self.promises[code]
            else:
                yield promise


class CastQuotas(Quotas):
    """Assignment to treatments in the order of arrival: the chosen treatment, then the others."""

    cast: Cast

    @property
    def full(self) -> bool:
        return False

    def may_wait(self, person: Participant) -> bool:
        return person.code not in self.cast.own

    def assign(self, person: Participant, game: int) -> Assignment | None:
        if person.code in self.cast.own:
            return self._own_assignment(person, game)
        promise = self.cast.promises.get(person.code)
        if promise is None or promise.room.stage is not Stage.WAITING:
            return None
        template = promise.room.table_template
        answer = {"treatment": promise.treatment, "template": template.name}
        return Assignment(template.game.name, answer | self._bots_place(person), {})

    def _bots_place(self, person: Participant) -> dict[str, object]:
        return {}

    def _own_assignment(self, person: Participant, game: int) -> Assignment | None:
        names = list(self.cast.experiment.room_manager.table_templates)
        first = int(self.cast.settings.treatment or 1) - 1
        number = 0 if self.protocol.games.same_treatment else game - 1
        name = names[(first + number) % len(names)]
        template = self.cast.experiment.room_manager.table_templates[name]
        return Assignment(template.game.name, {"treatment": name}, {})

    def seat_of(self, person: Participant, template: TableTemplate) -> str | None:
        promise = self.cast.promises.get(person.code)
        if promise is not None:
            return promise.seat
        seat = super().seat_of(person, template)
        if seat is None and person.code in self.cast.own:
            seats = self.cast.seats(template)
            return seats[self.cast.own.index(person.code) % len(seats)]
        return seat


class CastPlaces(CastQuotas, Places):
    """Assignment to the places of a design: the researcher has the chosen order and seat.

    Attributes:
        companions: places of bots in the researcher's matching group that are still free.
    """

    def __init__(self, cast: Cast, design: StudyDesign) -> None:
        experiment = cast.experiment
        templates = experiment.room_manager.table_templates.values()
        Places.__init__(self, experiment.protocol, templates, experiment.chance, design)
        self.cast = cast
        self.companions: list[int] = []
        self._bots = count()
        self._cast_places: dict[str, int] = {}
        line = line_of(self.protocol)
        self._order = cast.settings.treatment or ARROW.join(self.schedule.order(line, 0))
        place = self._first_suitable(line)
        if self.schedule.grouped:
            self._cast_group(line, place)

    def _first_suitable(self, line: str) -> int:
        size = self.schedule.group
        for place in range(MOST_GROUPS * size if self.schedule.grouped else SEARCHED):
            if self._suits(line, place, self.cast.settings.seat):
                return place
        raise self._unsuited()

    def _cast_group(self, line: str, place: int) -> None:
        size = self.schedule.group
        first, table = place - place % size, self.schedule.course(line, place)[0].table
        members = list(dict.fromkeys([place, *table, *range(first, first + size)]))
        number = len(self.cast.own)
        self._cast_places = dict(zip(self.cast.own, members[:number], strict=True))
        self.companions = members[number:]

    def reserve(self, code: str) -> None:
        """Give a bot a place in the researcher's matching group."""
        self._cast_places[code] = self.companions.pop(0)

    def _first_seat(self, line: str, place: int) -> str | None:
        """Return the seat of a place in the first game; None if any."""
        item = self.schedule.course(line, place)[0]
        if item.position is None:
            return None
        return seat_at(self.templates[item.treatment], item.position)

    def _suits(self, line: str, place: int, seat: str) -> bool:
        if ARROW.join(self.schedule.order(line, place)) != self._order:
            return False
        return not seat or self._first_seat(line, place) in (None, seat)

    def _unsuited(self) -> CheaptalkError:
        return CheaptalkError(
            f"no participant with the treatment {self._order} starts as "
            f"{self.cast.settings.seat or 'any seat'}; choose another treatment or seat"
        )

    def _first_free(self, line: str, person: Participant | None = None) -> int | None:
        assert person is not None
        if self.schedule.grouped:
            return self._cast_places[person.code]
        chosen, is_first = self.cast.settings.seat, person.code == self.cast.own[0]
        others = self.occupants[line].keys()
        taken = {self._first_seat(line, place) for place in others} - {None}
        suitable = [
            place
            for place in range(SEARCHED)
            if place not in others and self._suits(line, place, chosen if is_first else "")
        ]
        if not suitable:
            raise self._unsuited()
        taken |= set() if is_first else {chosen}
        return min(suitable, key=lambda place: (self._first_seat(line, place) in taken, place))

    def _own_assignment(self, person: Participant, game: int) -> Assignment | None:
        return Places.assign(self, person, game)

    def assign(self, person: Participant, game: int) -> Assignment | None:
        if self.schedule.grouped:
            return Places.assign(self, person, game)
        return super().assign(person, game)

    def _bots_place(self, person: Participant) -> dict[str, object]:
        place = self.place_of(person) or Place(BOTS, next(self._bots))
        return {"line": place.line, "place": place.number}

    def _template(self, place: Place, item: Round, game: int) -> TableTemplate:
        """Return a table with the chosen seat, if its only participant may have any seat."""
        seat, templates = self.cast.settings.seat, self.templates[item.treatment]
        suitable = [template for template in templates if template.human_seats == (seat,)]
        if suitable and item.position is None:
            return suitable[(game - 1) % len(suitable)]
        return super()._template(place, item, game)

    def seat_of(self, person: Participant, template: TableTemplate) -> str | None:
        place, item = self.place_of(person), self.round_of(person)
        if not self.schedule.grouped or place is None or item is None or item.position is not None:
            return super().seat_of(person, template)
        own = [self._cast_places[code] for code in self.cast.own]
        ranks = {number: rank for rank, number in enumerate([*own, *item.table])}
        ranks |= {number: rank for rank, number in enumerate(own)}
        order = sorted(item.table, key=ranks.__getitem__)
        return self.cast.seats(template)[order.index(place.number)]
