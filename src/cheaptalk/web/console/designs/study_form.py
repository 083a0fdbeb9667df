"""Conversion of the study form to a study, with error messages by field."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from cheaptalk.calls.budget import Budget
from cheaptalk.players import RosterEntry
from cheaptalk.players.rosters import chosen, roster_names
from cheaptalk.players.seats import SEATS, labelled
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.rules import CheaptalkError, Game, get_game, suggest
from cheaptalk.rules.errors import first_problem, shown
from cheaptalk.studies.factors import CROSS, FactorTable, cross_pairing, cross_players
from cheaptalk.studies.people.protocol import Protocol
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.study import (
    Count,
    GameGrid,
    Pairing,
    Sample,
    Study,
    StudyError,
    read_name,
    read_pairing,
)
from cheaptalk.web.console.designs.parameter_fields import (
    line_values,
    listed_values,
    parameter_fields,
    single_number,
)
from cheaptalk.web.console.designs.people_fields import PATH, PeopleProblem, protocol_from
from cheaptalk.web.console.designs.seatings import implied_seatings, people_seatings
from cheaptalk.web.console.designs.step_rows import StepProblem, path_from
from cheaptalk.web.console.designs.study_fields import GameFields, PlayerFields, StudyFields
from cheaptalk.web.laboratory.designs import check_policies
from cheaptalk.yaml_files import parse_yaml

T = TypeVar("T")
MAX_CONFIGURATIONS = 10_000
"""Maximum over all games, because the form is checked after every change."""
MAX_SEATINGS = 100_000
"""Maximum number of seatings of a game, for the same reason."""
COUNT: TypeAdapter[int] = TypeAdapter(Count)
PERSON = "browser"
"""Default interface for people."""


def people_field(name: str) -> str:
    """Return the name of the form field for a participant setting."""
    return "steps" if name == PATH else f"people.{name}"


class InvalidForm(CheaptalkError):
    """Raised if the study form does not describe a valid study.

    Attributes:
        problems: an error message for each field name; the empty name collects the other errors.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(next(iter(self.problems.values()), ""))


def study_from(form: StudyFields) -> Study:
    """Build the study that a form describes; raise :class:`InvalidForm` for invalid fields."""
    return _FormReader(form).study()


def plan_from(form: StudyFields) -> Plan:
    """Plan the study that a form describes; raise :class:`InvalidForm` for invalid fields."""
    reader = _FormReader(form)
    study = reader.study()
    try:
        check_seatings(study)
        return plan(study)
    except CheaptalkError as error:
        raise reader.invalid(str(error)) from None


def check_seatings(study: Study) -> None:
    """Raise a StudyError for an all-play-all pairing with too many seatings."""
    for grid in study.games:
        pairing = grid.pairing or study.pairing
        if isinstance(pairing, list) or pairing == "self":
            continue
        game, ways = first_configuration(grid), 1
        for seat in game.seats:
            ways *= sum(_can_fill(entry, game, seat) for entry in study.players.values())
            if ways > MAX_SEATINGS:
                raise StudyError(
                    f"pairing: the players can fill the seats of {game.name} in more than "
                    f"{MAX_SEATINGS:,} ways; choose self-play, list the players by seat, or "
                    "remove players"
                )


def _can_fill(entry: RosterEntry, game: Game, seat: str) -> bool:
    try:
        return entry.seat(game, seat) is not None
    except (CheaptalkError, ValueError):
        return False


class _FormReader:
    """Reader that extracts a study from the form and collects errors by field.

    Attributes:
        problems: error messages by field name.
        rows: row index of each player, by label.
        players, settings: the valid players by label, parsed and as written in a study file.
        configurations: number of configurations read so far.
        factors: levels of players with ``cross``, by label.
        cells: labels of these players, by the label of the row.
    """

    def __init__(self, form: StudyFields) -> None:
        self.form = form
        self.problems: dict[str, str] = {}
        self.rows: dict[str, int] = {}
        self.players: dict[str, RosterEntry] = {}
        self.settings: dict[str, Mapping[str, Any]] = {}
        self.configurations = 0
        self.factors: FactorTable = {}
        self.cells: dict[str, list[str]] = {}

    def study(self) -> Study:
        form = self.form
        data: dict[str, Any] = {
            "name": self.read("name", lambda: read_name(form.name.strip())),
            "description": form.description.strip(),
            "seed": self.read("seed", lambda: whole_number(form.seed) or 0),
            "instances": self.read("instances", lambda: count(form.instances) or 1),
            "repeats": self.read("repeats", lambda: count(form.repeats) or 1),
            "models": self.read("models", lambda: mapping(form.models)),
            "budget": self.budget(),
            "unanswered": self.read(
                "unanswered", lambda: Unanswered.model_validate(mapping(form.unanswered))
            ),
            "people": self.people(),
            "players": self.roster(),
        }
        pairing = self.read("pairing", self.pairing)
        games = [self.game(number, game) for number, game in enumerate(form.games)]
        if not games:
            self.problems["games"] = "a study needs at least one game; add a game"
        if self.problems:
            raise InvalidForm(self.problems)
        pairing = cross_pairing(pairing, self.cells)
        grids = [
            game.model_copy(update={"pairing": cross_pairing(game.pairing, self.cells)})
            for game in games if game is not None
        ]  # fmt: skip
        pairing, grids = self.with_people(pairing or "all", grids)
        pairings = (pairing, *(grid.pairing for grid in grids))
        listed = any(isinstance(choice, list) for choice in pairings)
        data["pairing"] = pairing.model_dump() if isinstance(pairing, Sample) else pairing
        data |= {"games": grids, "swap": form.swap == "yes" and listed, "factors": self.factors}
        try:
            return Study.model_validate(data)
        except StudyError as error:
            raise self.invalid(str(error)) from None

    def read(self, field: str, parse: Callable[[], T]) -> T | None:
        try:
            return parse()
        except ValidationError as error:
            self.problems.setdefault(field, first_problem(error))
        except (CheaptalkError, ValueError) as error:
            self.problems.setdefault(field, str(error))
        return None

    def people(self) -> Protocol | None:
        try:
            return protocol_from(self.form.people, path_from(self.form.steps))
        except StepProblem as problem:
            self.problems[f"steps.{problem.number}.text"] = str(problem)
        except PeopleProblem as problem:
            self.problems[people_field(problem.field)] = str(problem)
        return None

    def budget(self) -> Budget | None:
        limits = self.read("limits", lambda: mapping(self.form.limits)) or {}
        dollars = self.form.dollars.strip().removeprefix("$")
        if dollars and "dollars" in limits:
            self.problems["limits"] = "enter dollars in the field for it, not here"
            return None
        if dollars:
            cap = {"dollars": self.read("dollars", lambda: single_number(dollars))}
            self.read("dollars", lambda: Budget.model_validate(cap))
            limits = limits | cap
        field = "dollars" if "dollars" in self.problems else "limits"
        return self.read(field, lambda: Budget.model_validate(limits))

    def roster(self) -> dict[str, Mapping[str, Any]]:
        for number, row in enumerate(self.form.players):
            prefix = f"players.{number}"
            if row.blank:
                continue
            if row.kind == "roster":
                entries = self.read(f"{prefix}.name", partial(roster_players, row.name)) or {}
            else:
                entry = self.player_entry(prefix, row)
                entries = self.read(f"{prefix}.options", partial(self.crossed, row, entry)) or {}
            for label, entry in entries.items():
                self.add_player(number, label, entry)
        if not self.players and not self.problems:
            self.problems["players"] = "a study needs at least one player; add a player"
        return self.settings

    def crossed(self, row: PlayerFields, entry: Mapping[str, Any] | None) -> dict[str, Any]:
        crossing = cross_players({} if entry is None else {label_of(row): entry})
        self.factors |= crossing.factors
        self.cells |= crossing.cells
        return crossing.players

    def add_player(self, number: int, label: str, entry: Mapping[str, Any]) -> None:
        prefix = f"players.{number}"
        if label in self.rows:
            self.problems.setdefault(
                f"{prefix}.label", f"{shown(label)} is a duplicate label; labels must be unique"
            )
            return
        try:
            labelled({label: entry})
        except ValueError as error:
            self.problems.setdefault(f"{prefix}.label", str(error))
            return
        try:
            check_policies({label: entry})
        except StudyError as error:
            problem = str(error).removeprefix(f"players.{label}: ")
            self.problems.setdefault(f"{prefix}.name", problem)
            return
        try:
            self.players[label] = RosterEntry.model_validate(entry)
            self.settings[label] = entry
        except ValidationError as error:
            problem = first_problem(error)
            row = self.form.players[number]
            field = player_field(row, first_word(problem))
            self.problems.setdefault(f"{prefix}.{field}", problem)
        self.rows[label] = number

    def player_entry(self, prefix: str, row: PlayerFields) -> dict[str, Any] | None:
        options = self.read(f"{prefix}.options", lambda: mapping(row.options))
        if row.kind not in SEATS:
            self.problems[f"{prefix}.kind"] = (
                f"unknown kind of player {suggest(row.kind, [*SEATS, 'roster'])}"
            )
        if options is None or row.kind not in SEATS:
            return None
        crossed = {key: options.pop(key) for key in (CROSS,) if key in options}
        settings = self.uncrossed_entry(prefix, row, options, named=not crossed)
        return None if settings is None else settings | crossed

    def uncrossed_entry(
        self, prefix: str, row: PlayerFields, options: dict[str, Any], *, named: bool
    ) -> dict[str, Any] | None:
        if row.kind in options:
            self.problems[f"{prefix}.options"] = f'enter "{row.kind}" in the field for it, not here'
            return None
        if row.kind == "strategies":
            if not options:
                self.problems[f"{prefix}.options"] = (
                    "write GAME: STRATEGY, one per line, such as bargaining: boulware"
                )
                return None
            return {row.kind: options}
        name = row.name.strip()
        if row.kind in MULTI_NAME_KINDS:
            names = self.read(f"{prefix}.name", lambda: list(map(str, listed_values(name))))
            return None if names is None else {row.kind: names, **options}
        if row.kind == "person":
            return self.person(prefix, row, name) | options
        if not name and not named:
            return options
        return {row.kind: name, **options} if name else {row.kind: options}

    def person(self, prefix: str, row: PlayerFields, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"person": name or PERSON}
        if row.deadline.strip():
            entry["deadline"] = self.read(f"{prefix}.deadline", lambda: single_number(row.deadline))
        if row.away.strip():
            entry["away"] = self.read(f"{prefix}.away", lambda: parse_yaml(row.away))
        return entry

    def game(self, number: int, game: GameFields) -> GameGrid | None:
        prefix = f"games.{number}"
        game_spec = self.read(f"{prefix}.game", lambda: get_game(game.game))
        if game_spec is None:
            return None
        before = len(self.problems)
        values = self.values(prefix, game, game_spec.rules)
        data: dict[str, Any] = {
            "game": game.game,
            "fixed": {name: choices[0] for name, choices in values.items() if len(choices) == 1},
            "grid": {name: choices for name, choices in values.items() if len(choices) > 1},
            "instances": self.read(f"{prefix}.instances", lambda: count(game.instances)),
            "pairing": self.read(f"{prefix}.pairing", lambda: self.own_pairing(prefix, game)),
        }
        cases = self.read(f"{prefix}.cases", lambda: line_values(game.cases))
        if cases:
            data["cases"] = cases
        self.configurations += prod(map(len, values.values())) * len(cases or [{}])
        if self.configurations > MAX_CONFIGURATIONS:
            self.problems[f"{prefix}.game"] = (
                f"the games have more than {MAX_CONFIGURATIONS:,} configurations; remove values "
                "or write the study as YAML"
            )
        return self.grid(prefix, game, data) if len(self.problems) == before else None

    def grid(self, prefix: str, game: GameFields, data: Mapping[str, Any]) -> GameGrid | None:
        try:
            return GameGrid.model_validate(data)
        except ValidationError as error:
            problem = first_problem(error).removeprefix(f"{game.game}: ")
            word = first_word(problem)
            field = "cases" if game.cases.strip() else "game"
            if word in game.values:
                field = f"value.{word}"
            self.problems[f"{prefix}.{field}"] = problem
            return None

    def values(self, prefix: str, game: GameFields, rules: type[Game]) -> dict[str, list[Any]]:
        fields = parameter_fields(rules)
        legal_values = {}
        for name, texts in game.values.items():
            if name not in fields:
                if any(text.strip() for text in texts):
                    problem = f"{game.game} has no parameter {suggest(name, list(fields))}"
                    self.problems.setdefault(f"{prefix}.game", problem)
                continue
            field = f"{prefix}.value.{name}"
            values = self.read(field, partial(fields[name].values, texts))
            for value in values or ():
                self.read(field, partial(check_value, rules, name, value))
            if values:
                legal_values[name] = values
        return legal_values

    def pairing(self) -> Pairing | Sample:
        form = self.form
        if form.pairing == "all" and form.sample.strip():
            size = self.read("sample", lambda: count(form.sample))
            return "all" if size is None else Sample(sample=size)
        if form.pairing == "listed":
            return self.read("seatings", lambda: listed_seatings(form.seatings)) or "all"
        return self.unlisted(form.pairing)

    def own_pairing(self, prefix: str, game: GameFields) -> Pairing | None:
        if not game.pairing:
            return None
        if game.pairing == "listed":
            return self.read(f"{prefix}.seatings", lambda: listed_seatings(game.seatings))
        return self.unlisted(game.pairing)

    def unlisted(self, pairing: str) -> Pairing:
        if pairing != "people":
            return "self" if pairing in ("self", "self_all") else read_all(pairing)
        if not people_seatings(self.players, 2) and self.players:
            raise ValueError(
                "this pairing needs a person and another kind of player; add the missing one"
            )
        return "all"

    def with_people(
        self, pairing: Pairing | Sample, grids: Sequence[GameGrid]
    ) -> tuple[Pairing | Sample, list[GameGrid]]:
        seatings = [
            implied_seatings(
                game.pairing or self.form.pairing, self.players,
                len(first_configuration(grid).seats),
            ) or None
            for game, grid in zip(self.form.games, grids, strict=True)
        ]  # fmt: skip
        rows = list(zip(self.form.games, seatings, strict=True))
        shared = [listed for game, listed in rows if listed and not game.pairing]
        if shared and shared.count(shared[0]) == len(shared):
            pairing = shared[0]
            seatings = [listed if game.pairing else None for game, listed in rows]
        return pairing, [
            grid if listed is None else grid.model_copy(update={"pairing": listed})
            for grid, listed in zip(grids, seatings, strict=True)
        ]

    def invalid(self, message: str) -> InvalidForm:
        for label, number in sorted(self.rows.items(), key=lambda pair: -len(pair[0])):
            about = f"players.{label}"
            if message.startswith(about):
                problem = message.removeprefix(about).lstrip(".: ")
                field = player_field(self.form.players[number], first_word(problem))
                return InvalidForm({f"players.{number}.{field}": problem})
        match = re.match(r"([\w.]+): (.*)", message, re.DOTALL)
        if not match:
            return InvalidForm({"swap" if message.startswith("swap") else "": message})
        key, problem = match.groups()
        key, _, within = key.partition(".")
        if key == "budget":
            return InvalidForm({"limits": message})
        if (key, within) == ("pairing", "sample"):
            return InvalidForm({"sample": problem})
        if key == "pairing":
            return InvalidForm({self.seatings_field(): problem})
        if key == "people":
            return InvalidForm({people_field(PATH): problem})
        sections = ("players", "games", "instances", "models", "name", "unanswered")
        detail = f"{within}: {problem}" if within else problem
        return InvalidForm({key: detail} if key in sections else {"": message})

    def seatings_field(self) -> str:
        if self.form.pairing == "listed":
            return "seatings"
        games = enumerate(self.form.games)
        listed = (number for number, game in games if game.pairing == "listed")
        return next((f"games.{number}.seatings" for number in listed), "pairing")


def first_configuration(grid: GameGrid) -> Game:
    """Return a game with the first values of its parameter grid."""
    first = {name: values[0] for name, values in grid.grid.items()}
    return get_game(grid.game).rules.model_validate(grid.fixed | grid.cases[0] | first)


def first_word(problem: str) -> str:
    """Return the setting's name at the start of an error message; empty if there is none."""
    return re.split(r"\W", problem)[0]


def check_value(rules: type[Game], name: str, value: object) -> None:
    """Raise ValueError if a parameter value is illegal regardless of the other parameters."""
    try:
        rules.model_validate({name: value})
    except ValidationError as error:
        problem = first_problem(error)
        if re.match(rf"{re.escape(name)}\b", problem) and error.errors()[0]["loc"]:
            raise ValueError(problem.removeprefix(f"{name}: ")) from None


def whole_number(text: str) -> int | None:
    """Parse a whole number; return None for an empty text."""
    text = text.strip()
    if text and not re.fullmatch("-?[0-9]{1,18}", text):
        raise ValueError(f"must be an integer in digits only, not {shown(text)}")
    return int(text) if text else None


def count(text: str) -> int | None:
    """Parse a positive number of matches or instances; return None for an empty text."""
    number = whole_number(text)
    return None if number is None else COUNT.validate_python(number)


def mapping(text: str) -> dict[str, Any]:
    """Parse settings in YAML; an empty text yields an empty mapping."""
    settings = parse_yaml(text) if text.strip() else {}
    if not isinstance(settings, Mapping):
        raise ValueError(f"{shown(settings)} are not settings; write NAME: VALUE, one per line")
    return {str(key): value for key, value in settings.items()}


def roster_players(text: str) -> dict[str, dict[str, Any]]:
    """Parse ``ROSTER`` or ``ROSTER:LABEL,...`` and return the selected players of the roster."""
    name = text.strip().partition(":")[0]
    if name not in roster_names():
        raise ValueError(f"unknown roster {suggest(name, roster_names())}")
    return chosen(text.strip())


MULTI_NAME_KINDS = ("policies",)
"""Kinds of players with several names."""
KINDS_WITHOUT_NAME = ("person", "strategies", *MULTI_NAME_KINDS)
"""Kinds of players whose default label is their kind."""


def label_of(row: PlayerFields) -> str:
    """Return a player's label in the study form, by default its name or kind."""
    return row.label.strip() or (row.kind if row.kind in KINDS_WITHOUT_NAME else row.name.strip())


def player_field(row: PlayerFields, key: str) -> str:
    """Return the form field in which a player's setting ``key`` was entered."""
    if key in ("deadline", "away"):
        return key
    if row.kind == "strategies":
        return "options"
    named = row.name.strip() and not re.search(rf"\b{re.escape(key)}\b", row.options)
    return "name" if named or not row.options.strip() else "options"


def listed_seatings(text: str) -> Pairing:
    """Parse a pairing that lists one seating per line."""
    pairing: Pairing = read_pairing(line_values(text))
    return pairing


def read_all(pairing: str) -> Pairing:
    """Return the pairing "all"; raise ValueError for any other text."""
    if pairing != "all":
        raise ValueError(f"{shown(pairing)} is not a pairing; choose one from the list")
    return "all"
