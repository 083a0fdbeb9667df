"""Kinds of players: they register here, roster entries name them, and their settings are data.

A kind of player is one module: how it is written on a roster (:class:`RosterForm`), the settings
that make it (:class:`SeatSpec`) and who then sits down (:class:`.Player`).
It registers under the key by which a roster entry tells it::

    [project.entry-points."cheaptalk.seats"]
    policy = "mypackage.policies:PolicySeat"

and is then written ``{policy: NAME, ...}`` wherever a player is.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from pydantic import SerializeAsAny, model_serializer, model_validator

from cheaptalk.models import Reply
from cheaptalk.models.guests import Guests
from cheaptalk.players.protocol import PersonCall, Player
from cheaptalk.rules import Decide, Game, Given, Value, suggest
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry

AskPerson: TypeAlias = Callable[[PersonCall], Awaitable[Reply]]
"""Puts a question to a person, and waits for the answer."""
CALL_DEADLINE = 300.0
"""Seconds that one call may take, unless a kind of player says otherwise."""


class Recording(NamedTuple):
    """The moves of a recorded match.

    Attributes:
        game: its name.
        given: the answers, in order.
    """

    game: str
    given: Sequence[Given]


def _nothing_recorded(match: str) -> Recording:
    raise ValueError(f"there is no store to take match {match} from")


class Sources(NamedTuple):
    """Where players get what is not in their settings, from whoever hosts their match.

    Attributes:
        recording: a recorded match by its id; raises a ValueError that says why there is none.
        ask_person: asks a person; None where nobody can.
        guests: has agents asked that come by themselves; None where none can come.
    """

    recording: Callable[[str], Recording] = _nothing_recorded
    ask_person: AskPerson | None = None
    guests: Guests | None = None


NO_SOURCES = Sources()
"""For players who need none."""


class RosterForm(Value):
    """How one kind of player is written on a roster: a player who may sit down at several games.

    Attributes:
        exact: whether who sits down depends on a game's parameters, and not on its name and places
            alone.
    """

    exact: ClassVar[bool] = False

    def check(self) -> None:
        """Refuse settings that cannot be, whatever the game.

        Raises:
            ValueError: with the reason and the cure.
        """

    @abstractmethod
    def seat(self, game: Game, place: str) -> "SeatSpec | None":
        """What fills this place of this game; None where this player cannot.

        Raises:
            ValueError: the settings do not go with the game.
            UnknownName: they name what the game does not have.
        """

    def parts(self, game: str) -> list[str]:
        """The roles and places of a game that are named; none where one player plays all."""
        return []

    def written(self) -> dict[str, Any]:
        """The entry as it is written in a study file."""
        return self.model_dump(mode="json", exclude_none=True)

    def is_known(self, games: Sequence[str]) -> bool:
        """Return whether a player of this name exists in at least one of these games."""
        return True

    def why_idle(self, games: Sequence[str]) -> str:
        """Why the player can sit down at none of these games."""
        return f"can play none of {', '.join(games)}"


class SeatSpec(RosterForm):
    """All settings that make a player of a seat; equal settings are the same player.

    Most kinds are written on a roster as they are stored.

    Attributes:
        instant: whether the player is a function of what its seat sees: its moves come at once,
            cost nothing and follow from the match's seed, so that none is recorded beforehand. Such
            a kind has :meth:`decide`.
        may_fail: whether an answer may not come, or not be a legal one, as of models and people.
    """

    instant: ClassVar[bool] = False
    may_fail: ClassVar[bool] = False

    def seat(self, game: Game, place: str) -> "SeatSpec | None":
        """The same player, with whatever is to be noted of this game."""
        return self

    @abstractmethod
    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        """Who sits down at a game with these settings.

        Raises:
            CheaptalkError: nobody can.
        """

    def decide(self) -> Decide:
        """The function that an instant player is."""
        raise NotImplementedError

    @property
    def searches(self) -> bool:
        """Whether an instant player looks through what may follow, which may take minutes."""
        return False

    def missing(self, game: Game, sources: Sources) -> str | None:
        """What must be done before the player can play; None where nothing is missing."""
        return None

    def unbatchable(self) -> str | None:
        """Why the player's calls cannot go out in providers' batches; None where they can."""
        return None

    def portable(self) -> bool:
        """Whether another process of this machine can make the player from its settings."""
        return True

    def call_deadline(self) -> float:
        """Seconds that one call for the player may take."""
        return CALL_DEADLINE


SEATS: Registry[type[RosterForm]] = Registry(
    "kind of player",
    "cheaptalk.seats",
    lambda thing: isinstance(thing, type) and issubclass(thing, RosterForm),
)
"""All kinds of players by the key that tells them."""


def entry_of(written: object) -> object:
    """A player as an entry: of a strategy's name, a policy's file, a model string or a function,
    else as written.

    >>> entry_of("linear"), entry_of("openai/gpt-4o"), entry_of("runs/bg4.policy")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'}, {'policy': 'runs/bg4.policy'})
    """
    if isinstance(written, str):
        if written.endswith(".policy"):
            return {"policy": written}
        return {"model" if "/" in written else "strategy": written}
    return {"strategy": written} if callable(written) else written


class RosterEntry(Value):
    """A roster entry: a player of any kind that is registered."""

    form: SerializeAsAny[RosterForm]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        data = entry_of(data)
        if isinstance(data, RosterForm):
            return {"form": data}
        if not isinstance(data, Mapping):
            raise ValueError(
                f"{shown(data)} is no player: write a strategy's name, a model such as "
                "openai/gpt-4o, a mapping such as {strategy: equal_split}, or in Python a function"
            )
        known = SEATS
        kinds = [key for key in data if key in known]
        if len(kinds) > 1:
            raise ValueError(f"{' and '.join(kinds)} do not go together: a player is one of them")
        if kinds:
            form = known[kinds[0]].model_validate(dict(data))
            form.check()
            return {"form": form}
        if not data:
            raise ValueError(f"a player needs one of {', '.join(known)}")
        key = str(next(iter(data)))
        if key.partition(":")[0] in known:
            raise ValueError(f'"{key}" lacks a space behind its colon')
        raise ValueError(f"unknown key {suggest(key, list(known))}")

    @model_serializer
    def written(self) -> dict[str, Any]:
        """The entry as it is written in a study file."""
        return self.form.written()

    def parts(self, game: str) -> list[str]:
        """The roles and places of a game that the entry names; none where one player plays all.

        >>> entry = RosterEntry.model_validate({"strategies": {"persuasion": {"alice": "honest"}}})
        >>> entry.parts("persuasion")
        ['alice']
        """
        return self.form.parts(game)

    def seat(self, game: Game, place: str) -> SeatSpec | None:
        """What fills this place of this game; None where this player cannot.

        Raises:
            ValueError: the settings do not go with the game.
            UnknownName: they name what the game does not have.
        """
        return self.form.seat(game, place)


LONGEST_LABEL = 200


def labelled(players: Mapping[Any, Any]) -> dict[str, Any]:
    """Entries under their labels; numbers become text.

    Raises:
        ValueError: a label cannot be read, or is no text to YAML.
    """
    for label in players:
        if not str(label).strip():
            raise ValueError("a player has no name; write LABEL: before its entry")
        if label is None or isinstance(label, bool):
            raise ValueError(f"YAML reads a label as {shown(label)}; put it in quotes")
        if not str(label).isprintable() or len(str(label)) > LONGEST_LABEL:
            raise ValueError(
                f"{shown(label)} is no label: write up to {LONGEST_LABEL} characters in one line, "
                "none of them invisible"
            )
    return {str(label): entry for label, entry in players.items()}
