"""Imported players, whose matches were played in another system."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from cheaptalk.players.protocol import Player
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import CheaptalkError, Game
from cheaptalk.text import plain


class ImportedSeat(SeatSpec):
    """A player in a match that was played in another system; it can't play further matches.

    Attributes:
        imported: the system, such as ``glee``.
        model: the language model's short name, if the player was a model.
        person: True if the player was a person.
        treatment: settings that the other system varied, by name, such as ``{"temperature": 0.2}``;
            empty for the system's defaults. Treatments distinguish players with equal models.
    """

    imported: str
    model: Annotated[str, Field(min_length=1)] | None = None
    person: Literal[True] | None = None
    treatment: dict[str, str | float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_model_or_person(self) -> "ImportedSeat":
        if (self.model is None) == (self.person is None):
            raise ValueError("an imported player needs either model or person")
        return self

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        return {name: value for name, value in data.items() if value or name != "treatment"}

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
