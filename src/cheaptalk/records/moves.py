"""Counts of the moves, messages and words of each seat in a match."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

COUNTS = {
    "moves": "The number of requested moves that {} made.",
    "messages": "The number of moves of {} with a nonempty message, and of its lines of chat.",
    "words": "The number of words in these messages of {}, separated by whitespace.",
    "decisions": "The number of moves of {} that accept or reject, buy or pass.",
}
"""The meaning of each count, with a placeholder for the seat."""


class Move(Protocol):
    """An answer with the actor and the action; None if the actor gave no valid answer."""

    @property
    def actor(self) -> str: ...

    @property
    def action(self) -> dict[str, Any] | None: ...


class Line(Protocol):
    """A line of chat with the actor; without a text if the actor sent none."""

    @property
    def actor(self) -> str: ...

    @property
    def text(self) -> str | None: ...


def count_moves(
    answers: Iterable[Move], places: Mapping[str, int], seats: int, chat: Iterable[Line] = ()
) -> list[int]:
    """Return the counts of the first seat, in the order of :data:`COUNTS`, then of the others.

    Args:
        places: the index of each actor's seat; answers of other actors are ignored.
        seats: the number of seats.
        chat: the lines of chat.
    """
    size = len(COUNTS)
    counts = [0] * (size * seats)
    for answer in answers:
        place = places.get(answer.actor)
        if (action := answer.action) is not None and place is not None:
            start = place * size
            counts[start] += 1
            if (message := action.get("message")) and (words := len(message.split())):
                counts[start + 1] += 1
                counts[start + 2] += words
            if "decision" in action:
                counts[start + 3] += 1
    for line in chat:
        place = places.get(line.actor)
        if place is not None and line.text:
            counts[place * size + 1] += 1
            counts[place * size + 2] += len(line.text.split())
    return counts
