"""Schedules of experimental designs: who plays which treatment, when, with whom and in which role.

A *place* is a number that determines a participant's whole course through the games. The places of
a *line* (a cohort, or a stratum of it) are filled in order, and a place whose participant drops out
is filled again. A schedule depends only on the design and the seed. The server therefore only
follows it, also after a restart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations
from math import factorial, lcm
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.rules import Chance, CheaptalkError, counted
from cheaptalk.rules.chance import Stream

Design: TypeAlias = Literal[
    "arrival", "between", "fixed_order", "random_order", "latin_square", "counterbalanced"
]
Matching: TypeAlias = Literal["any", "partner", "stranger", "perfect_stranger", "rotation"]
Roles: TypeAlias = Literal["any", "fixed", "switching"]
MAX_COUNTERBALANCED = 5
"""Maximum treatments in all orders: six treatments have 720 orders."""
ATTEMPTS = 40
"""Random searches for a schedule in which no pair meets twice."""
MAX_TRIES = 4_000
"""Maximum number of partners that one search tries in a round."""

Table: TypeAlias = tuple[int, ...]
"""The members of a matching group who play together, in the order of their positions."""


class InfeasibleDesign(CheaptalkError):
    """Raised if a design cannot be carried out; the message has the arithmetic and a solution."""


class Arm(NamedTuple):
    """A treatment of a design.

    Attributes:
        people: number of participants in each match.
        positions: number of positions that a participant can have in a match.
    """

    name: str
    people: int
    positions: int


class Round(NamedTuple):
    """A game of a place.

    Attributes:
        treatment: name of the treatment.
        position: the place's position in the match, from 0.
        table: the places that play together, including this one, ordered by position; empty if
            participants meet in the order of arrival.
    """

    treatment: str
    position: int | None
    table: Table


@dataclass(frozen=True)
class Schedule:
    """The schedule of a design.

    Attributes:
        rounds: number of successive games in each treatment.
        group: size of the matching groups; 1 if participants meet in the order of arrival.
        seed: seed of all random draws.

    Raises:
        InfeasibleDesign: no such schedule exists, or none was found.
    """

    design: Design
    matching: Matching
    roles: Roles
    arms: tuple[Arm, ...]
    rounds: int
    group: int
    seed: str

    def __post_init__(self) -> None:
        _check(self)
        if self.grouped:
            self.courses("", 0)

    @property
    def grouped(self) -> bool:
        """Whether participants are matched within matching groups that start together."""
        return self.matching != "any"

    @property
    def shared(self) -> bool:
        """Whether the participants of a matching group have the same order of treatments."""
        same = self.design in ("between", "fixed_order")
        return self.grouped and (same or self.matching in ("partner", "rotation"))

    @cached_property
    def orders(self) -> list[tuple[str, ...]]:
        """The orders of treatments that are used equally often; empty if orders are random."""
        names = [arm.name for arm in self.arms]
        match self.design:
            case "between":
                return [(name,) for name in names]
            case "latin_square":
                return williams_square(names)
            case "counterbalanced":
                return list(permutations(names))
            case "random_order":
                return []
        return [tuple(names)]

    @property
    def roles_apart(self) -> int:
        """Number of fixed roles, or of roles between which participants switch; 0 if random."""
        return 0 if self.roles == "any" else max(arm.positions for arm in self.arms)

    @property
    def unit(self) -> int:
        """Number of successive places with the same order of treatments."""
        if self.shared:
            return self.group
        if self.design == "between" or (self.grouped and self.design == "random_order"):
            return lcm(*(arm.people for arm in self.arms), self.roles_apart or 1)
        return 1

    def order(self, line: str, place: int) -> tuple[str, ...]:
        """Return the order of a place's treatments."""
        if self.grouped:
            group, member = divmod(place, self.group)
            return tuple(
                dict.fromkeys(item.treatment for item in self.courses(line, group)[member])
            )
        return self._order(line, place, 0)

    def course(self, line: str, place: int) -> tuple[Round, ...]:
        """Return the games of a place, in order."""
        group, member = divmod(place, self.group)
        if not self.grouped:
            order, classes = self._order(line, place, 0), self.roles_apart
            block = 1 if self.unit > 1 else max(1, len(self.orders))
            own = place // block % classes if classes else None
            return tuple(
                Round(name, None if own is None else self._position(own, number, name), ())
                for number, name in enumerate(self._repeated(order))
            )
        first = group * self.group
        return tuple(
            item._replace(table=tuple(first + other for other in item.table))
            for item in self.courses(line, group)[member]
        )

    def courses(self, line: str, group: int) -> list[list[Round]]:
        """Return the courses of a matching group's members; tables contain member numbers."""
        return _courses(self, line, group)

    def _order(self, line: str, place: int, attempt: int) -> tuple[str, ...]:
        chance, unit = Chance(self.seed), place // self.unit
        if not self.orders:
            names = [arm.name for arm in self.arms]
            return tuple(chance("order", line, unit, attempt).shuffled(names))
        block, number = divmod(unit, len(self.orders))
        return chance("block", line, block).shuffled(self.orders)[number]

    def _repeated(self, order: Sequence[str]) -> list[str]:
        return [name for name in order for _ in range(self.rounds)]

    def _arm(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)

    def _position(self, role: int, number: int, treatment: str) -> int:
        """Return the position of a participant with an initial role in a game, from 0."""
        turned = role + number if self.roles == "switching" else role
        return turned % self.roles_apart % self._arm(treatment).positions


@lru_cache(maxsize=4_096)
def _courses(schedule: Schedule, line: str, group: int) -> list[list[Round]]:
    attempts = ATTEMPTS if schedule.matching == "perfect_stranger" else 1
    for attempt in range(attempts):
        courses = _Grouping(schedule, line, group, attempt).courses()
        if courses is not None:
            return courses
    games = schedule.rounds * (1 if schedule.design == "between" else len(schedule.arms))
    raise InfeasibleDesign(
        f"no schedule was found in which {schedule.group} participants play "
        f"{counted(games, 'game')} and no pair meets twice; increase matching_group or set "
        "matching: stranger"
    )


class _Grouping:
    """One attempt to match the members of a matching group in all rounds."""

    def __init__(self, schedule: Schedule, line: str, group: int, attempt: int) -> None:
        self.schedule = schedule
        self.attempt = attempt
        self.chance = Chance(schedule.seed, "group", line, group, attempt)
        first = group * schedule.group
        members = range(schedule.group)
        orders = [schedule._order(line, first + member, attempt) for member in members]
        self.treatments = [schedule._repeated(order) for order in orders]
        self.classes = [0] * schedule.group
        if schedule.roles_apart:
            seen: dict[tuple[str, ...], int] = {}
            for member, order in enumerate(orders):
                self.classes[member] = seen.get(order, 0) % schedule.roles_apart
                seen[order] = seen.get(order, 0) + 1
        self.met: list[set[int]] = [set() for _ in members]
        self.turns: dict[int, int] = {}
        self.shuffled = self.chance("members").shuffled(members)

    def courses(self) -> list[list[Round]] | None:
        """Return the games of each member; None if two members would meet twice."""
        courses: list[list[Round]] = [[] for _ in self.treatments]
        for number in range(len(self.treatments[0])):
            for arm in self.schedule.arms:
                pool = [
                    member
                    for member in self.shuffled
                    if self.treatments[member][number] == arm.name
                ]
                tables = self._tables(arm, pool, number)
                if tables is None:
                    return None
                for index, table in enumerate(tables):
                    for position, member in self._seated(arm, table, number, index):
                        courses[member].append(Round(arm.name, position, table))
        return courses

    def _seated(self, arm: Arm, table: Table, number: int, index: int) -> Iterator[tuple[int, int]]:
        """Yield the position of each member of a table; lone players fill positions evenly."""
        if arm.people > 1:
            yield from enumerate(table)
        elif self.schedule.roles_apart:
            role = self.classes[table[0]]
            yield self.schedule._position(role, number, arm.name), table[0]
        else:
            yield index % arm.positions, table[0]

    def _tables(self, arm: Arm, pool: list[int], number: int) -> list[Table] | None:
        """Return the tables of a round's participants in one treatment, ordered by position."""
        draw = self.chance("tables", number, arm.name)
        if arm.people == 1 or not pool:
            return [(member,) for member in draw.shuffled(pool)]
        turn = self.turns[arm.people] = self.turns.get(arm.people, -1) + 1
        tables: list[Table] | None
        match self.schedule.matching:
            case "partner":
                tables = _chunks(sorted(pool), arm.people)
            case "stranger":
                parts = self._by_class(draw.shuffled(pool), arm.people)
                tables = list(zip(*parts, strict=True))
            case "rotation":
                tables = self._rotated(pool, arm.people, turn)
            case _:
                tables = self._new_tables(pool, arm.people, turn, draw)
        if tables is None:
            return None
        for table in tables:
            for member in table:
                self.met[member].update({*table} - {member})
        return [self._ordered(table, number, draw) for table in tables]

    def _ordered(self, table: Table, number: int, draw: Stream) -> Table:
        if not self.schedule.roles_apart:
            return tuple(draw.shuffled(table))
        turned = number if self.schedule.roles == "switching" else 0
        return tuple(sorted(table, key=lambda member: (self.classes[member] + turned) % len(table)))

    def _by_class(self, pool: Sequence[int], size: int) -> list[list[int]]:
        """Divide a pool into equal parts, one per member of a table, by role if roles matter."""
        if self.schedule.roles_apart:
            return [[item for item in pool if self.classes[item] == part] for part in range(size)]
        length = len(pool) // size
        return [list(pool[part * length : (part + 1) * length]) for part in range(size)]

    def _rotated(self, pool: Sequence[int], size: int, turn: int) -> list[Table]:
        if size == 2 and not self.schedule.roles_apart:
            return round_robin(pool, turn)
        return turnpike(self._by_class(pool, size), turn)

    def _new_tables(
        self, pool: list[int], size: int, turn: int, draw: Stream
    ) -> list[Table] | None:
        """Return tables without pairs that have met; None if none were found."""
        if not self.attempt and len(pool) == self.schedule.group:
            tables = self._rotated(pool, size, turn)
            pairs = (pair for table in tables for pair in combinations(table, 2))
            return None if any(second in self.met[first] for first, second in pairs) else tables
        same_role = [
            {other for other in pool if self.schedule.roles_apart and role == self.classes[other]}
            for role in self.classes
        ]
        avoided = {member: self.met[member] | same_role[member] for member in pool}
        return _search(draw.shuffled(pool), size, avoided)


def _chunks(members: Sequence[int], size: int) -> list[Table]:
    return [tuple(members[start : start + size]) for start in range(0, len(members), size)]


def round_robin(members: Sequence[int], turn: int) -> list[Table]:
    """Return the pairs of a turn of a round robin (circle method); ``turn`` counts from 0.

    After n - 1 turns, each of n members has met all others once. Then, the turns repeat.

    >>> round_robin([0, 1, 2, 3], 0), round_robin([0, 1, 2, 3], 1)
    ([(0, 3), (1, 2)], [(0, 2), (3, 1)])
    """
    first, *others = members
    turned = turn % len(others)
    circle = [first, *others[len(others) - turned :], *others[: len(others) - turned]]
    half = len(circle) // 2
    return [(circle[item], circle[-1 - item]) for item in range(half)]


def turnpike(parts: Sequence[Sequence[int]], turn: int) -> list[Table]:
    """Return the tables of a turn of a rotation, with one member of each part per table.

    In each turn, part i moves on by i tables. Of n tables, each has its own members again after n
    turns. No pair meets twice before if n has no divisor, other than 1, below the table's size.

    >>> turnpike([[0, 1, 2], [3, 4, 5]], 1)
    [(0, 4), (1, 5), (2, 3)]
    """
    tables = len(parts[0])
    return [
        tuple(part[(table + shift * turn) % tables] for shift, part in enumerate(parts))
        for table in range(tables)
    ]


def _search(pool: Sequence[int], size: int, avoided: Mapping[int, set[int]]) -> list[Table] | None:
    """Divide a pool into tables of members who don't avoid each other, by backtracking.

    The result is None if no division was found.
    """
    tries = MAX_TRIES

    def fill(free: list[int], table: Table) -> list[Table] | None:
        nonlocal tries
        if len(table) == size:
            tables = fill(free, ())
            return None if tables is None else [table, *tables]
        if not table:
            if not free:
                return []
            remaining = {*free}
            first = max(free, key=lambda member: len(avoided[member] & remaining))
            return fill([member for member in free if member != first], (first,))
        for member in free:
            if avoided[member].isdisjoint(table):
                tries -= 1
                if tries < 0:
                    return None
                tables = fill([other for other in free if other != member], (*table, member))
                if tables is not None:
                    return tables
        return None

    return fill(list(pool), ())


def williams_square(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the orders of a Latin square in which each treatment follows each other equally often.

    An odd number of treatments needs a second, reversed square (Williams 1949).

    >>> williams_square("abcd")
    [('a', 'b', 'd', 'c'), ('b', 'c', 'a', 'd'), ('c', 'd', 'b', 'a'), ('d', 'a', 'c', 'b')]
    >>> len(williams_square("abc"))
    6
    """
    size = len(names)
    steps = [(item + 1) // 2 if item % 2 else size - item // 2 for item in range(size)]
    rows = [tuple(names[(row + step) % size] for step in steps) for row in range(size)]
    return rows if size % 2 == 0 else rows + [row[::-1] for row in rows]


def _check(schedule: Schedule) -> None:
    """Raise InfeasibleDesign if a schedule is impossible for arithmetic reasons."""
    number = len(schedule.arms)
    within = schedule.design not in ("between", "arrival")
    if within and number < 2:
        raise InfeasibleDesign(
            f"{schedule.design} orders at least two treatments, but the study has {number}; add a "
            "treatment or set design: between"
        )
    if schedule.design == "counterbalanced" and number > MAX_COUNTERBALANCED:
        raise InfeasibleDesign(
            f"{number} treatments have {factorial(number):,} orders; set design: latin_square"
        )
    roles = schedule.roles_apart
    for arm in schedule.arms:
        if roles and arm.positions not in (1, roles):
            raise InfeasibleDesign(
                f"roles: {schedule.roles} requires the same positions in all treatments, but "
                f"participants have {arm.positions} in {arm.name} and {roles} in another; set "
                "roles: any"
            )
    if schedule.grouped:
        _check_group(schedule)


def _check_group(schedule: Schedule) -> None:
    size, orders = schedule.group, len(schedule.orders)
    if not schedule.shared and orders and size % orders:
        raise InfeasibleDesign(
            f"{schedule.design} has {orders} orders of {len(schedule.arms)} treatments, each of "
            "which a matching group needs equally often, but matching_group: "
            f"{size} is not a multiple of {orders}"
        )
    for arm in schedule.arms:
        together = schedule.shared or not orders
        pool = size if together else size // len(schedule.arms)
        each = arm.people if schedule.shared or orders else schedule.unit
        if pool % each:
            raise InfeasibleDesign(
                f"{pool} of {size} participants play {arm.name} at the same time, in groups of "
                f"{each}, but {pool} is not a multiple of {each}; change matching_group"
            )
    roles = schedule.roles_apart
    if roles and orders and not schedule.shared and size // orders % roles:
        raise InfeasibleDesign(
            f"roles: {schedule.roles} requires {roles} roles equally often in each of {orders} "
            f"orders, but matching_group: {size} is not a multiple of {roles * orders}"
        )
    if schedule.matching == "perfect_stranger":
        _check_strangers(schedule)


def _check_strangers(schedule: Schedule) -> None:
    size, roles = schedule.group, schedule.roles_apart
    arms = sorted(schedule.arms, key=lambda arm: -arm.people)
    arms = arms[:1] if schedule.design == "between" else arms
    played = [arm.people for arm in arms for _ in range(schedule.rounds) if arm.people > 1]
    if not played:
        return
    people = max(played)
    others = size - size // roles if roles else size - 1
    most = others // (people - 1) if people == 2 or size >= people**2 else 1
    most = size // people if roles and people > 2 else most
    if len(played) > most or sum(number - 1 for number in played) > others:
        raise InfeasibleDesign(
            f"perfect-stranger matching of {size} participants in "
            f"{'pairs' if people == 2 else f'groups of {people}'}"
            f"{f' with roles: {schedule.roles}' if roles else ''} allows at most "
            f"{counted(most, 'round')}; the study has {len(played)}. Increase matching_group, "
            "reduce rounds, or set matching: stranger"
        )
