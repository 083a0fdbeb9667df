"""The base class of games: parameters, seats, an instance, rules, an outcome and its payoffs."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from math import isfinite
from numbers import Real
from types import UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Field, model_validator

from cheaptalk.rules.actions import Action
from cheaptalk.rules.bounds import Bounds, beyond, numbers, within
from cheaptalk.rules.chance import Chance
from cheaptalk.rules.data import Data
from cheaptalk.rules.errors import RulesError, describe, shown
from cheaptalk.rules.renamed import RENAMED_KEYS
from cheaptalk.rules.steps import Event, Play


def suggest(name: str, known: Sequence[str]) -> str:
    """Return an unknown name with the nearest known name, or with all of them.

    >>> suggest("horizn", ["money", "horizon"])
    '"horizn" (did you mean "horizon"?)'
    >>> suggest("charlie", ["alice", "bob"])
    '"charlie" (known: alice, bob)'
    """
    attempts = (_nearest(spelling, known) for spelling in (name, name.casefold()))
    nearest = next(filter(None, attempts), None)
    hint = f'did you mean "{nearest[0]}"?' if nearest else f"known: {', '.join(known) or 'none'}"
    return f'"{name}" ({hint})'


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    """Return the known name that was most likely meant, if any; less similar ones must share the
    initial."""
    candidates = [candidate for candidate in known if candidate[:1] == name[:1]]
    return get_close_matches(name, known, n=1, cutoff=0.7) or get_close_matches(
        name, candidates, n=1
    )


def _is_boolean_for_number(value: Any, annotation: Any) -> bool:
    """Return whether a boolean, or a list with one, is given where only numbers make sense."""
    if isinstance(value, list):
        suspects = [item for item in value if isinstance(item, (bool, list))]
        return any(
            _is_boolean_for_number(item, kind) for item in suspects for kind in get_args(annotation)
        )
    if not isinstance(value, bool):
        return False
    kinds = _alternatives(annotation)
    return not kinds.isdisjoint((int, float)) and bool not in kinds


def _alternatives(annotation: Any) -> set[Any]:
    """Return the types that a field accepts."""
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return set().union(*map(_alternatives, get_args(annotation)))
    return {annotation} if isinstance(annotation, Hashable) else set()


@cache
def _known(model: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a model, with the types of those in which a boolean could replace a
    number."""
    return {
        name: field.annotation if _wants_number(field.annotation) else None
        for name, field in model.model_fields.items()
    }


def _wants_number(annotation: Any) -> bool:
    """Return whether a type, or one within it, is a number and not a boolean."""
    return _is_boolean_for_number(True, annotation) or any(map(_wants_number, get_args(annotation)))


def _unknown_key(key: str, known: Sequence[str]) -> str:
    """Return a message for an unknown key, with its new name if it was renamed, else the nearest
    key."""
    renamed = RENAMED_KEYS.get(key)
    hint = f'"{key}" (renamed to "{renamed}")' if renamed in known else suggest(key, known)
    return f"unknown key {hint}"


class Value(Data):
    """User-written data: immutable; a misspelt key raises an error with the nearest legal key."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            fields = _known(cls)
            for key, value in data.items():
                if key not in fields:
                    raise ValueError(_unknown_key(str(key), list(fields)))
                if fields[key] is not None and _is_boolean_for_number(value, fields[key]):
                    raise ValueError(f"{key}: {shown(value)} is not a number; write it in digits")
        return data


class Instance(Value):
    """The draw of private values and other chance before play; this one is for games without
    any."""


class Outcome(Value):
    """How a match ended, in the game's own terms."""


class Actor(NamedTuple):
    """An entity that acts in a seat at one time; actors do not share observations.

    Attributes:
        name: as in requests, events and records.
        seat: its seat. Actors of one seat are filled by one player, which remembers nothing of the
            earlier actors' observations.
    """

    name: str
    seat: str


def numbered(role: str, count: int) -> dict[str, str]:
    """Return seats for several players of one role.

    >>> numbered("player", 2)
    {'player_1': 'player', 'player_2': 'player'}
    """
    return dict.fromkeys(_numbers(role, count), role)


@cache
def _numbers(role: str, count: int) -> tuple[str, ...]:
    return tuple(f"{role}_{number}" for number in range(1, count + 1))


class Horizon(Value):
    """The maximum number of rounds, and whether the players know it.

    In a study file: ``12`` (known), or ``{rounds: 99, hidden: true}`` (long and unknown, which is
    how published systems implement an infinite horizon).
    """

    rounds: int = Field(ge=1, le=10_000)
    hidden: bool = False

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError(f"write rounds, or {{rounds: N, hidden: true}}, not {shown(value)}")
        return (
            {"rounds": value} if isinstance(value, int) and not isinstance(value, bool) else value
        )

    @property
    def told(self) -> int | None:
        """The number of rounds, if the players know it; None if it is hidden."""
        return None if self.hidden else self.rounds


@dataclass(frozen=True)
class Secret:
    """A variation of one actor's private information, to test that it stays private.

    Attributes:
        owners: the actors that know the fact.
        game, instance: the same match with only that fact changed.
        revealed: returns whether an event reveals the fact to others by the rules; play after it is
            not compared.
    """

    owners: frozenset[str]
    game: "Game"
    instance: Instance
    revealed: Callable[[Event], bool] = lambda event: False


class Game(Value):
    """The rules of a game with its parameters.

    A subclass declares its parameters as fields and its properties as class variables, and
    implements its rules as the generator :meth:`play`. Rules do no input or output and know no
    player.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The title for display, if it differs from the name in words; for example, Diner's dilemma."""
    version: ClassVar[int] = 1
    """Increased when a rule change would make a recorded match replay differently."""
    roles: ClassVar[tuple[str, ...]]
    """The kinds of positions. Strategies are written for roles."""
    events: ClassVar[tuple[type[Event], ...]]
    actions: ClassVar[tuple[type[Action], ...]]
    instance_type: ClassVar[type[Instance]] = Instance
    outcome_type: ClassVar[type[Outcome]]
    payoff_unit: ClassVar[str | tuple[str, ...]] = ""
    """The unit of payoffs for display, such as dollars; a tuple in the order of roles if they
    differ."""
    payoffs_reach_bounds: ClassVar[bool] = True
    """Whether players can realistically reach :meth:`payoff_bounds`. If False, the bounds only
    exclude extreme play, such as a price of a hundred times the product's value. Payoffs that did
    not vary then have no interval, instead of one that extends to the bound."""
    tries: ClassVar[int] = 3
    """Maximum attempts of a model at each request before it forfeits, unless its player sets
    ``tries``."""
    forfeit: ClassVar[str] = "The match ends as forfeited by that seat and is not scored."

    names: dict[str, str] = Field(default_factory=dict)
    """The players' names in prompts, by seat; by default the seat's name."""

    @model_validator(mode="after")
    def _names_are_of_places(self) -> "Game":
        for seat in self.names:
            if seat not in self.seats:
                raise ValueError(
                    f'names: unknown seat "{seat}"; the seats are {", ".join(self.seats)}'
                )
        names = [self.called(seat) for seat in self.seats]
        if len(set(names)) < len(names):
            raise ValueError("names: two seats have the same name; choose different names")
        return self

    def called(self, seat: str) -> str:
        """Return the name of a seat as players read it: ``player_2`` is Player 2."""
        return self.names.get(seat) or seat.replace("_", " ").capitalize()

    @classmethod
    def payoff_units(cls) -> dict[str, str]:
        """Return the unit of each role's payoffs; empty if the game does not say."""
        unit = cls.payoff_unit
        units = (unit,) * len(cls.roles) if isinstance(unit, str) else unit
        return dict(zip(cls.roles, units, strict=True))

    @property
    def seats(self) -> dict[str, str]:
        """The seats in order, with their roles.

        One seat for each role unless the game overrides it; see :func:`numbered`.
        """
        return {role: role for role in self.roles}

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors in order; one for each seat unless the game overrides it."""
        return tuple([Actor(seat, seat) for seat in self.seats])

    def draw_instance(self, chance: Chance) -> Instance:
        """Draw an instance."""
        return self.instance_type()

    def instance_of(self, seed: str) -> Instance:
        """Return the instance of a seed.

        Raises:
            RulesError: :meth:`draw_instance` fails.
        """
        try:
            return self.draw_instance(Chance(seed).apart("deal"))
        except Exception as error:
            raise RulesError(f"{self.name}: draw_instance() failed: {describe(error)}") from error

    @abstractmethod
    def play(self, instance: Any, chance: Chance) -> Play[Any]:
        """Implement the rules."""

    @abstractmethod
    def payoffs(self, outcome: Any) -> dict[str, float]:
        """Return each actor's payoff by the actor's name, in the game's unit."""

    @abstractmethod
    def payoff_bounds(self) -> dict[str, Bounds]:
        """Return the minimum and maximum payoff of a seat of each role, summed over the seat's
        actors."""

    def total_bounds(self) -> dict[str, Bounds]:
        """Return the minimum and maximum of the sum of payoffs over all seats of each role.

        By default, these are the bounds of one seat times the number of seats. Override it if the
        rules allow less: for example, exactly one player wins, or the seats share a sum.
        """
        bounds, counts = self.payoff_bounds(), Counter(self.seats.values())
        return {
            role: (minimum * counts[role], maximum * counts[role])
            for role, (minimum, maximum) in bounds.items() if role in counts
        }  # fmt: skip

    def secrets(self, instance: Any) -> Iterator[Secret]:
        """Yield variations of private information; none in a game without secrets."""
        return iter(())

    def seat_payoffs(self, outcome: Any) -> dict[str, float]:
        """Return payoffs by seat, summed over each seat's actors.

        Raises:
            RulesError: the actors with payoffs differ from the game's actors, a payoff is not a
                finite number, or a seat's payoff violates the declared bounds.
        """
        try:
            roles, paid = self.seats, self.payoffs(outcome)
        except Exception as error:
            raise RulesError(f"{self.name}: payoffs() failed: {describe(error)}") from error
        expect_finite(self.name, paid)
        seats = {actor.name: actor.seat for actor in self.actors}
        if paid.keys() != seats.keys():
            raise RulesError(
                f"{self.name}: payoffs() pays {', '.join(paid) or 'no actor'}, but the actors are "
                f"{', '.join(seats)}; return a payoff for each, even if it is 0"
            )
        totals = dict.fromkeys(roles, 0.0)
        for actor, payoff in paid.items():
            totals[seats[actor]] += payoff
        bounds = self.declared_bounds("payoff_bounds")
        for seat, payoff in totals.items():
            limits = bounds[roles[seat]]
            if not within(payoff, limits):
                raise RulesError(
                    f'{self.name}: the payoff of "{seat}" is {beyond(payoff, limits)}; '
                    "fix payoff_bounds() or the rules"
                )
        self._check_totals(totals)
        return totals

    def declared_bounds(self, method: str) -> Mapping[str, Bounds]:
        """Return the result of ``payoff_bounds`` or ``total_bounds``: two numbers for each role.

        Raises:
            RulesError: it returns something else, or none for the role of a seat.
        """
        bounds = getattr(self, method)()
        if not isinstance(bounds, Mapping) or not all(map(_two_numbers, bounds.values())):
            raise RulesError(
                f"{self.name}: {method}() returns {bounds!r}; return the minimum and maximum by "
                f'role, as in {{"{self.roles[0]}": (0.0, 1.0)}}'
            )
        for role in self.seats.values():
            if role not in bounds:
                raise RulesError(f'{self.name}: {method}() has no bounds for the role "{role}"')
        return bounds

    def _check_totals(self, paid: Mapping[str, float]) -> None:
        """Raise an error if the sum over all seats of a role violates the declared bounds."""
        if type(self).total_bounds is Game.total_bounds:  # as each place keeps to its own
            return
        roles, bounds = self.seats, self.declared_bounds("total_bounds")
        sums = dict.fromkeys(bounds, 0.0)
        for seat, payoff in paid.items():
            sums[roles[seat]] += payoff
        for role, limits in bounds.items():
            if not within(sums[role], limits):
                raise RulesError(
                    f'{self.name}: the total payoff of the role "{role}" is '
                    f"{beyond(sums[role], limits)}; fix total_bounds() or the "
                    "rules"
                )


def _two_numbers(bounds: object) -> bool:
    return (
        isinstance(bounds, Sequence)
        and len(bounds) == 2
        and all(isinstance(bound, Real) for bound in bounds)
    )


def expect_finite(game: str, paid: dict[str, float]) -> None:
    """Refuse payoffs that are not a mapping of finite numbers by actor.

    Raises:
        RulesError: the value, or the first actor whose payoff is NaN, infinite or not a number.
    """
    if not isinstance(paid, Mapping):
        raise RulesError(
            f'{game}: payoffs() returns {paid!r}; return a payoff by actor, as in {{"ACTOR": 0.0}}'
        )
    for actor, payoff in paid.items():
        if not isinstance(payoff, Real) or not isfinite(payoff):
            raise RulesError(
                f'{game}: payoffs() returns {payoff} for "{actor}", which is not a finite '
                "number; check the outcome from which it is computed"
            )


def expect_json(game: str, outcome: dict[str, Any]) -> None:
    """Refuse an outcome that cannot be stored as JSON.

    Raises:
        RulesError: the first number that is NaN or infinite.
    """
    for path, value in numbers(outcome):
        if not isfinite(value):
            name = ".".join(map(str, path))
            raise RulesError(
                f'{game}: the outcome has {value} as "{name}"; matches are stored as JSON, '
                "which allows only finite numbers"
            )
