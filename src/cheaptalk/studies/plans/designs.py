"""The design of a human study: its treatments, found in the plan, and its schedule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import lcm
from typing import NamedTuple

from cheaptalk.players import PersonSeat
from cheaptalk.rules import Game, counted
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.people.schedules import Arm, InfeasibleDesign, Schedule
from cheaptalk.studies.people.steps import Treatment
from cheaptalk.studies.plans.matches import PlannedMatches
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.text import readable


class HumanTable(NamedTuple):
    """A game and a seating with people, and the number of planned matches.

    ``people`` are the indices of people's seats.
    """

    game: Game
    labels: tuple[str, ...]
    people: tuple[int, ...]
    matches: int


class StudyDesign(NamedTuple):
    """The schedule of a human study, its capacity and its quotas.

    Attributes:
        places: number of participants.
        quotas: maximum number of participants by treatment, if the study sets it.
    """

    schedule: Schedule
    places: int
    quotas: Mapping[str, int]


def treatment_of(treatments: Mapping[str, Treatment], game: Game, labels: Sequence[str]) -> str:
    """Return the name of the treatment that includes a game between players.

    Raises:
        StudyError: no treatment, or more than one, includes it.
    """
    names = [name for name, item in treatments.items() if item.includes(game, labels)]
    if len(names) == 1:
        return names[0]
    match_text = f"{game.name} between {' and '.join(labels)}"
    if names:
        problem = (
            f"the treatments {names[0]} and {names[1]} both include {match_text}; restrict one "
            "with game, when or players"
        )
    else:
        settings = readable(game.model_dump(mode="json", exclude_defaults=True))
        problem = f"no treatment includes {match_text} ({settings}); add one, or remove this match"
    raise _error(problem)


def design_of(study: Study, matches: PlannedMatches) -> StudyDesign | None:
    """Return the design of a study with given matches; None if participants come as they arrive.

    Raises:
        StudyError: the design is infeasible; the message has the arithmetic.
    """
    protocol = study.people
    if protocol is None or protocol.games.design == "arrival":
        return None
    games = protocol.games
    tables: dict[str, list[HumanTable]] = {name: [] for name in games.treatments}
    for table in _human_tables(matches):
        tables[treatment_of(games.treatments, table.game, table.labels)].append(table)
    arms = tuple(_arm(name, items) for name, items in tables.items())
    group = 1
    if games.matching == "partner":
        group = lcm(*(arm.people for arm in arms))
    group = games.matching_group or group
    try:
        schedule = Schedule(
            games.design,
            games.matching,
            games.roles,
            arms,
            games.rounds,
            group,
            f"{study.seed}/people",
        )
        quotas = {name: item.quota for name, item in games.treatments.items() if item.quota}
        places = _places(protocol, schedule, tables, quotas)
        if schedule.grouped:
            for line, number in product(protocol.cohorts, range(places // group)):
                schedule.courses(line, number)
    except InfeasibleDesign as error:
        raise _error(str(error)) from None
    return StudyDesign(schedule, places, quotas)


def _human_tables(matches: PlannedMatches) -> Iterator[HumanTable]:
    for group in matches.groups():
        people = tuple(
            index
            for index, player in enumerate(group.seating)
            if isinstance(player.spec, PersonSeat)
        )
        if people:
            labels = tuple(player.label for player in group.seating)
            yield HumanTable(group.configuration.game, labels, people, group.matches)


def _arm(name: str, tables: Sequence[HumanTable]) -> Arm:
    if not tables:
        raise _error(f"the treatment {name} includes no match of the study; change or remove it")
    sizes = sorted({len(table.people) for table in tables})
    if len(sizes) > 1:
        raise _error(
            f"the treatment {name} includes matches of {sizes[0]} and of {sizes[1]} people; "
            "divide it"
        )
    return Arm(name, sizes[0], len(positions(table.people for table in tables)))


def positions(people: Iterable[tuple[int, ...]]) -> list[int]:
    """Return the positions of participants in a treatment, given people's seats at its tables.

    With several people, positions are the people in the order of seats; a lone person's positions
    are the seats.
    """
    distinct = sorted(set(people))
    if len(distinct[0]) > 1:
        return list(range(len(distinct[0])))
    return [seats[0] for seats in distinct]


def _places(
    protocol: Protocol,
    schedule: Schedule,
    tables: Mapping[str, Sequence[HumanTable]],
    quotas: Mapping[str, int],
) -> int:
    """Return the number of participants: as set by the study, or as many as its matches require."""
    group, places = schedule.group, protocol.recruitment.places
    if places is not None:
        if places % group:
            raise StudyError.at(
                ("people", "recruitment", "places"),
                f"{counted(places, 'place')} cannot be divided into matching groups of {group}; "
                f"set {places - places % group or group} or {places - places % group + group}",
            )
        return places
    seats = {
        arm.name: sum(table.matches for table in tables[arm.name]) * arm.people // schedule.rounds
        for arm in schedule.arms
    }
    if schedule.design == "between":
        number = sum(quotas.get(name, count) for name, count in seats.items())
    else:
        number = min(seats.values())
    if number < group:
        raise StudyError.at(
            ("instances",),
            f"the plan has matches for {counted(number, 'participant')}, but a matching group has "
            f"{group}; add instances, or set people.recruitment.places",
        )
    return number - number % group


def _error(message: str) -> StudyError:
    return StudyError.at(("people", "path"), f"games: {message}")
