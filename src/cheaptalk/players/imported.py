"""Players of matches that another system played."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cheaptalk.players.protocol import Player
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import CheaptalkError, Game


class ImportedSeat(SeatSpec):
    """A seat in a match that another system played: whoever sat there cannot be asked to play.

    Attributes:
        imported: the system, such as ``glee``.
        model: the language model's short name, if one played.
        person: true if a person played.
    """

    imported: str
    model: Annotated[str, Field(min_length=1)] | None = None
    person: Literal[True] | None = None

    @model_validator(mode="after")
    def _is_somebody(self) -> "ImportedSeat":
        if (self.model is None) == (self.person is None):
            raise ValueError("an imported player is either a model or a person")
        return self

    @property
    def label(self) -> str:
        """What studies call the player."""
        return self.model or "human"

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Player:
        """Nobody.

        Raises:
            CheaptalkError: always.
        """
        raise CheaptalkError(
            f"{self.label} played in a match imported from {self.imported} and cannot be asked "
            "to play; repeat its moves with {recorded: MATCH}"
        )
