"""Kinds of players, which register here; roster entries name them, and their settings are data.

A kind of player is one module: its roster entry (:class:`RosterForm`), its settings
(:class:`SeatSpec`) and the player itself (:class:`.Player`). It registers under the key that
identifies it in a roster entry::

    [project.entry-points."cheaptalk.seats"]
    policy = "mypackage.policies:PolicySeat"

and is then written ``{policy: NAME, ...}`` in rosters and study files.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from pydantic import SerializeAsAny, model_serializer, model_validator

from cheaptalk.models import Reply
from cheaptalk.models.remote_agents import RemoteAgents
from cheaptalk.players.protocol import PersonCall, Player
from cheaptalk.rules import Decide, Game, Given, Value, suggest
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry

AskPerson: TypeAlias = Callable[[PersonCall], Awaitable[Reply]]
"""Sends a request to a person, and waits for the answer."""
CALL_DEADLINE = 300.0
"""Default timeout of one call, in seconds."""


class Recording(NamedTuple):
    """The moves of a recorded match.

    Attributes:
        game: its name.
        given: the answers, in order.
    """

    game: str
    given: Sequence[Given]


def _nothing_recorded(match: str) -> Recording:
    raise ValueError(f"match {match} cannot be read without a store")


class Sources(NamedTuple):
    """Resources that the host of a match provides to players.

    Attributes:
        recording: returns a recorded match by its id; raises a ValueError with the reason if there
            is none.
        ask_person: asks a person; None if the host cannot.
        remote_agents: dispatches requests to remote agents; None if none can connect.
    """

    recording: Callable[[str], Recording] = _nothing_recorded
    ask_person: AskPerson | None = None
    remote_agents: RemoteAgents | None = None


NO_SOURCES = Sources()
"""Sources for players that need none."""


class RosterForm(Value):
    """How one kind of player is written on a roster; such a player may play several games.

    Attributes:
        exact: whether the player depends on a game's parameters, and not only on its name and
            seats.
    """

    exact: ClassVar[bool] = False

    def check(self) -> None:
        """Refuse settings that are invalid in every game.

        Raises:
            ValueError: the reason and how to fix it.
        """

    @abstractmethod
    def seat(self, game: Game, seat: str) -> "SeatSpec | None":
        """Return what fills this seat of this game; None if this player cannot.

        Raises:
            ValueError: the settings are incompatible with the game.
            UnknownName: they name something that the game does not have.
        """

    def parts(self, game: str) -> list[str]:
        """Return the roles and seats of a game that are named; none if one player plays all."""
        return []

    def written(self) -> dict[str, Any]:
        """Return the entry as it is written in a study file."""
        return self.model_dump(mode="json", exclude_none=True)

    def is_known(self, games: Sequence[str]) -> bool:
        """Return whether a player of this name exists in at least one of these games."""
        return True

    def why_idle(self, games: Sequence[str]) -> str:
        """Return why the player can play none of these games."""
        return f"can play none of {', '.join(games)}"


class SeatSpec(RosterForm):
    """All settings that make a player of a seat; equal settings are the same player.

    Most kinds are stored as they are written on a roster.

    Attributes:
        instant: whether the player is a function of its actor's observations: its moves are
            immediate, free and determined by the match's seed, so that none is recorded in advance.
            Such a kind has :meth:`decide`.
        may_fail: whether answers may be missing or illegal, as with models and people.
    """

    instant: ClassVar[bool] = False
    may_fail: ClassVar[bool] = False

    def seat(self, game: Game, seat: str) -> "SeatSpec | None":
        """Return the same player, with everything that this game determines."""
        return self

    @abstractmethod
    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        """Return the player of a game with these settings.

        Raises:
            CheaptalkError: there is no such player.
        """

    def decide(self) -> Decide:
        """Return the function of an instant player."""
        raise NotImplementedError

    @property
    def searches(self) -> bool:
        """Whether an instant player searches a game tree, which may take minutes."""
        return False

    def missing(self, game: Game, sources: Sources) -> str | None:
        """Return what must be done before the player can play; None if nothing is missing."""
        return None

    def unbatchable(self) -> str | None:
        """Return why the player's calls cannot be batched; None if they can."""
        return None

    def portable(self) -> bool:
        """Return whether another process on this machine can create the player from its
        settings."""
        return True

    def call_deadline(self) -> float:
        """Return the timeout of one call for the player, in seconds."""
        return CALL_DEADLINE


SEATS: Registry[type[RosterForm]] = Registry(
    "kind of player",
    "cheaptalk.seats",
    lambda thing: isinstance(thing, type) and issubclass(thing, RosterForm),
)
"""All kinds of players by the key that identifies them."""


def entry_of(value: object) -> object:
    """Return a player as a roster entry.

    A strategy's name, a policy's file, a model string or a function becomes an entry; anything else
    is returned unchanged.

    >>> entry_of("linear"), entry_of("openai/gpt-4o"), entry_of("runs/bg4.policy")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'}, {'policy': 'runs/bg4.policy'})
    """
    if isinstance(value, str):
        if value.endswith(".policy"):
            return {"policy": value}
        return {"model" if "/" in value else "strategy": value}
    return {"strategy": value} if callable(value) else value


class RosterEntry(Value):
    """A roster entry: a player of any registered kind."""

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
                "openai/gpt-4o, a mapping such as {strategy: equal_split}, or in Python a function"
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
            raise ValueError(f"a player needs one of {', '.join(known)}")
        key = str(next(iter(data)))
        if key.partition(":")[0] in known:
            raise ValueError(f'"{key}" lacks a space after its colon')
        raise ValueError(f"unknown key {suggest(key, list(known))}")

    @model_serializer
    def written(self) -> dict[str, Any]:
        """Return the entry as it is written in a study file."""
        return self.form.written()

    def parts(self, game: str) -> list[str]:
        """Return the roles and seats of a game that the entry names; none if one player plays all.

        >>> entry = RosterEntry.model_validate({"strategies": {"persuasion": {"alice": "honest"}}})
        >>> entry.parts("persuasion")
        ['alice']
        """
        return self.form.parts(game)

    def seat(self, game: Game, seat: str) -> SeatSpec | None:
        """Return what fills this seat of this game; None if this player cannot.

        Raises:
            ValueError: the settings are incompatible with the game.
            UnknownName: they name something that the game does not have.
        """
        return self.form.seat(game, seat)


LONGEST_LABEL = 200


def labelled(players: Mapping[Any, Any]) -> dict[str, Any]:
    """Return entries by label; numbers become text.

    Raises:
        ValueError: a label is invalid, or YAML does not read it as text.
    """
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
