"""Who fills a seat, as data: the settings that make a player, and the player they make.

A roster entry in a study file is one of

* ``{strategy: fixed_demand, share: 0.7}``: a scripted strategy with its settings;
* ``{strategies: {bargaining: linear, persuasion: {alice: honest, bob: trusting}}}``: a strategy
  for each game, or for each role or place of it;
* ``{model: openai/gpt-4o, temperature: 1}``: a language model;
* ``{person: terminal}``: a person;
* ``{recorded: MATCH}``: the moves that the same place made in a recorded match.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard

from pydantic import Field, TypeAdapter, model_serializer, model_validator

from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.players.person import Person
from cheaptalk.players.player import Player
from cheaptalk.players.recorded import Recorded
from cheaptalk.players.scripted import Scripted
from cheaptalk.rules import (
    CheaptalkError,
    Decide,
    Game,
    Given,
    Value,
    games,
    strategies,
    strategy_named,
    suggest,
)
from cheaptalk.rules.errors import shown
from cheaptalk.styles import style


class StrategySeat(Value):
    """A seat filled by a scripted strategy; ``settings`` hold every setting, defaults included.

    ``game`` is whose strategy it is: strategies of one name in two games are two players.
    """

    game: str
    strategy: str
    settings: dict[str, Any] = Field(default_factory=dict)

    def decide(self) -> Decide:
        """The strategy with its settings."""
        return strategy_named(self.game, self.strategy).with_settings(**self.settings)


class PersonSeat(Value):
    """A seat filled by a person."""

    person: Literal["terminal"]
    style: str | None = None
    words: str | None = None


class RecordedSeat(Value):
    """A seat that repeats the moves of the same place in a recorded match."""

    recorded: str


class ImportedSeat(Value):
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


SeatSpec: TypeAlias = StrategySeat | ModelSeat | PersonSeat | RecordedSeat | ImportedSeat
"""Everything that makes a player of a seat; equal settings are the same player."""

SEAT_SPECS: TypeAdapter[SeatSpec] = TypeAdapter(SeatSpec)


FORMS: dict[str, type[Value]] = {
    "model": ModelSeat, "person": PersonSeat, "recorded": RecordedSeat,
}  # fmt: skip
"""Entries that make the same player at every game, by the key that tells them."""


class Entry(Value):
    """A roster entry: a player who may sit down at several games."""

    spec: ModelSeat | PersonSeat | RecordedSeat | None = None
    strategy: dict[str, Any] | None = None
    strategies: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValueError("a player is written as a mapping, such as {strategy: equal_split}")
        kinds = [key for key in ("strategy", "strategies", *FORMS) if key in data]
        if len(kinds) > 1:
            raise ValueError(f"{' and '.join(kinds)} do not go together: a player is one of them")
        for key, form in FORMS.items():
            if key in data:
                spec = form.model_validate(dict(data))
                if isinstance(spec, ModelSeat):
                    spec.check()
                return {"spec": spec}
        if "strategy" in data:
            _check_strategy(data)
            return {"strategy": dict(data)}
        if "strategies" in data:
            return {"strategies": _strategies(data)}
        keys = ["strategy", "strategies", *FORMS]
        if data:
            key = str(next(iter(data)))
            if key.partition(":")[0] in keys:
                raise ValueError(f'"{key}" lacks a space behind its colon')
            raise ValueError(f"unknown key {suggest(key, keys)}")
        raise ValueError(f"a player needs one of {', '.join(keys)}")

    @model_serializer
    def written(self) -> dict[str, Any]:
        """The entry as it is written in a study file."""
        if self.spec is not None:
            return self.spec.model_dump(mode="json", exclude_none=True)
        return dict(self.strategy) if self.strategy else {"strategies": self.strategies}

    def named(self, game: str) -> Any:
        """What the entry names for a game: one strategy, or strategies by role or place."""
        return self.strategy if self.strategy is not None else (self.strategies or {}).get(game)

    def parts(self, game: str) -> list[str]:
        """The roles and places of a game that the entry names; none where one strategy plays all.

        >>> Entry(strategies={"persuasion": {"alice": "honest"}}).parts("persuasion")
        ['alice']
        """
        named = self.named(game)
        return list(named) if _by_part(named) else []

    def seat(self, game: Game, place: str) -> SeatSpec | None:
        """What fills this place of this game, or None if this player cannot.

        Strategies are looked up by place, then by role.

        Raises:
            ValueError: an unknown strategy, or a setting that it does not have.
        """
        if self.spec is not None:
            if isinstance(self.spec, ModelSeat):
                return self.spec.at(game)
            if isinstance(self.spec, PersonSeat):
                words = style(game.name, self.spec.style)
                noted = {"style": words.name, "words": words.digest}
                return self.spec.model_copy(update=noted)
            return self.spec
        if self.strategy is not None and self.strategy["strategy"] not in strategies(game.name):
            return None
        named, role = self.named(game.name), game.places[place]
        if _by_part(named):
            named = named.get(place, named.get(role))
        return None if named is None else strategy_seat(game.name, role, named)


def labelled(players: Mapping[Any, Any]) -> dict[str, Any]:
    """Entries under their labels; numbers become text.

    Raises:
        ValueError: a label cannot be read, or is no text to YAML.
    """
    for label in players:
        if not str(label).strip():
            raise ValueError("a player has no name; write LABEL: before its entry")
        if label is None or isinstance(label, bool):
            raise ValueError(f"YAML reads a label as {shown(label)}; put it in quotes")
    return {str(label): entry for label, entry in players.items()}


def _by_part(named: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether strategies are named by role or place."""
    return isinstance(named, Mapping) and "strategy" not in named


def _check_strategy(written: Any) -> None:
    if not isinstance(written, Mapping) or not isinstance(written.get("strategy"), str):
        raise ValueError(
            f"{shown(written)} is no strategy: write its name, or "
            "{strategy: NAME, SETTING: VALUE}"
        )


def _strategies(data: Mapping[str, Any]) -> dict[str, Any]:
    """The strategies of an entry by game, each game a known one."""
    found = data["strategies"]
    if len(data) > 1:
        other = next(key for key in data if key != "strategies")
        raise ValueError(f'"{other}" does not go with strategies: settings stand with a strategy')
    if not isinstance(found, Mapping) or not found:
        raise ValueError(f"strategies: {shown(found)} is no mapping from games to strategies")
    for game in found:
        if game not in games():
            raise ValueError(f"strategies: unknown game {suggest(str(game), list(games()))}")
    return dict(found)


def strategy_seat(game: str, role: str, written: Any) -> StrategySeat | None:
    """A strategy as written (a name, or a mapping with settings), checked and with defaults."""
    data = {"strategy": written} if isinstance(written, str) else written
    _check_strategy(data)
    found = strategy_named(game, data["strategy"])
    if role not in found.roles:
        return None
    chosen = {key: value for key, value in data.items() if key != "strategy"}
    settings = found.settings.model_validate(chosen).model_dump(mode="json")
    return StrategySeat(game=game, strategy=found.name, settings=settings)


def make_player(spec: SeatSpec, game: Game, recorded: Mapping[str, list[Given]]) -> Player:
    """The player that a seat's settings make.

    Args:
        recorded: the answers of recorded matches that seats repeat, by match id.

    Raises:
        CheaptalkError: an imported player, who cannot be asked.
    """
    match spec:
        case StrategySeat():
            return Scripted(spec.decide())
        case ModelSeat():
            return spec.player(game)
        case PersonSeat():
            return Person(game, style(game.name, spec.style))
        case RecordedSeat():
            return Recorded(recorded[spec.recorded])
        case ImportedSeat():
            raise CheaptalkError(
                f"{spec.label} played in a match imported from {spec.imported} and cannot be asked "
                "to play; repeat its moves with {recorded: MATCH}"
            )
