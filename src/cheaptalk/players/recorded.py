"""Players of recorded matches: replays, and players of matches imported from other systems."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from cheaptalk.players.protocol import Answer, Kind, Player, Thinking
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import CheaptalkError, DecisionRequest, Game, Given
from cheaptalk.text import plain


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


class ImportedSeat(SeatSpec):
    """A player in a match that was played in another system; it can't play further matches.

    Attributes:
        imported: the system, such as ``glee``.
        model: the language model's short name, if the player was a model.
        person: True if the player was a person.
        treatment: settings that the other system varied, by name, such as ``{"temperature": 0.2}``;
            empty for the system's defaults. Treatments distinguish players with equal models.
    """

    optional: ClassVar[frozenset[str]] = frozenset({"treatment"})

    imported: str
    model: Annotated[str, Field(min_length=1)] | None = None
    person: Literal[True] | None = None
    treatment: dict[str, str | float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_model_or_person(self) -> "ImportedSeat":
        if (self.model is None) == (self.person is None):
            raise ValueError("an imported player needs either model or person")
        return self

    def __hash__(self) -> int:
        return hash((self.imported, self.model, self.person, *sorted(self.treatment.items())))

    @property
    def label(self) -> str:
        settings = ", ".join(f"{plain(name)} {value}" for name, value in self.treatment.items())
        return (self.model or "human") + (f" ({settings})" if settings else "")

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        raise CheaptalkError(
            f"{self.label} played in a match imported from {self.imported} and cannot play again; "
            "replay its moves with {recorded: MATCH}"
        )
