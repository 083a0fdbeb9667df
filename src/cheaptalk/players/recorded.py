"""A player who repeats recorded moves."""

from collections.abc import Sequence

from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import Asked, Game, Given


class Recorded:
    """Answers each seat's k-th question with that seat's k-th recorded move, from the first on.

    Where the record has run out, the seat had forfeited or its move does not fit the question,
    there is no answer: a move is never invented, and the seat forfeits.
    """

    def __init__(self, given: Sequence[Given]) -> None:
        seats = {move.seat for move in given}
        self.left = {
            seat: iter([move.action for move in given if move.seat == seat]) for seat in seats
        }

    def answer(self, asked: Asked) -> Thinking:
        """The recorded move, if it fits."""
        action = next(self.left.get(asked.seat, iter(())), None)
        if action is None or asked.ask.refuse(action) is not None:
            return Answer(None, Kind.ILLEGAL)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing


class RecordedSeat(SeatSpec):
    """A seat that repeats the moves of the same place in a recorded match."""

    recorded: str

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Recorded:
        """Who repeats the moves."""
        return Recorded(sources.recording(self.recorded).given)

    def missing(self, game: Game, sources: Sources) -> str | None:
        """Why the match cannot be repeated at this game, where it cannot."""
        try:
            found = sources.recording(self.recorded)
        except ValueError as error:
            return str(error)
        if found.game != game.name:
            return f"match {self.recorded} is one of {found.game}, not {game.name}"
        return None
