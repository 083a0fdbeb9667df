"""A player who repeats recorded moves."""

from collections.abc import Sequence

from cheaptalk.players.thinking import Answer, Kind, Thinking
from cheaptalk.rules import Asked, Given


class Recorded:
    """Answers each seat's k-th question with that seat's k-th recorded move.

    Where the record has run out, or its move does not fit the question, there is no answer: a
    move is never invented, and the seat forfeits.
    """

    def __init__(self, given: Sequence[Given]) -> None:
        self.given = given

    def answer(self, asked: Asked) -> Thinking:
        """The recorded move, if it fits."""
        moves = [move.action for move in self.given if move.seat == asked.seat]
        place = sum(moment.action is not None for moment in asked.heard)
        action = moves[place] if place < len(moves) else None
        if action is None or asked.ask.refuse(action) is not None:
            return Answer(None, Kind.ILLEGAL)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing
