"""The chat of a match: lines between seats that never change the state of the game.

Lines are recorded with the request during which they were sent. An actor's history merges them with
its observations (:func:`observed`), so that rules, strategies and metrics that ignore the chat see
the same match as without it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cheaptalk.rules.chance import Chance
from cheaptalk.rules.errors import counted
from cheaptalk.rules.game import Chat, Game
from cheaptalk.rules.steps import Moment


class ChatLine(NamedTuple):
    """A line of chat.

    Attributes:
        request: the number of the request during or before which the line was sent.
        actor: the sender.
        text: the text, as it was sent.
        after: the actors that had received this request before the line, and see it afterwards.
    """

    request: int
    actor: str
    text: str
    after: tuple[str, ...] = ()


class HeardLine(NamedTuple):
    """A line of chat as one actor reads it: before the observation with the index ``position``."""

    position: int
    line: ChatLine


class ChatTurn(NamedTuple):
    """An opportunity to send a line of chat, with all information that the actor may have.

    Attributes:
        actor: the actor that may send a line.
        heard: the actor's observations and answers so far, oldest first.
        chat: the lines that the actor has read or sent, oldest first.
        left: the number of lines that the actor may still send.
        chance: random streams of this turn.
    """

    actor: str
    heard: Sequence[Moment]
    chat: Sequence[HeardLine]
    left: int
    chance: Chance


class ChatLog:
    """The lines of a match's chat.

    Attributes:
        settings: the game's setting ``chat``.
        lines: all lines in order.
        heard: the lines of each actor's group.
        members: the actors that read the lines of an actor, including itself; only actors that may
            chat are keys.
    """

    def __init__(self, game: Game, settings: Chat) -> None:
        self.settings = settings
        self.lines: list[ChatLine] = []
        actors = {actor.seat: actor.name for actor in game.actors}
        self.heard: dict[str, list[HeardLine]] = {name: [] for name in actors.values()}
        groups = settings.groups or (tuple(actors),)
        self.members = {
            actors[seat]: tuple(actors[other] for other in actors if other in group)
            for group in groups
            for seat in group
        }

    def left(self, actor: str, request: int) -> int:
        """Return how many lines an actor may still send at a request."""
        if actor not in self.members:
            return 0
        phase = [line for line in self.lines if self._is_of_phase(line, request)]
        return self.settings.lines - sum(line.actor == actor for line in phase)

    def refuse(self, actor: str, text: str, request: int) -> str | None:
        """Return why an actor can't send a line, apart from the state of the match, or None."""
        limit = self.settings.characters
        if actor not in self.members:
            return f'"{actor}" takes no part in the chat'
        if not text.strip():
            return "the line is empty"
        if len(text) > limit:
            return f"the line has {len(text):,} characters; at most {limit:,} are possible"
        if self.left(actor, request) <= 0:
            return f"you have sent {counted(self.settings.lines, 'line')}, which is the maximum"
        return None

    def next_actor(
        self, actors: Iterable[str], request: int, turns: Mapping[str, Sequence[int]]
    ) -> str | None:
        """Return which of several actors has the next turn to chat, or None if none has.

        An actor has a turn at the beginning, and after each line of another actor, as long as it
        may send lines. The actor with the fewest turns is first.

        Args:
            turns: for each earlier turn of an actor, how many lines there were.
        """

        def has_turn(actor: str) -> bool:
            if self.left(actor, request) <= 0:
                return False
            earlier = turns.get(actor)
            return not earlier or any(
                line.actor != actor and actor in self.members[line.actor]
                for line in self.lines[earlier[-1] :]
            )

        waiting = filter(has_turn, actors)
        return min(waiting, key=lambda actor: len(turns.get(actor, ())), default=None)

    def add(self, line: ChatLine, heard: dict[str, list[Moment]]) -> None:
        """Add a line, which the members of the sender's group read."""
        self.lines.append(line)
        for actor in self.members[line.actor]:
            position = len(heard[actor]) + (actor in line.after)
            self.heard[actor].append(HeardLine(position, line))

    def _is_of_phase(self, line: ChatLine, request: int) -> bool:
        return self.settings.when != "between" or line.request == request


def observed(
    heard: Sequence[Moment], chat: Sequence[HeardLine], moments: int = 0, lines: int = 0
) -> Iterator[Moment | ChatLine]:
    """Yield an actor's observations and lines of chat in order.

    Args:
        moments: the number of observations to skip.
        lines: the number of lines of chat to skip.
    """
    position = lines
    for index in range(moments, len(heard) + 1):
        while position < len(chat) and chat[position].position <= index:
            yield chat[position].line
            position += 1
        if index < len(heard):
            yield heard[index]


def talker(player: Any) -> Callable[[ChatTurn], Any] | None:
    """Return a player's method ``talk``, or None if the player is silent."""
    talk = getattr(player, "talk", None)
    return talk if callable(talk) else None
