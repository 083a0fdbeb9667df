"""Validated contents of a GAMA file: settings, rounds and players."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.papers.gama.importer.names import FileName, is_exacter
from cheaptalk.records.imports.importing import Unfit
from cheaptalk.rules import numbered

MIN_PLAYERS = 2
"""The minimum number of players of a game."""
PERSON = "user"
"""The name that is recorded for a person instead of a model."""


RecordedAnswer: TypeAlias = tuple[str, Mapping[str, Any], str]
"""The seat, the fields of the action, and the location in the file."""


class GamaModel(BaseModel):
    """A part of a GAMA file; raises an error for missing fields, unknown fields and wrong types."""

    model_config = ConfigDict(strict=True, extra="forbid", protected_namespaces=())


class Meta(GamaModel):
    """Settings in the files of all games."""

    name_exp: str
    player_num: int
    round_id: int
    version: Literal["v1", "v2", "v3", "v4", "v5"]
    models: str | None = Field(default=None, min_length=1)


class GamaMessage(GamaModel):
    """A message of a conversation with a model, possibly split into parts."""

    role: str
    content: str = ""
    parts: list[str] = Field(default_factory=list)

    @property
    def text(self) -> str:
        return self.content or "".join(self.parts)


T = TypeVar("T")


class GamaPlayer(GamaModel, Generic[T]):
    """A recorded player whose choices have type ``T``."""

    model: str | None = Field(default=None, min_length=1)
    id: str
    prompt: list[GamaMessage]
    records: list[T]
    utility: list[float]


def is_special(model: str) -> bool:
    """Return whether a model name denotes a person or predefined answers instead of a model."""
    return model == PERSON or model.startswith("specified")


S = TypeVar("S", bound=Meta)
R = TypeVar("R", bound=GamaModel)
P = TypeVar("P", bound=GamaPlayer[Any])


class GamaFile(GamaModel, Generic[S, R, P]):
    """A recorded game, with its settings, rounds and players."""

    game: ClassVar[str]
    """The name of the game in cheaptalk."""

    meta: S
    round_records: list[R]
    player_data: list[P]

    @property
    def seats(self) -> list[str]:
        """Names of the players' seats, numbered from 1 (GAMA numbers players from 0)."""
        return list(numbered("player", len(self.player_data)))

    @classmethod
    def inferred_settings(cls, name: FileName, folder: str) -> dict[str, Any]:
        """Return settings that the file lacks but that its name or folder contains."""
        return {}

    def models(self, named: str | None) -> list[str]:
        """Return the players' recorded models, or that in the file name, ``named``.

        A player's model takes precedence over that of the settings if it is more exact, or not a
        model.
        """
        recorded = []
        for number, player in enumerate(self.player_data):
            own, model = player.model, self.meta.models
            if own and (model is None or is_special(own) or is_exacter(own, model)):
                model = own
            if model is None and named is None:
                raise Unfit(
                    f'"player_data.{number}.model": missing here, in the settings and in the '
                    "file name"
                )
            recorded.append(model or str(named))
        return recorded

    def other_models(self) -> Iterator[tuple[str, str]]:
        """Yield each contradictory pair of model names: that of the settings and the player's."""
        of_all = self.meta.models
        for player in self.player_data:
            own = player.model
            if own is None or of_all is None or is_special(own):
                continue
            short = [name.rpartition("/")[2] or name for name in (of_all, own)]
            if short[0] != short[1] and not is_exacter(*short) and not is_exacter(*short[::-1]):
                yield of_all, own

    def check(self) -> None:
        """Raise Unfit if parts of the file contradict each other."""
        if not self.round_records:
            raise Unfit('"round_records": must not be empty')
        if len(self.player_data) < MIN_PLAYERS:
            raise Unfit(f'"player_data": must contain at least {MIN_PLAYERS} players')
        agree("player_data", f"{len(self.player_data)} players", f"{self.meta.player_num} players")
        for number, player in enumerate(self.player_data):
            agree(f"player_data.{number}.id", player.id, f"player_{number}")

    def seat_of(self, id_: str, field: str) -> str:
        """Return the seat of a player, given as ``NUMBER`` or ``player_NUMBER``."""
        number = id_.removeprefix("player_")
        if number not in map(str, range(len(self.player_data))):
            raise Unfit(f'"{field}": there is no player "{id_}"')
        return self.seats[int(number)]

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the game in cheaptalk."""

    def instance(self) -> dict[str, Any]:
        return {}

    @abstractmethod
    def answers(self) -> Iterator[RecordedAnswer]:
        """Yield the answers, in the order of the requests."""

    def unused(self) -> dict[str, Any]:
        """Return recorded data for which the match record has no field."""
        return {}

    def notes(self) -> Iterable[str]:
        """Return a note for each converted value."""
        return ()


def agree(field: str, value: object, expected: object) -> None:
    """Raise Unfit if a field doesn't have the value that the rest of the file implies."""
    if value != expected:
        raise Unfit(f'"{field}": is {value}; expected {expected} from the rest of the file')
