"""What a game is: parameters, seats, a deal, rules, an outcome and its payoffs."""

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
from cheaptalk.rules.steps import Event, Play


def suggest(name: str, known: Sequence[str]) -> str:
    """A name that is not known, with the nearest known one or all of them.

    >>> suggest("horizn", ["money", "horizon"])
    '"horizn" (did you mean "horizon"?)'
    >>> suggest("charlie", ["alice", "bob"])
    '"charlie" (known: alice, bob)'
    """
    tried = (_nearest(one, known) for one in (name, name.casefold()))
    near = next(filter(None, tried), None)
    hint = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known) or 'none'}"
    return f'"{name}" ({hint})'


def _nearest(name: str, known: Sequence[str]) -> list[str]:
    """The known name that most likely was meant, if any: the less alike begin alike."""
    alike = [one for one in known if one[:1] == name[:1]]
    return get_close_matches(name, known, n=1, cutoff=0.7) or get_close_matches(name, alike, n=1)


def _is_boolean_for_number(value: Any, wanted: Any) -> bool:
    """Whether yes or no, or a list with one of them, stands where only numbers make sense."""
    if isinstance(value, list):
        suspect = [one for one in value if isinstance(one, (bool, list))]
        return any(
            _is_boolean_for_number(one, kind) for one in suspect for kind in get_args(wanted)
        )
    if not isinstance(value, bool):
        return False
    kinds = _alternatives(wanted)
    return not kinds.isdisjoint((int, float)) and bool not in kinds


def _alternatives(wanted: Any) -> set[Any]:
    """The types that a field may be of, whatever else is said of them."""
    if get_origin(wanted) in (Union, UnionType, Annotated):
        return set().union(*map(_alternatives, get_args(wanted)))
    return {wanted} if isinstance(wanted, Hashable) else set()


@cache
def _known(of: type[BaseModel]) -> dict[str, Any]:
    """The fields of a model, with the type of those in which yes or no could stand for a number."""
    return {
        name: field.annotation if _wants_number(field.annotation) else None
        for name, field in of.model_fields.items()
    }


def _wants_number(wanted: Any) -> bool:
    """Whether a type, or one within it, is a number and not yes or no."""
    return _is_boolean_for_number(True, wanted) or any(map(_wants_number, get_args(wanted)))


class Value(Data):
    """Data that people write: immutable, and a misspelt key is named with the nearest legal one."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = _known(cls)
            for key, value in data.items():
                if key not in known:
                    raise ValueError(f"unknown key {suggest(str(key), list(known))}")
                if known[key] is not None and _is_boolean_for_number(value, known[key]):
                    raise ValueError(f"{key}: {shown(value)} is no number; write it in digits")
        return data


class Deal(Value):
    """What nature decides before play. A game in which it decides nothing uses this one."""


class Outcome(Value):
    """How a match ended, in the game's own terms."""


class Seat(NamedTuple):
    """Where a player sits: what one seat hears, no other does.

    Attributes:
        name: as in questions, news and records.
        place: who sits here. Seats of one place are filled by one player, who forgets in between.
    """

    name: str
    place: str


def numbered(role: str, count: int) -> dict[str, str]:
    """Places for several players of one role.

    >>> numbered("player", 2)
    {'player_1': 'player', 'player_2': 'player'}
    """
    return dict.fromkeys(_numbers(role, count), role)


@cache
def _numbers(role: str, count: int) -> tuple[str, ...]:
    return tuple(f"{role}_{number}" for number in range(1, count + 1))


class Horizon(Value):
    """How many rounds a game can last, and whether its players are told.

    In a study file: ``12`` (told), ``{rounds: 99, hidden: true}`` (long, and not told: the way
    published systems play an infinite horizon).
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
        """The number of rounds as the players know it; None where they are not told."""
        return None if self.hidden else self.rounds


@dataclass(frozen=True)
class Secret:
    """A variation of one seat's private knowledge, for testing that it stays private.

    Attributes:
        owners: the seats that know the fact.
        game, deal: the same match with only that fact changed.
        revealed: whether an event tells the fact to others by the rules (play from there on is
            not compared).
    """

    owners: frozenset[str]
    game: "Game"
    deal: Deal
    revealed: Callable[[Event], bool] = lambda event: False


class Game(Value):
    """The rules of a game with its parameters.

    A subclass declares its parameters as fields, its type as class variables, and writes its
    rules as the generator :meth:`play`. Rules do no input or output and know no player.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """What people read, where that is not the name in words, such as Diner's dilemma."""
    version: ClassVar[int] = 1
    """Raised when a rule change would make a recorded match replay differently."""
    roles: ClassVar[tuple[str, ...]]
    """The parts that players can play. Strategies are written for roles."""
    events: ClassVar[tuple[type[Event], ...]]
    actions: ClassVar[tuple[type[Action], ...]]
    deal_type: ClassVar[type[Deal]] = Deal
    outcome_type: ClassVar[type[Outcome]]
    payoff_unit: ClassVar[str | tuple[str, ...]] = ""
    """What payoffs are counted in, such as dollars, for those who read them; of each role in order
    where they differ."""
    payoffs_reach_bounds: ClassVar[bool] = True
    """Whether players may well come to the ends of :meth:`payoff_bounds`. False where these only
    keep out what nobody does, such as a price of a hundred times the product's worth: payoffs that
    did not vary then have no interval, in place of one that reaches there."""
    tries: ClassVar[int] = 3
    """How often a model is asked in all, unless its seat says otherwise, before it forfeits."""
    forfeit: ClassVar[str] = "The match ends as forfeited by that seat and is no part of the score."

    names: dict[str, str] = Field(default_factory=dict)
    """What the players are called in the words they read, by place; by default the place's name."""

    @model_validator(mode="after")
    def _names_are_of_places(self) -> "Game":
        for place in self.names:
            if place not in self.places:
                raise ValueError(
                    f'names: no place "{place}"; the places are {", ".join(self.places)}'
                )
        shown = [self.called(place) for place in self.places]
        if len(set(shown)) < len(shown):
            raise ValueError("names: two places may not have the same name")
        return self

    def called(self, place: str) -> str:
        """The name of a place as players read it: ``player_2`` is Player 2."""
        return self.names.get(place) or place.replace("_", " ").capitalize()

    @classmethod
    def payoff_units(cls) -> dict[str, str]:
        """What the payoffs of each role are counted in; empty where the game does not say."""
        unit = cls.payoff_unit
        units = (unit,) * len(cls.roles) if isinstance(unit, str) else unit
        return dict(zip(cls.roles, units, strict=True))

    @property
    def places(self) -> dict[str, str]:
        """The places to be filled, each by a player, in order, with their roles.

        One for each role unless the game says otherwise; see :func:`numbered`.
        """
        return {role: role for role in self.roles}

    @property
    def seats(self) -> tuple[Seat, ...]:
        """The seats at this table, in order; one for each place unless the game says otherwise."""
        return tuple([Seat(place, place) for place in self.places])

    def deal(self, chance: Chance) -> Deal:
        """Draw what nature decides before play."""
        return self.deal_type()

    def dealt(self, seed: str) -> Deal:
        """What nature decides under a seed.

        Raises:
            RulesError: :meth:`deal` fails.
        """
        try:
            return self.deal(Chance(seed).apart("deal"))
        except Exception as error:
            raise RulesError(f"{self.name}: deal() fails: {describe(error)}") from error

    @abstractmethod
    def play(self, deal: Any, chance: Chance) -> Play[Any]:
        """The rules."""

    @abstractmethod
    def payoffs(self, outcome: Any) -> dict[str, float]:
        """What each seat got, by seat name, in the game's unit."""

    @abstractmethod
    def payoff_bounds(self) -> dict[str, Bounds]:
        """The least and the most that a place of each role can get, over all its seats together."""

    def total_bounds(self) -> dict[str, Bounds]:
        """The least and the most that all places of each role can get together.

        As many times what one place can, unless the rules leave less: exactly one wins, or the
        places share a sum.
        """
        bounds, counts = self.payoff_bounds(), Counter(self.places.values())
        return {
            role: (least * counts[role], most * counts[role])
            for role, (least, most) in bounds.items() if role in counts
        }  # fmt: skip

    def secrets(self, deal: Any) -> Iterator[Secret]:
        """Variations of what single seats know privately; none in a game without secrets."""
        return iter(())

    def place_payoffs(self, outcome: Any) -> dict[str, float]:
        """Payoffs summed over the seats of each place.

        Raises:
            RulesError: other seats are paid than there are, a payoff is no finite number, or a
                place gets more or less than the game declares that it can.
        """
        try:
            roles, paid = self.places, self.payoffs(outcome)
        except Exception as error:
            raise RulesError(f"{self.name}: payoffs() fails: {describe(error)}") from error
        expect_finite(self.name, paid)
        places = {seat.name: seat.place for seat in self.seats}
        if paid.keys() != places.keys():
            raise RulesError(
                f"{self.name}: payoffs() pays {', '.join(paid) or 'nobody'}, and the seats are "
                f"{', '.join(places)}; pay each of them, if only 0"
            )
        total = dict.fromkeys(roles, 0.0)
        for seat, payoff in paid.items():
            total[places[seat]] += payoff
        bounds = self.declared_bounds("payoff_bounds")
        for place, payoff in total.items():
            limits = bounds[roles[place]]
            if not within(payoff, limits):
                raise RulesError(
                    f'{self.name}: "{place}" gets {beyond(payoff, limits)}, its payoff_bounds(); '
                    "mend these, or what the rules let pass"
                )
        self._check_totals(total)
        return total

    def declared_bounds(self, method: str) -> Mapping[str, Bounds]:
        """What ``payoff_bounds`` or ``total_bounds`` gives, which is two numbers for each role.

        Raises:
            RulesError: it gives something else, or none for the role of a place.
        """
        bounds = getattr(self, method)()
        if not isinstance(bounds, Mapping) or not all(map(_two_numbers, bounds.values())):
            raise RulesError(
                f"{self.name}: {method}() gives {bounds!r}; return the least and the most by "
                f'role, as in {{"{self.roles[0]}": (0.0, 1.0)}}'
            )
        for role in self.places.values():
            if role not in bounds:
                raise RulesError(f'{self.name}: {method}() has none for the role "{role}"')
        return bounds

    def _check_totals(self, paid: Mapping[str, float]) -> None:
        """Raise an error where all places of a role get more or less than the game declares."""
        if type(self).total_bounds is Game.total_bounds:  # as each place keeps to its own
            return
        roles, bounds = self.places, self.declared_bounds("total_bounds")
        sums = dict.fromkeys(bounds, 0.0)
        for place, payoff in paid.items():
            sums[roles[place]] += payoff
        for role, limits in bounds.items():
            if not within(sums[role], limits):
                raise RulesError(
                    f'{self.name}: the places of the role "{role}" get '
                    f"{beyond(sums[role], limits)}, its total_bounds(); mend these, or what the "
                    "rules let pass"
                )


def _two_numbers(ends: object) -> bool:
    return (
        isinstance(ends, Sequence) and len(ends) == 2 and all(isinstance(end, Real) for end in ends)
    )


def expect_finite(game: str, paid: dict[str, float]) -> None:
    """Refuse payoffs that are no numbers by seat, or none that can be added and compared.

    Raises:
        RulesError: what there is instead, or the first seat whose payoff is nan, infinite or no
            number.
    """
    if not isinstance(paid, Mapping):
        raise RulesError(
            f'{game}: payoffs() gives {paid!r}; return what each seat gets, as in {{"SEAT": 0.0}}'
        )
    for seat, payoff in paid.items():
        if not isinstance(payoff, Real) or not isfinite(payoff):
            raise RulesError(
                f'{game}: payoffs() gives "{seat}" {payoff}, which is no finite number; look for '
                "what it is made of in the outcome"
            )


def expect_json(game: str, outcome: dict[str, Any]) -> None:
    """Refuse an outcome that no JSON can hold, in which matches are kept.

    Raises:
        RulesError: the first number that is nan or infinite.
    """
    for path, value in numbers(outcome):
        if not isfinite(value):
            name = ".".join(map(str, path))
            raise RulesError(
                f'{game}: the outcome has {value} as "{name}"; JSON, in which matches are kept, '
                "knows finite numbers alone"
            )
