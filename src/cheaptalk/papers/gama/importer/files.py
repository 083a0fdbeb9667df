"""Names of GAMA's files, and their validated contents: settings, rounds and players.

A file name is ``[MODEL_]GAME[_MODE][_VERSION][_TAG].json``. Numeric tags number the default runs.
Other tags identify the paper's experiments (section 4), with temperature, phrase or persona.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cheaptalk.records.imports.importing import ImportFailed
from cheaptalk.rules import numbered_seats

ALIASES = {"gpt-3.5-turbo": "gpt-3.5-turbo-0125", "gpt-4o": "gpt-4o-2024-08-06"}
"""The versions that the paper used (sections 3 and 4.4), for files without a version."""
Treatment = dict[str, str | float]
TAGS: dict[str, Treatment] = {
    **{f"t{number}": {"temperature": number / 5} for number in range(6)},
    "cot1": {"chain_of_thought": "step_by_step"},
    **{f"cot{number}": {"chain_of_thought": f"phrase_{number}"} for number in range(2, 6)},
    "role1": {"persona": "cooperative"},
    "role2": {"persona": "selfish"},
    "role3": {"persona": "mathematician"},
}
"""The treatments of Tables 5 and 7."""
JAILBREAK = "jailbreak"
"""The prefix of tags of the runs in appendix H."""
SETTINGS = {
    "guessing_game": "r",
    "bar_game": "r",
    "divide_dollar": "g",
    "public_goods": "r",
    "diner_dilemma": "p",
    "sealed_bid_auction": "vr",
    "battle_royale": "h",
    "pirate_game": "g",
}
"""GAMA's names of games, each with the prefix of tags of the settings in Table 8."""
_NAME = re.compile(
    rf"(?:(?P<model>.+?)[_-])?(?P<game>{'|'.join(SETTINGS)})"
    r"(?:_(?P<mode>implicit|explicit))?(?:_(?P<version>v\d))?(?:_(?P<tag>.+))?"
)
VERSION = re.compile(r"-\d{4}$")
"""The digits that distinguish a model's versions."""


class FileName(NamedTuple):
    """The parts of a file name; missing parts are None.

    ``mode`` is the feedback of the bar, ``version`` that of the prompts, and ``tag`` the run or the
    experiment.
    """

    model: str | None = None
    game: str | None = None
    mode: str | None = None
    version: str | None = None
    tag: str | None = None

    @classmethod
    def of(cls, name: str, inner: str = "") -> "FileName":
        """Parse a file name; if the game or model is missing, use ``meta.name_exp`` (``inner``)."""
        outer, within = (
            cls(**match.groupdict()) if (match := _NAME.fullmatch(text)) else cls()
            for text in (name, inner)
        )
        if outer.game is None:
            return within._replace(version=None)
        return outer._replace(model=outer.model or within.model)

    def treatment(self, version: str) -> Treatment:
        """Return the players' settings that differ from the paper's defaults.

        A file name with a version of the prompts but without a run is the default run in Table 6.
        """
        settings: Treatment = {}
        if version != "v1" or (self.version and self.tag is None):
            settings["style"] = version
        if self.tag and self.game and not re.fullmatch(r"[0-9]+", self.tag):
            kind = self.tag.rstrip("0123456789")
            number = self.tag.removeprefix(kind)
            if self.tag in TAGS:
                settings |= TAGS[self.tag]
            elif number and kind in (SETTINGS[self.game], JAILBREAK):
                settings["experiment"] = JAILBREAK if kind == JAILBREAK else "settings"
            else:
                settings["experiment"] = self.tag
        return settings


def exact_model(recorded: str, named: str | None, aliases: Mapping[str, str]) -> str:
    """Return a model's short name with its version, preferably as in the file name.

    >>> exact_model("openai/gpt-4", "gpt-4-0125-preview", {})
    'gpt-4-0125-preview'
    >>> exact_model("gpt-4o", None, ALIASES)
    'gpt-4o-2024-08-06'
    """
    short = recorded.rpartition("/")[2] or recorded
    if named and is_exacter(named, short):
        short = named
    return aliases.get(short, short)


def is_exacter(name: str, other: str) -> bool:
    """Return whether a model name differs from another only by an added or changed version.

    >>> is_exacter("gpt-4-0613", "gpt-4"), is_exacter("gpt-4-0613", "gpt-4-0125")
    (True, True)
    >>> is_exacter("gpt-4", "gpt-4-0125"), is_exacter("gpt-4o", "gpt-4")
    (False, False)
    """
    base = VERSION.sub("", other)
    return name.startswith(f"{base}-") and (base == other or VERSION.search(name) is not None)


MIN_PLAYERS = 2
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

    meta: S
    round_records: list[R]
    player_data: list[P]

    @property
    def seats(self) -> list[str]:
        """Names of the players' seats, numbered from 1 (GAMA numbers players from 0)."""
        return list(numbered_seats("player", len(self.player_data)))

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
                raise ImportFailed(
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
        """Raise ImportFailed if parts of the file contradict each other."""
        if not self.round_records:
            raise ImportFailed('"round_records": must not be empty')
        if len(self.player_data) < MIN_PLAYERS:
            raise ImportFailed(f'"player_data": must contain at least {MIN_PLAYERS} players')
        agree("player_data", f"{len(self.player_data)} players", f"{self.meta.player_num} players")
        for number, player in enumerate(self.player_data):
            agree(f"player_data.{number}.id", player.id, f"player_{number}")

    def seat_of(self, id_: str, field: str) -> str:
        """Return the seat of a player, given as ``NUMBER`` or ``player_NUMBER``."""
        number = id_.removeprefix("player_")
        if number not in map(str, range(len(self.player_data))):
            raise ImportFailed(f'"{field}": there is no player "{id_}"')
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
    """Raise ImportFailed if a field doesn't have the value that the rest of the file implies."""
    if value != expected:
        raise ImportFailed(f'"{field}": is {value}; expected {expected} from the rest of the file')
