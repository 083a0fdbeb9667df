"""Players of matches that another system played."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from cheaptalk.players.protocol import Player
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import CheaptalkError, Game
from cheaptalk.text import plain


class ImportedSeat(SeatSpec):
    """A seat in a match that another system played: whoever sat there cannot be asked to play.

    Attributes:
        imported: the system, such as ``glee``.
        model: the language model's short name, if one played.
        person: true if a person played.
        treatment: the settings in which the other system varied the player, by name, such as
            ``{"temperature": 0.2}``; empty for those that it played by default. Equal models with
            other treatments are other players.
    """

    imported: str
    model: Annotated[str, Field(min_length=1)] | None = None
    person: Literal[True] | None = None
    treatment: dict[str, str | float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_somebody(self) -> "ImportedSeat":
        if (self.model is None) == (self.person is None):
            raise ValueError("an imported player is either a model or a person")
        return self

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a treatment where there is none, as before there were any."""
        written: dict[str, Any] = handler(self)
        return {name: value for name, value in written.items() if value or name != "treatment"}

    def __hash__(self) -> int:
        return hash((self.imported, self.model, self.person, *sorted(self.treatment.items())))

    @property
    def label(self) -> str:
        """What studies call the player."""
        told = ", ".join(f"{plain(name)} {value}" for name, value in self.treatment.items())
        return (self.model or "human") + (f" ({told})" if told else "")

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        """Nobody.

        Raises:
            CheaptalkError: always.
        """
        raise CheaptalkError(
            f"{self.label} played in a match imported from {self.imported} and cannot be asked "
            "to play; repeat its moves with {recorded: MATCH}"
        )
