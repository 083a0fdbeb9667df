"""A player that replays recorded moves."""

from collections.abc import Sequence

from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import DecisionRequest, Game, Given


class Recorded:
    """Answers each actor's k-th request with that actor's k-th recorded move.

    If no move is left, the actor had forfeited, or its move does not fit the request, there is no
    answer: a move is never invented, and the actor forfeits.
    """

    def __init__(self, given: Sequence[Given]) -> None:
        actors = {move.actor for move in given}
        self.moves = {
            actor: iter([move.action for move in given if move.actor == actor]) for actor in actors
        }

    def answer(self, request: DecisionRequest) -> Thinking:
        """Return the recorded move, if it fits."""
        action = next(self.moves.get(request.actor, iter(())), None)
        if action is None or request.ask.refuse(action) is not None:
            return Answer(None, Kind.ILLEGAL)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing


class RecordedSeat(SeatSpec):
    """The settings of a player that replays the moves of the same seat in a recorded match."""

    recorded: str

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Recorded:
        """Return the player that replays the moves."""
        return Recorded(sources.recording(self.recorded).given)

    def missing(self, game: Game, sources: Sources) -> str | None:
        """Return why the match cannot be replayed in this game; None if it can."""
        try:
            recording = sources.recording(self.recorded)
        except ValueError as error:
            return str(error)
        if recording.game != game.name:
            return f"match {self.recorded} is one of {recording.game}, not {game.name}"
        return None
