"""Study files: games, players, pairings and instances.

Rosters and shared model settings are merged into the players when the file is read, and models are
replaced.
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
from cheaptalk.players.seats import PlayerLike, entry_of, labelled
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.records.store.lookup import FILES as FILES
from cheaptalk.rules import CheaptalkError, Game, UnknownName, Value, counted, get_game, suggest
from cheaptalk.rules.errors import LocatedError, Location, Problem, problems_in, shown
from cheaptalk.studies.factors import (
    FactorTable,
    check_factors,
    cross_pairing,
    cross_players,
    crossing_advice,
    with_crossed,
)
from cheaptalk.studies.people.page_texts.files import with_files
from cheaptalk.studies.people.page_texts.texts import ADJUSTABLE
from cheaptalk.studies.people.pay import check_bonuses, participant_cents
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.replacements import REPLACE, Replaced, replace_models
from cheaptalk.styles.template_files import with_texts, without_texts
from cheaptalk.text import plain, readable
from cheaptalk.yaml_files import read_yaml as read_file


def joined(data: Mapping[str, Any]) -> dict[str, Any]:
    """Merge rosters and shared model settings into the players of a study, and replace models.

    A listed player has precedence over a roster's player with the same label. The settings of a
    player have precedence over shared settings.
    """
    study = dict(data)
    rosters, replacements = study.pop("roster", None), study.pop(REPLACE, None)
    listed = study.get("players", {} if rosters else None)
    if not isinstance(listed, Mapping):
        return study
    players = dict(listed)
    for label, entry in _players_of_rosters(rosters or []).items():
        players.setdefault(label, entry)
    crossing = cross_players(players)
    players = crossing.players
    if crossing.cells:
        study["factors"] = with_crossed(study.get("factors") or {}, crossing.factors)
        study |= _relabelled(study, crossing.cells)
    players = {label: entry_of(entry) for label, entry in players.items()}
    if replacements:
        factors = study.get("factors")
        levels = factors if isinstance(factors, Mapping) else {}
        replaced = replace_models(players, levels, replacements)
        _check_replaced(players, replaced)
        players = replaced.players
        study |= {"factors": replaced.factors} if levels else {}
        study |= _relabelled(study, {old: [new] for old, new in replaced.labels.items()})
    shared = with_texts(study.get("models") or {})
    _check_shared(shared)
    if shared:
        study["models"] = shared
    study["players"] = {label: _with_shared(shared, entry) for label, entry in players.items()}
    return study


def _relabelled(study: Mapping[str, Any], cells: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return a study's pairing and games, with each label replaced by one or more labels."""
    grids = study.get("games") or []
    relabelled = {"pairing": cross_pairing(study.get("pairing", "all"), cells)}
    if isinstance(grids, list | tuple):
        relabelled["games"] = [_with_cells(grid, cells) for grid in grids]
    return relabelled


def _with_cells(grid: Any, cells: Mapping[str, Sequence[str]]) -> Any:
    """In a game's own pairing, replace each label with one or more labels."""
    if isinstance(grid, GameGrid):
        grid = grid.model_dump(mode="json", exclude_defaults=True)
    if not isinstance(grid, Mapping) or "pairing" not in grid:
        return grid
    return {**grid, "pairing": cross_pairing(grid["pairing"], cells)}


def _check_replaced(players: Mapping[Any, Any], replaced: Replaced) -> None:
    """Check that new models support the settings of the players whose model they replace."""
    for label, entry in players.items():
        new = replaced.players[replaced.labels.get(str(label), str(label))]
        if new is not entry and _problem(entry) is None and (problem := _problem(new)):
            raise LocatedError(
                f"{label}: {problem}; choose another model, or change the player's settings in the "
                "study file or in a copy of its roster (cheaptalk model rosters NAME > FILE.yaml)",
                REPLACE,
            )


def _players_of_rosters(value: object) -> dict[Any, Any]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LocatedError(
            f"{shown(value)} is not a roster; write a name, such as glee or glee:gpt-4o,o3-mini, "
            "or a list of names",
            "roster",
        )
    merged: dict[Any, Any] = {}
    for name in names:
        try:
            players = chosen(name)
        except (UnknownName, ValueError) as error:
            raise LocatedError(str(error), "roster") from None
        duplicates = sorted(merged.keys() & players.keys())
        if duplicates:
            raise LocatedError(
                f'"{duplicates[0]}" is in two rosters; select other labels, or list the player '
                "under players with another label",
                "roster",
            )
        merged |= players
    return merged


def _check_shared(shared: object) -> None:
    if not isinstance(shared, Mapping):
        raise LocatedError(
            f"{shown(shared)} is not a mapping of settings; write, for example, {{temperature: 1}}",
            "models",
        )
    names = [name for name in ModelSeat.model_fields if name not in ("model", "words")]
    for key in shared:
        if key not in names:
            raise LocatedError(f"unknown key {suggest(str(key), names)}", "models")


def _with_shared(shared: Mapping[str, Any], entry: object) -> object:
    """Add the settings shared by all models to a model's entry."""
    if not (isinstance(entry, Mapping) and "model" in entry):
        return entry
    merged = {**shared, **entry}
    problem = _problem(merged)
    if problem is None:
        return merged
    for key in shared.keys() - entry.keys():
        if _problem({name: value for name, value in merged.items() if name != key}) != problem:
            if problem.location[:1] == (key,):
                raise LocatedError(problem.message, "models", *problem.location)
            raise LocatedError(
                f"{problem}; set {key} only for the players that support it", "models", key
            )
    return merged


def _problem(entry: Mapping[str, Any]) -> Problem | None:
    """Return the error in a model's settings, if any."""
    try:
        ModelSeat.model_validate(entry).check()
    except ValidationError as error:
        return problems_in(error)[0]
    except ValueError as error:
        return Problem((), "value_error", str(error))
    return None


class StudyError(CheaptalkError):
    """Raised if a study is invalid; the message names the file, key, value and a solution.

    Attributes:
        problems: the known problems in the study file; the message describes the first.
    """

    problems: tuple[Problem, ...] = ()

    @classmethod
    def at(cls, location: Location, message: str) -> Self:
        """Return an error about a value in the study file."""
        return cls.of([Problem(location, "value_error", message)])

    @classmethod
    def of(cls, problems: Sequence[Problem], source: str = "") -> Self:
        """Return an error with one or more problems in a study file."""
        error = cls(f"{source}: {problems[0]}" if source else str(problems[0]))
        error.problems = tuple(problems)
        return error


OMITTED_IF_EMPTY = ("people", "factors")
LARGEST = 1_000_000_000
"""Maximum matches of a study."""
MOST_CONFIGURATIONS = 100_000
"""Maximum configurations of a game; they are held in memory."""
MOST_SEATINGS = 5_000_000
"""Maximum seatings of a game; they are held in memory."""

Count: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST)]
Listed: TypeAlias = list[str] | dict[str, int]
"""A seating in a file: labels in the order of seats, or numbers of consecutive seats by label."""


class Without(Value):
    """All seatings of the players of a study, without the players with these labels."""

    without: Annotated[list[str], Field(min_length=1)]


Pairing: TypeAlias = Literal["all", "self"] | Without | list[Listed]
"""All seatings of the roster, self-play, all seatings of some players, or the listed seatings."""


def read_name(data: Any) -> str:
    """Validate a study's name."""
    if isinstance(data, int | float | date):
        raise ValueError(f"{data} is not text in YAML; put it in quotes")
    pattern = r"(?!-)(?!\.{1,2}\Z)[\w.-]{1,80}"
    if not isinstance(data, str) or not re.fullmatch(pattern, data):
        raise ValueError(
            f"{shown(data)} is not a valid name; use up to 80 letters, digits, dots, dashes and "
            "underscores, not starting with a dash and other than . and .."
        )
    return data


def read_pairing(data: Any) -> Any:
    """Validate how a study pairs its players."""
    if isinstance(data, Without) or data in ("all", "self"):
        return data
    if isinstance(data, Mapping):
        return Without.model_validate(data)
    listed = isinstance(data, list | tuple) and all(
        isinstance(row, list | tuple | Mapping) for row in data
    )
    if not data or not listed:
        raise ValueError(
            f"{shown(data)} is not a pairing; write all, self, lists of players by seat such as "
            "[[LABEL, LABEL]] or [{LABEL: 9, LABEL: 1}], {sample: N}, or, for a game, {without: "
            "[LABEL]}"
        )
    return [_read_seating(row) for row in data]


def _read_seating(row: Sequence[Any] | Mapping[Any, Any]) -> Listed:
    if not isinstance(row, Mapping):
        return [str(label) for label in row]
    for label, count in row.items():
        if type(count) is not int or count < 1:
            raise ValueError(
                f"{shown(count)} is not a number of seats for {label}; write a positive integer"
            )
    return {str(label): count for label, count in row.items()}


def seating_text(listed: Listed) -> str:
    """Format a seating as it is written in a study file.

    >>> seating_text(["fair", "firm"]), seating_text({"free_rider": 1, "gpt": 9})
    ('[fair, firm]', '{free_rider: 1, gpt: 9}')
    """
    if isinstance(listed, list):
        return f"[{', '.join(listed)}]"
    return f"{{{', '.join(f'{label}: {count}' for label, count in listed.items())}}}"


class GameGrid(Value):
    """A game and the grid of parameter values to play it with.

    Attributes:
        game: the game's name.
        fixed: parameters that all configurations share.
        cases: sets of parameters; each set is combined with the full grid.
        grid: values of varying parameters; all combinations are played.
        pairing, instances: values for this game that override the study's values.
    """

    game: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    cases: Annotated[list[dict[str, Any]], Field(min_length=1)] = [{}]  # noqa: RUF012 - frozen
    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)

    pairing: Pairing | None = None
    instances: Count | None = None

    @field_validator("pairing", mode="before")
    @classmethod
    def _pairing_form(cls, data: Any) -> Any:
        return data if data is None else read_pairing(data)

    @model_validator(mode="before")
    @classmethod
    def _is_written(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"game": data}
        if isinstance(data, Game):
            return {"game": data.name, "fixed": data.model_dump(mode="json", exclude_unset=True)}
        return data

    @model_validator(mode="after")
    def _is_legal(self) -> "GameGrid":
        listed = [*self.fixed, *self.grid, *{key for case in self.cases for key in case}]
        duplicates = [key for key, count in Counter(listed).items() if count > 1]
        if duplicates:
            raise ValueError(
                f'"{duplicates[0]}" is set more than once in fixed, cases and grid; set it once'
            )
        size = len(self.cases) * prod(map(len, self.grid.values()))
        if size > MOST_CONFIGURATIONS:
            raise ValueError(
                f"the grid has {size:,} configurations, more than {MOST_CONFIGURATIONS:,}; "
                "remove values, or divide the study"
            )
        self.configurations()
        return self

    def configurations(self) -> list[Game]:
        """Return the games of the grid, in order."""
        return list(self._games)

    @cached_property
    def _games(self) -> tuple[Game, ...]:
        try:
            rules = get_game(self.game).rules
        except UnknownName as error:
            raise ValueError(str(error)) from None
        games = []
        for case, *values in product(self.cases, *self.grid.values()):
            parameters = self.fixed | case | dict(zip(self.grid, values, strict=True))
            try:
                games.append(rules.model_validate(parameters))
            except ValidationError as error:
                problem = problems_in(error)[0]
                raise LocatedError(problem.message, self.game, *problem.location) from None
        return tuple(games)


class Sample(Value):
    """A random sample of matches, spread evenly over the configurations."""

    sample: Count


class Study(Printed, Value):
    """A study: games x instances x seatings x repeats.

    >>> ct.Study(
    ...     name="horizons",
    ...     games=[{"game": "bargaining", "grid": {"horizon": [2, 8]}}],
    ...     players={"fair": "equal_split", "firm": {"strategy": "boulware", "power": 3}},
    ... )
    <Study: horizons, 1 game, 2 players>

    Attributes:
        name: name of the study in the store, of letters, digits, dots, dashes and underscores.
        description: a description for readers.
        seed: random seed of the instances and the scripted players.
        games: the games, each with a parameter grid, or the names of games.
        instances_from: name of an earlier study whose configurations and instances are used instead
            of ``games``.
        players: the players by label.
        roster: rosters to add to the players, such as ``glee`` or ``[gama, mine.yaml:a,b]``.
        replace: new models by old model or label, such as ``{gpt-4o: openai/gpt-5-mini}``; the
            players get new labels (see :mod:`cheaptalk.studies.replacements`).
        models: default settings of all models among the players.
        factors: the level of each factor, by player and factor. Players with ``cross`` (see
            :mod:`cheaptalk.studies.factors`) add their levels automatically.
        pairing: ``all`` (all seatings of the roster), ``self`` (self-play), a list of seatings, or
            ``{sample: N}``. A listed seating contains labels in the order of the game's seats, or
            maps labels to numbers of consecutive seats.
        swap: whether to play all rotations of each listed seating, so that players swap seats.
        instances: number of instances of each configuration, shared by all seatings.
        repeats: number of matches per seating and instance.
        unanswered: the policy for matches with forfeits.
        people: the protocol for participants; None for studies without participants.

    Raises:
        StudyError: the study is invalid; the message starts with the key.
    """

    name: str
    description: Annotated[str, Field(json_schema_extra={"widget": "area"}), ADJUSTABLE] = ""
    seed: int = 0
    games: list[GameGrid] = Field(default_factory=list)
    instances_from: str | None = None
    players: dict[str, RosterEntry]
    roster: list[str] = Field(default_factory=list, exclude=True)
    replace: dict[str, str] = Field(default_factory=dict, exclude=True)
    models: dict[str, Any] = Field(default_factory=dict)
    factors: FactorTable = Field(default_factory=dict)
    pairing: Pairing | Sample = "all"
    swap: bool = False
    instances: Count = 1
    repeats: Count = 1
    budget: Annotated[Budget, ADJUSTABLE] = Budget()
    unanswered: Annotated[Unanswered, Field(title="Matches with invalid answers"), ADJUSTABLE] = (
        Unanswered()
    )
    people: Protocol | None = None

    if TYPE_CHECKING:  # entries may also have the form of a study file

        def __init__(
            self,
            *,
            name: str,
            description: str = "",
            seed: int = 0,
            games: Sequence[GameGrid | Game | str | Mapping[str, Any]] = (),
            instances_from: str | None = None,
            players: Mapping[str, PlayerLike] = ...,
            roster: Sequence[str] = (),
            replace: Mapping[str, str] = ...,
            models: Mapping[str, Any] = ...,
            factors: Mapping[str, Mapping[str, str]] = ...,
            pairing: Literal["all", "self"]
            | Sequence[Sequence[str] | Mapping[str, int]]
            | Sample
            | Mapping[str, int] = "all",
            swap: bool = False,
            instances: int = 1,
            repeats: int = 1,
            budget: Budget | Mapping[str, Any] = ...,
            unanswered: Unanswered | Mapping[str, Any] = ...,
            people: Protocol | Mapping[str, Any] | None = None,
        ) -> None: ...

    @model_serializer(mode="wrap")
    def _omit_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit participants and factors if empty, as in the format of older studies."""
        data: dict[str, Any] = serialize(self)
        return {name: item for name, item in data.items() if item or name not in OMITTED_IF_EMPTY}

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
        if bool(self.games) == bool(self.instances_from):
            raise ValueError("a study requires either games or instances_from")
        if self.instances_from == self.name:
            raise LocatedError(
                f'"{self.name}" is this study; change its name or instances_from', "instances_from"
            )
        if self.instances_from and self.unanswered.replace:
            raise LocatedError(
                "replace cannot be combined with instances_from, which has no new instances; write "
                "drop",
                "unanswered",
            )
        pairings = [self.pairing, *(grid.pairing for grid in self.games)]
        if self.swap and not any(isinstance(pairing, list) for pairing in pairings):
            raise LocatedError(
                "requires listed pairs, such as [[A, B]]; other pairings include both orders",
                "swap",
            )
        return self

    @model_validator(mode="after")
    def _has_known_players(self) -> "Study":
        names = list(dict.fromkeys(grid.game for grid in self.games))
        check_factors(self.factors, self.players)
        for label, entry in self.players.items():
            if names and not entry.form.is_known(names):
                raise LocatedError(entry.form.why_idle(names), "players", label)
        return self

    @model_validator(mode="after")
    def _has_payable_games(self) -> "Study":
        if self.people is None:
            return self
        games = [game for grid in self.games for game in grid.configurations()]
        check_bonuses(self.people.pay, games)
        if self.people.pay.budget is not None and participant_cents(self.people, games) is None:
            raise LocatedError(
                "requires a maximum payment per participant; set max_total",
                *("people", "pay", "budget"),
            )
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _raise_first_problem(cls, data: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return read(data)
        except ValidationError as error:
            players = data.get("players") if isinstance(data, Mapping) else None
            raise StudyError.of(
                [
                    problem._replace(message=problem.message + crossing_advice(players, problem))
                    for problem in problems_in(error)
                ]
            ) from None

    def printout(self) -> Printout:
        games, players = counted(len(self.games), "game"), counted(len(self.players), "player")
        entries = without_texts(self.model_dump(mode="json", exclude_defaults=True))
        if "files" in (people := entries.get("people", {})):
            people["files"] = ", ".join(people["files"])
        del entries["name"]
        rows = [("game", readable(entry)) for entry in entries.pop("games", ())]
        parts = entries.pop("players", {}).items()
        rows += [(f"player {label}", readable(entry)) for label, entry in parts]
        rows += [(plain(name), readable(entry)) for name, entry in entries.items()]
        return Printout(f"{self.name}, {games}, {players}", ["setting", "value"], rows)

    def written(self) -> dict[str, Any]:
        """Return the complete study as plain data."""
        return self.model_dump(mode="json")


def load_study(source: Path | str) -> Study:
    """Read a study file.

    >>> ct.load_study("examples/studies/factors.yaml")
    <Study: factors, 1 game, 6 players>

    Raises:
        StudyError: the file cannot be read, or is invalid.
    """
    path = Path(source)
    return parse_study(_with_templates(read_yaml(path), path.parent, str(source)), str(source))


def _with_templates(data: object, folder: Path, source: str) -> object:
    """Return a study's data with the texts of template files, by paths relative to a folder."""
    if not isinstance(data, Mapping):
        return data
    players, study = data.get("players"), dict(data)
    try:
        if "models" in data:
            study["models"] = with_texts(data["models"], folder)
        if isinstance(players, Mapping):
            study["players"] = {
                label: with_texts(entry, folder) for label, entry in players.items()
            }
        if "people" in data:
            study["people"] = with_files(data["people"], folder)
    except ValueError as error:
        raise StudyError(f"{source}: {error}") from None
    return study


def read_yaml(source: Path) -> object:
    """Read a YAML file."""
    try:
        return read_file(source)
    except ValueError as error:
        raise StudyError(str(error)) from None


def parse_study(data: object, source: str) -> Study:
    """Create a study from plain data.

    Raises:
        StudyError: the study is invalid; the message starts with the source.
    """
    if not isinstance(data, Mapping):
        raise StudyError(f"{source}: a study file must be a mapping with a name, games and players")
    try:
        return Study.model_validate(dict(data))
    except StudyError as error:
        raise StudyError.of(error.problems, source) from None
