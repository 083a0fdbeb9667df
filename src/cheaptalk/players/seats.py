"""Registry of the kinds of players, and base classes for their roster entries and settings.

A kind of player has a roster entry (:class:`RosterForm`), settings (:class:`SeatSpec`) and the
player itself (:class:`.Player`). Register the kind under the key of its roster entries::

    [project.entry-points."cheaptalk.seats"]
    policy = "mypackage.policies:PolicySeat"

Rosters and study files then accept ``{policy: NAME, ...}``.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from pydantic import (
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from cheaptalk.models import Reply
from cheaptalk.models.model_strings import canonical
from cheaptalk.models.remote_agents import RemoteAgents
from cheaptalk.names import StrategyName
from cheaptalk.players.protocol import PersonCall, Player
from cheaptalk.rules import Action, Decide, Game, Given, Value, suggest
from cheaptalk.rules.deciders import is_player
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry, subclasses

AskPerson: TypeAlias = Callable[[PersonCall], Awaitable[Reply]]
"""A function that sends a request to a person and waits for the answer."""
CALL_DEADLINE = 300.0
"""Default timeout of one call, in seconds."""


class Recording(NamedTuple):
    """The game of a recorded match, and its answers in order."""

    game: str
    given: Sequence[Given]


def _nothing_recorded(match: str) -> Recording:
    raise ValueError(f"match {match} cannot be read without a store")


class Sources(NamedTuple):
    """Resources that the host of a match provides to players.

    Attributes:
        recording: returns a recorded match by id; raises a ValueError if no such match exists.
        ask_person: asks a person; None if the host cannot ask people.
        remote_agents: dispatches requests to remote agents; None if remote agents cannot connect.
    """

    recording: Callable[[str], Recording] = _nothing_recorded
    ask_person: AskPerson | None = None
    remote_agents: RemoteAgents | None = None


NO_SOURCES = Sources()
"""Sources for players that need none."""


class RosterForm(Value):
    """The roster entry of one kind of player, which may play several games.

    Attributes:
        exact: whether the player depends on a game's parameters, not only on its name and seats.
    """

    exact: ClassVar[bool] = False

    def check(self) -> None:
        """Raise a ValueError if the settings are invalid for every game."""

    @abstractmethod
    def seat(self, game: Game, seat: str) -> "SeatSpec | None":
        """Return the player's settings for a seat of a game, or None if it cannot fill the seat.

        Raises:
            ValueError: the settings are incompatible with the game.
            UnknownName: a setting names something that the game does not have.
        """

    def parts(self, game: str) -> list[str]:
        """Return the roles and seats that the entry names; empty if it names none."""
        return []

    def written(self) -> dict[str, Any]:
        """Return the entry in the form of a study file."""
        return self.model_dump(mode="json", exclude_none=True)

    def is_known(self, games: Sequence[str]) -> bool:
        """Return whether at least one of these games has a player of this name."""
        return True

    def why_idle(self, games: Sequence[str]) -> str:
        """Return why the player cannot play any of these games."""
        return f"the player cannot play {' or '.join(games)}"


class SeatSpec(RosterForm):
    """All settings of a player in a seat; players with equal settings are the same player.

    Attributes:
        instant: whether :meth:`decide` computes moves from the actor's observations, immediately,
            without cost, and determined by the match's seed.
        may_fail: whether answers may be missing or illegal, as with models and people.
        optional: settings that are stored only if they differ from the default. Settings that older
            records lack are optional, so that players keep their identity and recorded matches
            remain valid.
    """

    optional: ClassVar[frozenset[str]] = frozenset()
    instant: ClassVar[bool] = False
    may_fail: ClassVar[bool] = False

    @model_serializer(mode="wrap")
    def _stored(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields, data = type(self).model_fields, dict[str, Any](serialize(self))
        for name in self.optional:
            if getattr(self, name) == fields[name].get_default(call_default_factory=True):
                data.pop(name, None)
        return data

    def seat(self, game: Game, seat: str) -> "SeatSpec | None":
        """Return the player's settings with all game-dependent values resolved."""
        return self

    @abstractmethod
    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        """Create the player; raise a CheaptalkError if it is not available."""

    def decide(self) -> Decide:
        """Return the decision function of a player that needs no model calls."""
        raise NotImplementedError

    @property
    def searches(self) -> bool:
        """Whether the player's decision function searches a game tree, which may take minutes."""
        return False

    def missing(self, game: Game, sources: Sources) -> str | None:
        """Return what the player still needs, such as an API key; None if it is ready to play."""
        return None

    def unbatchable(self) -> str | None:
        """Return the reason why the player's calls cannot be batched; None if they can."""
        return None

    def unportable(self, pickle: Callable[[Any], bytes]) -> str | None:
        """Return why the player cannot play in another process; None if it can.

        Args:
            pickle: pickles an object for the other process.
        """
        return None

    def call_deadline(self) -> float:
        """Return the timeout of one call of the player, in seconds."""
        return CALL_DEADLINE


SEATS: Registry[type[RosterForm]] = Registry(
    "kind of player", "cheaptalk.seats", subclasses(RosterForm)
)
"""All kinds of players by the key of their roster entries."""


def entry_of(value: object) -> object:
    """Convert a strategy's name, policy file, model string or Python player to a roster entry.

    Other values are returned unchanged.

    >>> entry_of("linear"), entry_of("openai/gpt-4o"), entry_of("runs/bg4.policy")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'}, {'policy': 'runs/bg4.policy'})
    """
    if isinstance(value, str):
        if value.endswith(".policy"):
            return {"policy": value}
        return {"model" if "/" in canonical(value) else "strategy": value}
    return {"strategy": value} if is_player(value) else value


PlayerLike: TypeAlias = (
    "RosterEntry | RosterForm | Mapping[str, Any] | Callable[..., Action] | StrategyName | None"
)
"""A player: a strategy's name, a model string, a mapping as in a study file, a function such as a
strategy, or a roster entry."""


class RosterEntry(Value):
    """A roster entry of any registered kind of player."""

    form: SerializeAsAny[RosterForm]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        data = entry_of(data)
        if isinstance(data, RosterForm):
            return {"form": data}
        if not isinstance(data, Mapping):
            raise ValueError(
                f"{shown(data)} is not a player; write a strategy's name, a model such as "
                "openai/gpt-4o, a mapping such as {strategy: equal_split}, or in Python a "
                "function, or a class with a method __call__"
            )
        known = SEATS
        kinds = [key for key in data if key in known]
        if len(kinds) > 1:
            raise ValueError(
                f"{' and '.join(kinds)} cannot be combined; a player needs exactly one of them"
            )
        if kinds:
            form = known[kinds[0]].model_validate(dict(data))
            form.check()
            return {"form": form}
        if not data:
            raise ValueError(f"a player needs one of the keys {', '.join(known)}")
        key = str(next(iter(data)))
        if key.partition(":")[0] in known:
            raise ValueError(f'"{key}" lacks a space after its colon')
        raise ValueError(f"unknown key {suggest(key, list(known))}")

    @model_serializer
    def written(self) -> dict[str, Any]:
        return self.form.written()

    def parts(self, game: str) -> list[str]:
        """Return the roles and seats that the entry names; empty if it names none.

        >>> entry = RosterEntry.model_validate({"strategies": {"persuasion": {"alice": "honest"}}})
        >>> entry.parts("persuasion")
        ['alice']
        """
        return self.form.parts(game)

    def seat(self, game: Game, seat: str) -> SeatSpec | None:
        """Return the player's settings for a seat, or None if it cannot fill the seat."""
        return self.form.seat(game, seat)


LONGEST_LABEL = 200


def labelled(players: Mapping[Any, Any]) -> dict[str, Any]:
    """Return roster entries by label; raise a ValueError for an invalid label."""
    for label in players:
        if not str(label).strip():
            raise ValueError("a player has no name; write LABEL: before its entry")
        if label is None or isinstance(label, bool):
            raise ValueError(f"YAML reads a label as {shown(label)}; put it in quotes")
        if not str(label).isprintable() or len(str(label)) > LONGEST_LABEL:
            raise ValueError(
                f"{shown(label)} is not a label; write up to {LONGEST_LABEL} characters on one "
                "line, without invisible characters"
            )
    return {str(label): entry for label, entry in players.items()}
