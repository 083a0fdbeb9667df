"""What all files of GAMA hold: settings, rounds and players, each checked."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.papers.gama.importer.names import FileName, is_exacter
from cheaptalk.records.imports.intake import Unfit
from cheaptalk.rules import numbered

FEWEST = 2
"""Players without whom there is no game."""
PERSON = "user"
"""What stands for a model where a person played."""


RecordedAnswer: TypeAlias = tuple[str, Mapping[str, Any], str]
"""Who gave an answer, the action's fields, and where it stands in the file."""


class GamaModel(BaseModel):
    """A part of a file; what is unknown, missing or of another type is refused."""

    model_config = ConfigDict(strict=True, extra="forbid", protected_namespaces=())


class Meta(GamaModel):
    """The settings that all games have."""

    name_exp: str
    player_num: int
    round_id: int
    version: Literal["v1", "v2", "v3", "v4", "v5"]
    models: str | None = Field(default=None, min_length=1)


class GamaMessage(GamaModel):
    """A message of a conversation with a model; from one provider it comes in parts."""

    role: str
    content: str = ""
    parts: list[str] = Field(default_factory=list)

    @property
    def text(self) -> str:
        """What was said."""
        return self.content or "".join(self.parts)


T = TypeVar("T")


class GamaPlayer(GamaModel, Generic[T]):
    """A player, who made choices of type T."""

    model: str | None = Field(default=None, min_length=1)
    id: str
    prompt: list[GamaMessage]
    records: list[T]
    utility: list[float]


def is_special(model: str) -> bool:
    """Whether a model's name stands for a person, or for answers that are given beforehand."""
    return model == PERSON or model.startswith("specified")


S = TypeVar("S", bound=Meta)
R = TypeVar("R", bound=GamaModel)
P = TypeVar("P", bound=GamaPlayer[Any])


class GamaFile(GamaModel, Generic[S, R, P]):
    """A recorded game: a file of one kind, by its settings, its rounds and its players."""

    game: ClassVar[str]
    """What we call the game."""

    meta: S
    round_records: list[R]
    player_data: list[P]

    @property
    def places(self) -> list[str]:
        """Our names of the players: GAMA's player_0 is player_1."""
        return list(numbered("player", len(self.player_data)))

    @classmethod
    def told_elsewhere(cls, name: FileName, folder: str) -> dict[str, Any]:
        """The settings that a file may lack, as far as its name or its folder tells them."""
        return {}

    def models(self, named: str | None) -> list[str]:
        """The players' models as they are recorded.

        The name in the settings counts before a player's own, unless this is more exact or no
        model; the file's name where neither is there.

        Args:
            named: the model in the file's name.

        Raises:
            Unfit: a model stands nowhere.
        """
        found = []
        for number, player in enumerate(self.player_data):
            own, model = player.model, self.meta.models
            if own and (model is None or is_special(own) or is_exacter(own, model)):
                model = own
            if model is None and named is None:
                raise Unfit(f'"player_data.{number}.model": is missing, and no name tells it')
            found.append(model or str(named))
        return found

    def other_models(self) -> Iterator[tuple[str, str]]:
        """Models that the settings and a player name apart: that which counts, and the other."""
        of_all = self.meta.models
        for player in self.player_data:
            own = player.model
            if own is None or of_all is None or is_special(own):
                continue
            short = [name.rpartition("/")[2] or name for name in (of_all, own)]
            if short[0] != short[1] and not is_exacter(*short) and not is_exacter(*short[::-1]):
                yield of_all, own

    def check(self) -> None:
        """See that the parts of the file agree with each other.

        Raises:
            Unfit: they do not.
        """
        if not self.round_records:
            raise Unfit('"round_records": is empty')
        if len(self.player_data) < FEWEST:
            raise Unfit(f'"player_data": holds fewer than {FEWEST} players')
        agree("player_data", f"{len(self.player_data)} players", f"{self.meta.player_num} players")
        for number, player in enumerate(self.player_data):
            agree(f"player_data.{number}.id", player.id, f"player_{number}")

    def place(self, id_: str, field: str) -> str:
        """Our name of a player.

        Args:
            id_: what GAMA calls it, its number or ``player_`` and its number.
            field: where that stands, for the error.

        Raises:
            Unfit: there is no such player.
        """
        number = id_.removeprefix("player_")
        if number not in map(str, range(len(self.player_data))):
            raise Unfit(f'"{field}": there is no player "{id_}"')
        return self.places[int(number)]

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters of our game."""

    def deal(self) -> dict[str, Any]:
        """What nature decided."""
        return {}

    @abstractmethod
    def answers(self) -> Iterator[RecordedAnswer]:
        """The answers, in the order of the questions."""

    def unused(self) -> dict[str, Any]:
        """What our record has no other place for, settings and prompts aside."""
        return {}

    def notes(self) -> Iterable[str]:
        """What was read otherwise than it is written, each time that it was."""
        return ()


def agree(field: str, found: object, expected: object) -> None:
    """See that a field holds what the rest of the file demands.

    Raises:
        Unfit: it does not.
    """
    if found != expected:
        raise Unfit(f'"{field}": is {found}; by the rest of the file {expected}')
