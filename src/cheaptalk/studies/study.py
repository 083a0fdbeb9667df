"""The study file: which games, which players, who meets whom, on which deals.

Rosters and settings that models share join the listed players when the file is read.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from cheaptalk.calls.budget import Budget
from cheaptalk.players import ModelSeat, RosterEntry
from cheaptalk.players.rosters import chosen
from cheaptalk.players.seats import entry_of, labelled
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.rules import CheaptalkError, Game, UnknownName, Value, counted, game_box, suggest
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import first_problem, shown
from cheaptalk.studies.factors import (
    FactorTable,
    check_factors,
    cross_pairing,
    cross_players,
    crossing_advice,
    with_crossed,
)
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.yaml_files import read_yaml as read_file


def joined(data: Mapping[str, Any]) -> dict[str, Any]:
    """A study as written, its rosters' players among the others and the models' settings theirs.

    A listed player goes before one of a roster with its label, and a player's own setting before
    one of all models.

    Raises:
        ValueError: there is no such roster or setting, or a model does not take a setting; the
            message begins with the key.
    """
    study = dict(data)
    rosters = study.pop("roster", None)
    listed = study.get("players", {} if rosters else None)
    if not isinstance(listed, Mapping):
        return study
    players = dict(listed)
    for label, entry in _of_rosters(rosters or []).items():
        players.setdefault(label, entry)
    crossing = cross_players(players)
    players = crossing.players
    if crossing.cells:
        study["factors"] = with_crossed(study.get("factors") or {}, crossing.factors)
        study["pairing"] = cross_pairing(study.get("pairing", "all"), crossing.cells)
        study["games"] = [_with_cells(grid, crossing.cells) for grid in study.get("games") or []]
    shared = study.get("models") or {}
    _check_shared(shared)
    study["players"] = {label: _with(shared, entry_of(entry)) for label, entry in players.items()}
    return study


def _with_cells(grid: Any, cells: Mapping[str, Sequence[str]]) -> Any:
    """A game whose own pairing seats the players that crossing made."""
    if isinstance(grid, GameGrid):
        grid = grid.model_dump(mode="json", exclude_defaults=True)
    if not isinstance(grid, Mapping) or "pairing" not in grid:
        return grid
    return {**grid, "pairing": cross_pairing(grid["pairing"], cells)}


def _of_rosters(written: object) -> dict[Any, Any]:
    names = [written] if isinstance(written, str) else written
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"roster: {shown(written)} is no roster: write its name, such as glee or "
            "glee:gpt-4o,o3-mini, or a list of names"
        )
    found: dict[Any, Any] = {}
    for name in names:
        try:
            players = chosen(name)
        except (UnknownName, ValueError) as error:
            raise ValueError(f"roster: {error}") from None
        twice = sorted(found.keys() & players.keys())
        if twice:
            raise ValueError(
                f'roster: "{twice[0]}" stands on two rosters; list it as a player instead, under '
                "another label"
            )
        found |= players
    return found


def _check_shared(shared: object) -> None:
    if not isinstance(shared, Mapping):
        raise ValueError(
            f"models: {shown(shared)} are no settings: write them as a mapping, such as "
            "{temperature: 1}"
        )
    known = [name for name in ModelSeat.model_fields if name not in ("model", "words")]
    for key in shared:
        if key not in known:
            raise ValueError(f"models: unknown key {suggest(str(key), known)}")


def _with(shared: Mapping[str, Any], entry: object) -> object:
    """An entry with what all models share and it does not set itself.

    Raises:
        ValueError: its model does not take that; the message begins with the shared key.
    """
    if not (isinstance(entry, Mapping) and "model" in entry):
        return entry
    whole = {**shared, **entry}
    problem = _problem(whole)
    for key in shared.keys() - entry.keys() if problem else ():
        if _problem({name: value for name, value in whole.items() if name != key}) != problem:
            if problem.startswith(key):
                raise ValueError(f"models.{problem}")
            only = "what only some models take stands with their players"
            raise ValueError(f"models.{key}: {problem}; {only}")
    return whole


def _problem(entry: Mapping[str, Any]) -> str:
    """What is wrong with a model's settings; empty where nothing is."""
    try:
        ModelSeat.model_validate(entry).check()
    except ValidationError as error:
        return first_problem(error)
    except ValueError as error:
        return str(error)
    return ""


class StudyError(CheaptalkError):
    """A study that cannot be played as written: one line that names file, key, value and cure."""


FILES = (".yaml", ".yml", ".json")
"""How the names of study files end."""
LARGEST = 1_000_000_000
"""Matches that a study may have: more than anybody can play or store."""
MOST_CONFIGURATIONS = 100_000
"""Configurations of a game, which are held in memory."""
MOST_SEATINGS = 5_000_000
"""Seatings that a game may have, which are listed in memory."""

Count: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST)]
Listed: TypeAlias = list[str] | dict[str, int]
"""A seating as written: labels in order of places, or how many places in a row each label takes."""
Pairing: TypeAlias = Literal["all", "self"] | list[Listed]
"""Every seating of the roster, each player with itself, or the seatings listed."""


def read_name(data: Any) -> str:
    """Refuse what is no name of a study, saying what is one."""
    if isinstance(data, int | float | date):
        raise ValueError(f"{data} is no text to YAML; put it in quotes")
    pattern = r"(?!-)(?!\.{1,2}\Z)[\w.-]{1,80}"
    if not isinstance(data, str) or not re.fullmatch(pattern, data):
        raise ValueError(
            f"{shown(data)} is no name: write up to 80 letters, digits, dots, dashes and "
            "underscores, a dash not first, and not only . or .."
        )
    return data


def read_pairing(data: Any) -> Any:
    """Refuse what is no pairing, saying what is one."""
    if data in ("all", "self"):
        return data
    listed = isinstance(data, list | tuple) and all(
        isinstance(row, list | tuple | Mapping) for row in data
    )
    if not data or not listed:
        raise ValueError(
            f"{shown(data)} is no pairing: write all, self, a list of seatings such as "
            "[[LABEL, LABEL]] or [{LABEL: 9, LABEL: 1}], or {sample: N}"
        )
    return [_read_seating(row) for row in data]


def _read_seating(row: Sequence[Any] | Mapping[Any, Any]) -> Listed:
    if not isinstance(row, Mapping):
        return [str(label) for label in row]
    for label, count in row.items():
        if type(count) is not int or count < 1:
            raise ValueError(
                f"{shown(count)} is no number of places for {label}: write a whole number from 1 on"
            )
    return {str(label): count for label, count in row.items()}


def seating_text(listed: Listed) -> str:
    """A listed seating as it is written in a study file.

    >>> seating_text(["fair", "firm"]), seating_text({"free_rider": 1, "gpt": 9})
    ('[fair, firm]', '{free_rider: 1, gpt: 9}')
    """
    if isinstance(listed, list):
        return f"[{', '.join(listed)}]"
    return f"{{{', '.join(f'{label}: {count}' for label, count in listed.items())}}}"


class GameGrid(Value):
    """A game over a grid of its parameters.

    Attributes:
        game: its name.
        fixed: parameters that all its configurations share.
        cases: sets of parameters, each played with all combinations of the grid.
        grid: values for each parameter that varies; all combinations are played.
        pairing, deals: for this game, instead of the study's.
    """

    game: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    cases: Annotated[list[dict[str, Any]], Field(min_length=1)] = [{}]  # noqa: RUF012 - frozen
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)

    pairing: Pairing | None = None
    deals: Count | None = None

    @field_validator("pairing", mode="before")
    @classmethod
    def _pairing_form(cls, data: Any) -> Any:
        return data if data is None else read_pairing(data)

    @model_validator(mode="before")
    @classmethod
    def _is_written(cls, data: Any) -> Any:
        if isinstance(data, str):
            raise ValueError(f"write {{game: {data}}}, not {shown(data)}")
        return data

    @model_validator(mode="after")
    def _is_legal(self) -> "GameGrid":
        listed = [*self.fixed, *self.grid, *{key for case in self.cases for key in case}]
        twice = [key for key, count in Counter(listed).items() if count > 1]
        if twice:
            raise ValueError(f'"{twice[0]}" stands in more than one of fixed, cases and grid')
        size = len(self.cases) * prod(map(len, self.grid.values()))
        if size > MOST_CONFIGURATIONS:
            raise ValueError(
                f"the grid has {size:,} configurations, more than {MOST_CONFIGURATIONS:,}; "
                "leave values out, or write several studies"
            )
        self.configurations()
        return self

    def configurations(self) -> list[Game]:
        """The games of the grid, in its order."""
        return list(self._games)

    @cached_property
    def _games(self) -> tuple[Game, ...]:
        try:
            rules = game_box(self.game).rules
        except UnknownName as error:
            raise ValueError(str(error)) from None
        made = []
        for case, *values in product(self.cases, *self.grid.values()):
            parameters = self.fixed | case | dict(zip(self.grid, values, strict=True))
            try:
                made.append(rules.model_validate(parameters))
            except ValidationError as error:
                raise ValueError(f"{self.game}: {first_problem(error)}") from None
        return tuple(made)


class Sample(Value):
    """So many matches drawn at random, spread evenly over the configurations."""

    sample: Count


class Study(Value):
    """A study: games x deals x seatings x repeats.

    Attributes:
        name: what the store calls it.
        description: for people.
        seed: of all its deals and of its scripted players' luck.
        games: the games, each over a grid.
        deals_from: take configurations and deals from this earlier study instead.
        players: who plays, by label.
        roster: rosters whose players join, as in ``glee`` or ``[gama, mine.yaml:a,b]``; once read,
            they stand among the players.
        models: settings of every model among the players that does not set them itself.
        factors: the level of each factor, by player and factor. Players written with ``cross`` (see
            :mod:`cheaptalk.studies.factors`) add theirs; give other players theirs here.
        pairing: ``all`` (every seating of the roster), ``self`` (each with itself), a list of
            seatings, or ``{sample: N}``. A listed seating holds labels in the order of the
            game's places, or maps labels to how many places in a row they take.
        swap: also play each listed seating with everyone moved on by one place, two places and
            so on: two players change places.
        deals: deals of each configuration, shared by all seatings.
        repeats: matches of each seating on each deal.
        budget: what it may spend.
        unanswered: what becomes of matches in which a player finally gave no valid answer.
        people: how participants come to it, what they go through and are paid; None where people
            play without that, or nobody does.

    Raises:
        StudyError: it is not legal; the message begins with the key.
    """

    name: str
    description: str = ""
    seed: int = 0
    games: list[GameGrid] = Field(default_factory=list)
    deals_from: str | None = None
    players: dict[str, RosterEntry]
    roster: list[str] = Field(default_factory=list, exclude=True)
    models: dict[str, Any] = Field(default_factory=dict)
    factors: FactorTable = Field(default_factory=dict)
    pairing: Pairing | Sample = "all"
    swap: bool = False
    deals: Count = 1
    repeats: Count = 1
    budget: Budget = Budget()
    unanswered: Unanswered = Unanswered()
    people: Protocol | None = None

    if TYPE_CHECKING:  # entries may be written as in a file, too, and become what is kept

        def __init__(
            self,
            *,
            name: str,
            description: str = "",
            seed: int = 0,
            games: Sequence[GameGrid | Mapping[str, Any]] = (),
            deals_from: str | None = None,
            players: Mapping[str, RosterEntry | Mapping[str, Any] | str | None] = ...,
            roster: Sequence[str] = (),
            models: Mapping[str, Any] = ...,
            factors: Mapping[str, Mapping[str, str]] = ...,
            pairing: (
                Literal["all", "self"]
                | Sequence[Sequence[str] | Mapping[str, int]]
                | Sample
                | Mapping[str, int]
            ) = "all",
            swap: bool = False,
            deals: int = 1,
            repeats: int = 1,
            budget: Budget | Mapping[str, Any] = ...,
            unanswered: Unanswered | Mapping[str, Any] = ...,
            people: Protocol | Mapping[str, Any] | None = None,
        ) -> None: ...

    @model_serializer(mode="wrap")
    def _without_nobody(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A study without participants and factors is written as it always was."""
        data: dict[str, Any] = whole(self)
        empty: dict[str, Any] = {"people": None, "factors": {}}
        return {
            key: value for key, value in data.items() if key not in empty or value != empty[key]
        }

    @model_validator(mode="before")
    @classmethod
    def _joined(cls, data: Any) -> Any:
        return joined(data) if isinstance(data, Mapping) else data

    @field_validator("name", mode="before")
    @classmethod
    def _is_name(cls, data: Any) -> Any:
        return read_name(data)

    @field_validator("players", mode="before")
    @classmethod
    def _entries(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not data:
            raise ValueError("write each player as LABEL: {strategy: NAME} or another entry")
        return labelled(data)

    @field_validator("pairing", mode="before")
    @classmethod
    def _pairing_form(cls, data: Any) -> Any:
        return Sample.model_validate(data) if isinstance(data, Mapping) else read_pairing(data)

    @model_validator(mode="after")
    def _has_games(self) -> "Study":
        if bool(self.games) == bool(self.deals_from):
            raise ValueError("a study needs either games or deals_from")
        if self.deals_from == self.name:
            raise ValueError(
                f'deals_from: "{self.name}" is this study itself; give it another name'
            )
        if self.deals_from and self.unanswered.redeal:
            raise ValueError(
                "unanswered: redeal does not go with deals_from, which has no fresh deals; "
                "write drop"
            )
        pairings = [self.pairing, *(grid.pairing for grid in self.games)]
        if self.swap and not any(isinstance(one, list) for one in pairings):
            raise ValueError("swap goes with a list of seatings; other pairings play both ways")
        return self

    @model_validator(mode="after")
    def _has_known_players(self) -> "Study":
        names = list(dict.fromkeys(grid.game for grid in self.games))
        check_factors(self.factors, self.players)
        for label, entry in self.players.items():
            if names and not entry.form.is_known(names):
                raise ValueError(f"players.{label}: {entry.form.why_idle(names)}")
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _told_plainly(cls, data: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(data)
        except ValidationError as error:
            problem = first_problem(error)
            players = data.get("players") if isinstance(data, Mapping) else None
            raise StudyError(problem + crossing_advice(players, problem)) from None

    def __repr__(self) -> str:
        games, players = counted(len(self.games), "game"), counted(len(self.players), "player")
        return brief(self, f"{self.name}, {games}, {players}")

    def written(self) -> dict[str, Any]:
        """The study as plain data, complete."""
        return self.model_dump(mode="json")


def load_study(source: Path | str) -> Study:
    """Read a study file.

    Raises:
        StudyError: it cannot be read, or is not legal.
    """
    return parse_study(read_yaml(Path(source)), str(source))


def read_yaml(source: Path) -> object:
    """What a YAML file holds.

    Raises:
        StudyError: it cannot be read, or is no YAML; the message begins with the source.
    """
    try:
        return read_file(source)
    except ValueError as error:
        raise StudyError(str(error)) from None


def parse_study(data: object, source: str) -> Study:
    """Make a study of plain data.

    Raises:
        StudyError: it is not legal; the message begins with the source.
    """
    if not isinstance(data, Mapping):
        raise StudyError(f"{source}: a study file is a mapping with a name, games and players")
    try:
        return Study.model_validate(dict(data))
    except StudyError as error:
        raise StudyError(f"{source}: {error}") from None
