"""Players that replay recorded moves."""

from collections.abc import Sequence

from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import DecisionRequest, Game, Given


class Recorded:
    """A player that answers each actor's k-th request with that actor's k-th recorded move.

    The actor forfeits if no recorded move remains, or the recorded move is not legal here.
    """

    def __init__(self, given: Sequence[Given]) -> None:
        actors = {move.actor for move in given}
        self.moves = {
            actor: iter([move.action for move in given if move.actor == actor]) for actor in actors
        }

    def answer(self, request: DecisionRequest) -> Thinking:
        action = next(self.moves.get(request.actor, iter(())), None)
        if action is None or request.ask.refuse(action) is not None:
            return Answer(None, Kind.ILLEGAL)
        return Answer(action, Kind.OK)
        yield  # a generator that yields nothing


class RecordedSeat(SeatSpec):
    """The settings of a player that replays the moves of the same seat in a recorded match."""

    recorded: str

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Recorded:
        return Recorded(sources.recording(self.recorded).given)

    def missing(self, game: Game, sources: Sources) -> str | None:
        try:
            recording = sources.recording(self.recorded)
        except ValueError as error:
            return str(error)
        if recording.game != game.name:
            return f"match {self.recorded} was played in {recording.game}, not in {game.name}"
        return None
