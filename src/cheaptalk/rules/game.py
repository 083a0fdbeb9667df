"""The base class of games: parameters, seats, instances, rules, outcomes and payoffs."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import isfinite
from numbers import Real
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import (
    BaseModel,
    Field,
    model_validator,
)

from cheaptalk.renamed import RENAMED_KEYS
from cheaptalk.rules.actions import Action, Data
from cheaptalk.rules.bounds import Bounds, beyond, numbers, within
from cheaptalk.rules.chance import Chance
from cheaptalk.rules.errors import LocatedError, RulesError, describe, shown, suggest
from cheaptalk.rules.steps import Event, Play

Held = TypeVar("Held")
Accepted = TypeVar("Accepted")


def _is_boolean_for_number(value: Any, annotation: Any) -> bool:
    """Return whether a value is or contains a boolean where a number is expected."""
    if isinstance(value, list):
        suspects = [item for item in value if isinstance(item, (bool, list))]
        pairs = product(suspects, get_args(annotation))
        return any(_is_boolean_for_number(item, kind) for item, kind in pairs)
    if not isinstance(value, bool):
        return False
    kinds = _alternatives(annotation)
    return not kinds.isdisjoint((int, float)) and bool not in kinds


def _alternatives(annotation: Any) -> set[Any]:
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return set().union(*map(_alternatives, get_args(annotation)))
    return {annotation} if isinstance(annotation, Hashable) else set()


@cache
def _known(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's fields, with the type of each field that needs a check for booleans."""
    return {
        name: field.annotation if _wants_number(field.annotation) else None
        for name, field in model.model_fields.items()
    }


def _wants_number(annotation: Any) -> bool:
    """Return whether a type is or contains a number type that excludes booleans."""
    return _is_boolean_for_number(True, annotation) or any(map(_wants_number, get_args(annotation)))


def unknown_key(key: str, known: Sequence[str]) -> str:
    """Return the message about an unknown key, with its new name or the nearest known key."""
    renamed = RENAMED_KEYS.get(key)
    hint = f'"{key}" (renamed to "{renamed}")' if renamed in known else suggest(key, known)
    return f"unknown key {hint}"


class Value(Data):
    """Immutable data from users; the error about a misspelt key suggests the nearest legal key."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            fields = _known(cls)
            for key, value in data.items():
                if key not in fields:
                    raise ValueError(unknown_key(str(key), list(fields)))
                if fields[key] is not None and _is_boolean_for_number(value, fields[key]):
                    problem = f"{shown(value)} is not a number; write it in digits"
                    raise LocatedError(problem, str(key))
        return data


class Instance(Value):
    """Private values and other random draws that are fixed before play; empty by default.

    >>> class Cards(ct.Instance):
    ...     deck: tuple[int, ...]
    >>> Cards(deck=(3, 1, 2)).model_dump_json()
    '{"deck":[3,1,2]}'
    """


class Outcome(Value):
    """The final state of a match, from which payoffs and metrics are computed.

    >>> class Sale(ct.Outcome):
    ...     price: float | None
    >>> Sale(price=None)
    Sale(price=None)
    """


class Actor(NamedTuple):
    """A decision maker in a seat, with its own observations.

    Most seats have one actor. If a seat has several, the same player plays all of them, but does
    not remember the observations of earlier actors.

    Attributes:
        name: the actor's name in requests, events and records.
    """

    name: str
    seat: str


def numbered_seats(role: str, count: int) -> dict[str, str]:
    """Return a mapping of numbered seats to their role, such as ``player_1`` to ``player``.

    >>> numbered_seats("player", 2)
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
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return {"rounds": value} if is_number else value

    @classmethod
    def of(cls, rounds: int | None) -> Any:
        """Return the default of a field of type :data:`HorizonLike` or :data:`OptionalHorizon`."""
        return None if rounds is None else cls(rounds=rounds)

    @property
    def told(self) -> int | None:
        """The number of rounds, if the players know it; None if it is hidden."""
        return None if self.hidden else self.rounds


class Chat(Value):
    """Free chat between the seats of a match, which binds nobody and doesn't change payoffs.

    In a study file: ``{when: before, seconds: 60}``, or only ``before``.
    """

    when: Literal["before", "between", "during"] = "before"
    """When the chat is open: before the first decision, before each decision (in simultaneous
    games, before each round), or during the whole match."""
    seconds: float = Field(120, gt=0, le=3600, allow_inf_nan=False)
    """Seconds after which a chat before decisions ends, unless all people are ready earlier."""
    lines: int = Field(10, ge=1, le=1000)
    """The maximum lines of each seat: in total or, if the chat is before each decision, each
    time."""
    characters: int = Field(300, ge=1, le=2000)
    """The maximum characters of a line."""
    groups: tuple[tuple[str, ...], ...] = ()
    """The seats that chat with each other, such as [[player_1, player_2]]; by default all seats."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return {"when": value} if isinstance(value, str) else value


if TYPE_CHECKING:

    class Settable(Generic[Held, Accepted]):
        """A field that holds values of one type, and is set by values of other types, too."""

        def __get__(self, instance: object, owner: Any) -> Held: ...

        def __set__(self, instance: object, value: Accepted) -> None: ...

    class HorizonLike(Settable[Horizon, Horizon | int | Mapping[str, Any]]):
        """A field of a game that holds a :class:`Horizon`, set by a horizon or its rounds."""

    OptionalHorizon: TypeAlias = Settable[Horizon | None, Horizon | int | Mapping[str, Any] | None]
else:
    HorizonLike, OptionalHorizon = Horizon, Horizon | None


@dataclass(frozen=True)
class Secret:
    """A match with one private fact changed, to test that other actors cannot observe the fact.

    Attributes:
        owners: the actors that know the fact.
        game, instance: the match with only this fact changed.
        revealed: returns whether an event reveals the fact under the rules; later events are not
            compared.
    """

    owners: frozenset[str]
    game: "Game"
    instance: Instance
    revealed: Callable[[Event], bool] = lambda event: False


def _is_absent(value: object) -> bool:
    return value is None


class Game(Value):
    """The rules of a game with its parameters.

    A subclass declares its parameters as fields and its properties as class variables. It
    implements the rules as the generator :meth:`play`, which does no input or output.

    >>> game = ct.games.PublicGoods(players=3)
    >>> isinstance(game, ct.Game), game.seats
    (True, {'player_1': 'player', 'player_2': 'player', 'player_3': 'player'})
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The title for display, such as "Diner's dilemma"; by default derived from the name."""
    version: ClassVar[int] = 1
    """The version of the rules; increase it if a recorded match would replay differently."""
    roles: ClassVar[tuple[str, ...]]
    """The kinds of positions, such as buyer and seller; each strategy is written for some."""
    events: ClassVar[tuple[type[Event], ...]]
    actions: ClassVar[tuple[type[Action], ...]]
    instance_type: ClassVar[type[Instance]] = Instance
    outcome_type: ClassVar[type[Outcome]]
    payoff_unit: ClassVar[str | tuple[str, ...]] = ""
    """The unit of payoffs, such as dollars; a tuple in the order of roles if units differ."""
    payoffs_reach_bounds: ClassVar[bool] = True
    """Whether players can realistically reach :meth:`payoff_bounds`. Set it to False if the bounds
    only exclude extreme play, such as a price of a hundred times the product's value. Payoffs
    without variance then get no confidence interval, instead of one that extends to the bound."""
    tries: ClassVar[int] = 3
    """Default of a player's ``tries``: a model's attempts at each request before it forfeits."""
    forfeit: ClassVar[str] = "The match ends as forfeited by that seat and is not scored."

    if TYPE_CHECKING:  # the parameters of a game whose class isn't known

        def __init__(self, **parameters: Any) -> None: ...

    names: dict[str, str] = Field(default_factory=dict)
    """The players' names in prompts, by seat; by default the seat's name."""

    chat: Chat | None = Field(default=None, exclude_if=_is_absent)
    """Free chat between the seats, such as before or {when: during, lines: 5}; by default none."""

    @model_validator(mode="after")
    def _check_chat(self) -> "Game":
        if self.chat is None:
            return self
        if any(count > 1 for count in Counter(actor.seat for actor in self.actors).values()):
            raise LocatedError("a seat with several actors can't chat; leave out chat", "chat")
        members = [seat for group in self.chat.groups for seat in group]
        for seat in members:
            if seat not in self.seats:
                raise LocatedError(f"unknown seat {suggest(seat, list(self.seats))}", "chat.groups")
            if members.count(seat) > 1:
                problem = f"{seat} is in two groups; a seat chats in one group"
                raise LocatedError(problem, "chat.groups")
        if any(len(group) < 2 for group in self.chat.groups):
            raise LocatedError("a group needs at least two seats", "chat.groups")
        return self

    @model_validator(mode="after")
    def _check_names(self) -> "Game":
        for seat in self.names:
            if seat not in self.seats:
                problem = f'unknown seat "{seat}"; the seats are {", ".join(self.seats)}'
                raise LocatedError(problem, "names")
        names = [self.called(seat) for seat in self.seats]
        if len(set(names)) < len(names):
            raise LocatedError("two seats have the same name; choose different names", "names")
        return self

    def called(self, seat: str) -> str:
        """Return the name of a seat in prompts; by default, ``player_2`` is called Player 2."""
        return self.names.get(seat) or seat.replace("_", " ").capitalize()

    @classmethod
    def payoff_units(cls) -> dict[str, str]:
        """Return the unit of payoffs by role; empty strings if the game declares no unit."""
        unit = cls.payoff_unit
        units = (unit,) * len(cls.roles) if isinstance(unit, str) else unit
        return dict(zip(cls.roles, units, strict=True))

    @property
    def seats(self) -> dict[str, str]:
        """The role of each seat, in the order of seats; by default one seat for each role.

        Override this property in games with several seats of a role; see :func:`numbered_seats`.
        """
        return {role: role for role in self.roles}

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors in order; by default one for each seat."""
        return tuple([Actor(seat, seat) for seat in self.seats])

    def draw_instance(self, chance: Chance) -> Instance:
        return self.instance_type()

    def instance_of(self, seed: str) -> Instance:
        """Return the instance that :meth:`draw_instance` draws with this seed."""
        try:
            return self.draw_instance(Chance(seed).apart("deal"))
        except Exception as error:
            raise RulesError(f"{self.name}: draw_instance() failed: {describe(error)}") from error

    @abstractmethod
    def play(self, instance: Any, chance: Chance) -> Play[Any]:
        """Yield the requests and events of a match, and return its outcome."""

    @abstractmethod
    def payoffs(self, outcome: Any) -> dict[str, float]:
        """Return the payoffs by actor, in the game's unit."""

    @abstractmethod
    def payoff_bounds(self) -> dict[str, Bounds]:
        """Return each role's payoff bounds; a seat's payoff is the sum over its actors."""

    def total_bounds(self) -> dict[str, Bounds]:
        """Return the minimum and maximum total payoff of all seats, by role.

        By default, these are the bounds of one seat times the number of seats. Override this method
        if the rules imply tighter bounds: for example, if exactly one player wins.
        """
        bounds, counts = self.payoff_bounds(), Counter(self.seats.values())
        items = ((role, counts[role], pair) for role, pair in bounds.items() if role in counts)
        return {role: (low * count, high * count) for role, count, (low, high) in items}

    def secrets(self, instance: Any) -> Iterator[Secret]:
        """Yield, for every private fact, a match in which only this fact differs."""
        return iter(())

    def seat_payoffs(self, outcome: Any) -> dict[str, float]:
        """Return payoffs by seat, summed over each seat's actors.

        Raises:
            RulesError: an actor's payoff is missing or not finite, or a seat's payoff or a role's
                total payoff violates the declared bounds.
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
        """Call ``payoff_bounds`` or ``total_bounds``, and check the format of the result."""
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
        if type(self).total_bounds is Game.total_bounds:  # implied by the bounds of each seat
            return
        roles, bounds = self.seats, self.declared_bounds("total_bounds")
        sums = dict.fromkeys(bounds, 0.0)
        for seat, payoff in paid.items():
            sums[roles[seat]] += payoff
        for role, limits in bounds.items():
            if not within(sums[role], limits):
                raise RulesError(
                    f'{self.name}: the total payoff of the role "{role}" is '
                    f"{beyond(sums[role], limits)}; fix total_bounds() or the rules"
                )


def _two_numbers(bounds: object) -> bool:
    return (
        isinstance(bounds, Sequence)
        and len(bounds) == 2
        and all(isinstance(bound, Real) for bound in bounds)
    )


def expect_finite(game: str, paid: dict[str, float]) -> None:
    """Raise a :class:`RulesError` if payoffs are not a mapping of finite numbers by actor."""
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
    """Raise a :class:`RulesError` if an outcome contains NaN or infinity, which JSON lacks."""
    for path, value in numbers(outcome):
        if not isfinite(value):
            name = ".".join(map(str, path))
            raise RulesError(
                f'{game}: the outcome has {value} as "{name}"; matches are stored as JSON, '
                "which allows only finite numbers"
            )
