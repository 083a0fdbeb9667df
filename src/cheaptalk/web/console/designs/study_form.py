"""The study form: texts by field name, and their conversion to and from the data of a study file.

A field's name is its location in the study file, such as ``people.pay.base``. Games, players, steps
and pairings have forms of their own (:mod:`.rows`); all other fields follow from the schema.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.players import RosterEntry
from cheaptalk.rules import CheaptalkError, Game
from cheaptalk.rules.errors import Location, Problem, shown
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.web.console.designs.fields import Field, Problems, Row, fields_of, last_text
from cheaptalk.web.console.designs.pairings import (
    LISTED,
    first_configuration,
    pairing_data,
    pairing_texts,
    with_seatings,
)
from cheaptalk.web.console.designs.rows import (
    STEP_TEMPLATES,
    game_data,
    game_row,
    label_of,
    path_data,
    path_rows,
    place_steps,
    player_data,
    player_row,
)
from cheaptalk.web.laboratory.designs import check_references
from cheaptalk.web.laboratory.library import with_contents

Pairs: TypeAlias = list[tuple[str, str]]
"""A posted form: field names and texts, in order."""
MAX_ROWS = 200
"""Maximum number of games, players and steps; further rows are ignored."""
GAMES, PLAYERS, PATH = "games", "players", "people.path"
ROW = re.compile(rf"({GAMES}|{PLAYERS}|{PATH})\.([0-9]{{1,6}})\.(.{{1,200}})")
ACTION = re.compile(rf"(add|remove|copy|up|down)-({GAMES}|{PLAYERS}|{PATH})(?:\.([0-9]{{1,6}}))?")
SPECIAL = (GAMES, PLAYERS, PATH, "pairing")
"""Names of the fields that have a form of their own."""
STUDY = fields_of(Study)
MAX_CONFIGURATIONS = 10_000
"""Maximum over all games, because the form is checked after every change."""
MAX_SEATINGS = 100_000
"""Maximum number of seatings of a game, for the same reason."""


class NotExpressible(CheaptalkError):
    """Raised if the study form cannot express a study."""


class CheckedForm(NamedTuple):
    """A study form with its data, and the resulting study or error messages by field name.

    ``study`` and ``plan`` are None if the form is invalid, and ``plan`` also if the study uses
    another study's instances. The empty name collects errors without a field.
    """

    form: "StudyForm"
    data: dict[str, Any]
    study: Study | None
    plan: Plan | None
    problems: dict[str, str]


def check_form(form: "StudyForm", laboratory: Path | None = None) -> CheckedForm:
    """Check a study form: plan its study or collect error messages.

    ``laboratory`` is the folder of the laboratory, whose files the study can name.
    """
    reader = FormReader(form)
    problems: dict[str, str] = reader.problems
    try:
        _check_configurations(reader.data)
        check_references(reader.data)
        study = Study.model_validate(with_contents(reader.data, laboratory))
        if not problems:
            _check_seatings(study)
            planned = None if study.instances_from else plan(study)
            return CheckedForm(form, reader.data, study, planned, {})
    except StudyError as error:
        for problem in error.problems or [Problem((), "value_error", str(error))]:
            field, location = reader.field_at(problem.location)
            if field or not problems:
                problems.setdefault(field, str(problem._replace(location=location)))
    except CheaptalkError as error:
        problems.setdefault("", str(error))
    return CheckedForm(form, reader.data, None, None, problems)


def filled_form(data: Mapping[str, Any], laboratory: Path | None = None) -> "StudyForm":
    """Return the form of a study file's data; raise NotExpressible if there is none."""
    study = Study.model_validate(with_contents(data, laboratory))
    form = form_of(data)
    rebuilt = check_form(form, laboratory).study
    if rebuilt is None or not is_same_study(rebuilt, study):
        raise NotExpressible("it has settings that the form cannot express")
    return form


def is_same_study(first: Study, second: Study) -> bool:
    """Return whether two studies are equal, however their parameters are written."""
    return _comparable(first) == _comparable(second)


def _comparable(study: Study) -> str:
    """Return a study as text in which a parameter with a single value is a fixed parameter."""
    data = study.written()
    for game in data["games"]:
        single = {name: values[0] for name, values in game["grid"].items() if len(values) == 1}
        game["grid"] = [item for item in game["grid"].items() if item[0] not in single]
        game["fixed"] = sorted((game["fixed"] | single).items())
    return json.dumps([data, [*data["players"]]], sort_keys=True)


def _check_configurations(data: Mapping[str, Any]) -> None:
    total = 0
    for number, grid in enumerate(data.get(GAMES, [])):
        total += prod(map(len, grid.get("grid", {}).values())) * len(grid.get("cases", [{}]))
        if total > MAX_CONFIGURATIONS:
            raise StudyError.at(
                (GAMES, number),
                f"the games have more than {MAX_CONFIGURATIONS:,} configurations; remove values or "
                "write the study as YAML",
            )


def _check_seatings(study: Study) -> None:
    for grid in study.games:
        pairing = grid.pairing or study.pairing
        if isinstance(pairing, list) or pairing == "self":
            continue
        game, ways = first_configuration(grid.model_dump()), 1
        for seat in game.seats:
            ways *= sum(_can_fill(entry, game, seat) for entry in study.players.values())
            if ways > MAX_SEATINGS:
                raise StudyError.at(
                    ("pairing",),
                    f"the players can fill the seats of {game.name} in more than "
                    f"{MAX_SEATINGS:,} ways; choose self-play, list the players by seat, or remove "
                    "players",
                )


def _can_fill(entry: RosterEntry, game: Game, seat: str) -> bool:
    try:
        return entry.seat(game, seat) is not None
    except (CheaptalkError, ValueError):
        return False


class StudyForm:
    """The texts of the study form, exactly as typed.

    ``texts`` are those outside ``rows``, which contain the games, players and steps.
    """

    def __init__(self, texts: Row | None = None, **rows: list[Row]) -> None:
        self.texts = texts or {}
        self.rows: dict[str, list[Row]] = {GAMES: [], PLAYERS: [], PATH: []} | rows

    @classmethod
    def read(cls, posted: Iterable[tuple[str, str]]) -> "StudyForm":
        """Parse a posted form.

        >>> form = StudyForm.read([("name", "pilot"), ("games.7.game", "bargaining")])
        >>> form.text("name"), form.rows["games"]
        ('pilot', [{'game': ['bargaining']}])
        """
        form = cls()
        numbered: dict[str, dict[int, Row]] = {kind: {} for kind in form.rows}
        for name, text in posted:
            match = ROW.fullmatch(name)
            row = numbered[match[1]].setdefault(int(match[2]), {}) if match else form.texts
            row.setdefault(match[3] if match else name, []).append(text.replace("\r\n", "\n"))
        form.rows = {
            kind: [rows[number] for number in sorted(rows)][:MAX_ROWS]
            for kind, rows in numbered.items()
        }
        return form

    def pairs(self) -> Pairs:
        """Return the form as a browser would post it."""
        rows = [
            (f"{kind}.{number}.{name}", texts)
            for kind, rows in self.rows.items()
            for number, row in enumerate(rows)
            for name, texts in row.items()
        ]
        return [(name, text) for name, texts in (*self.texts.items(), *rows) for text in texts]

    def text(self, name: str) -> str:
        return last_text(self.texts, name)

    def has(self, *names: str) -> bool:
        """Return whether any of the named fields or groups of fields is filled in."""
        return any(
            key == name or key.startswith(f"{name}.")
            for name in names
            for key, texts in self.texts.items()
            if any(map(str.strip, texts))
        )

    def apply(self, action: str, game: str = "", step: str = "") -> str:
        """Add, copy, move or remove a row, as the pressed button requests; ignore other buttons.

        ``action`` is for example ``add-players``, ``remove-games.0`` or ``up-people.path.1``;
        ``game`` and ``step`` are the game or kind of step to add. Return the row or field to focus,
        or "".
        """
        match = ACTION.fullmatch(action)
        if match is None:
            return ""
        deed, kind = match[1], match[2]
        rows, number = self.rows[kind], int(match[3] or 0)
        if deed == "add" and len(rows) < MAX_ROWS:
            if kind == PLAYERS:
                rows.append({})
                return f"{kind}.{len(rows) - 1}.kind"
            if kind == GAMES and game:
                rows.append({"game": [game]})
                return f"{kind}.{len(rows) - 1}"
            return self._add_step(step) if kind == PATH and step in STEP_TEMPLATES else ""
        if deed == "copy" and number < len(rows) < MAX_ROWS:
            rows.insert(number + 1, {name: [*texts] for name, texts in rows[number].items()})
            return f"{kind}.{number + 1}"
        if deed == "remove":
            del rows[number : number + 1]
        elif deed in ("up", "down") and number < len(rows):
            target = number + (-1 if deed == "up" else 1)
            if kind == PATH and 0 <= target < len(rows):
                rows[number], rows[target] = rows[target], rows[number]
                place_steps(rows, (number, target))
                return f"{kind}.{target}"
        return ""

    def _add_step(self, kind: str) -> str:
        rows = self.rows[PATH]
        last = bool(rows) and rows[-1]["kind"] == ["debrief"] and kind != "debrief"
        number = len(rows) - last
        when = "after" if kind == "quiz" else ""
        rows.insert(number, {"kind": [kind], "when": [when], "text": [STEP_TEMPLATES[kind]]})
        return f"{PATH}.{number}"


def form_of(data: Mapping[str, Any]) -> StudyForm:
    """Return the form of a valid study file's data; :class:`FormReader` is the inverse."""
    listed = [{"game": grid} if isinstance(grid, str) else grid for grid in data.get(GAMES) or []]
    data = {**data, GAMES: listed}
    form, games = StudyForm(), listed
    _fill(form, "", STUDY.values(), data)
    form.rows[GAMES] = [game_row(grid, data) for grid in games]
    players = data.get(PLAYERS) or {}
    form.rows[PLAYERS] = [player_row(str(label), entry) for label, entry in players.items()]
    form.rows[PATH] = list(path_rows((data.get("people") or {}).get("path", [])))
    grid = next((grid for grid in games if "pairing" not in grid), games[0] if games else {})
    form.texts |= pairing_texts(data.get("pairing", "all"), data, grid)
    return form


def _fill(form: StudyForm, prefix: str, fields: Iterable[Field], data: Any) -> None:
    for field in fields:
        name, value = prefix + field.name, (data or {}).get(field.name)
        if field.kind == "group":
            _fill(form, f"{name}.", field.fields, value)
        elif value is not None and name not in SPECIAL:
            form.texts[name] = [field.text(value)]


class FormReader:
    """Reader that extracts the data of a study file from the form, with errors by field."""

    def __init__(self, form: StudyForm) -> None:
        self.form = form
        self.problems = Problems()
        self.labels: dict[str, int] = {}
        self.data: dict[str, Any] = self._group("", STUDY.values())
        self.data[PLAYERS] = self._players()
        games = form.rows[GAMES]
        self.data[GAMES] = [
            game_data(row, f"{GAMES}.{number}", self.problems) for number, row in enumerate(games)
        ]
        self.data["pairing"] = pairing_data(form.texts, "", self.problems) or "all"
        path, self.steps = path_data(form.rows[PATH], self.problems)
        if path:
            self.data["people"] = {**self.data.get("people", {}), "path": path}
        elif "people" in self.data:
            self.problems[PATH] = "add the steps of the study, at least the games"
        if not games and "instances_from" not in self.data:
            self.problems[GAMES] = "a study needs at least one game; add a game"
        if not self.data[PLAYERS] and "roster" not in self.data and not self.problems:
            self.problems[PLAYERS] = "a study needs at least one player; add a player"
        if not self.problems:
            choices = [last_text(row, "pairing") for row in (*games, form.texts)]
            seated = self.problems.read("pairing", lambda: with_seatings(self.data, choices))
            self.data = seated or self.data
        unset = {GAMES: [], PLAYERS: {}, "pairing": "all"}
        items = ((name, self.data.get(name)) for name in STUDY)
        self.data = {name: item for name, item in items if item not in (None, unset.get(name))}

    def _group(self, prefix: str, fields: Iterable[Field]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for field in fields:
            name, value = prefix + field.name, None
            if field.kind == "group":
                value = self._group(f"{name}.", field.fields) or None
            elif name not in SPECIAL:
                value = self.problems.read(name, partial(field.value, self.form.text(name)))
            if value is not None:
                data[field.name] = value
        return data

    def _players(self) -> dict[str, Any]:
        players: dict[str, Any] = {}
        for number, row in enumerate(self.form.rows[PLAYERS]):
            label, prefix = label_of(row), f"{PLAYERS}.{number}"
            entry = player_data(row, prefix, self.problems)
            if label in players and entry is not None:
                problem = f"{shown(label)} is a duplicate label; labels must be unique"
                self.problems.setdefault(f"{prefix}.label", problem)
            elif entry is not None:
                players[label] = entry
            self.labels.setdefault(label, number)
        return players

    def field_at(self, location: Location) -> tuple[str, Location]:
        """Return the field with the value at a location, and the rest of the location within it.

        The field's name is empty if no field has the value.
        """
        match location:
            case ("games", int(number), *rest) if number < len(self.form.rows[GAMES]):
                return self._game_field(number, tuple(rest))
            case ("players", str(label), *rest):
                return self._player_field(label, tuple(rest))
            case ("people", "path", *_):
                lengths = range(len(location), 0, -1)
                step = next((n for n in lengths if location[:n] in self.steps), 0)
                if step:
                    return f"{PATH}.{self.steps[location[:step]]}.text", location[step:]
                return PATH, ()
            case ("pairing", "sample"):
                return "sample", ()
            case ("pairing", *_):
                return self._pairing_field(), ()
        names = [*_names("", STUDY.values())]
        for length in range(len(location), 0, -1):
            if (name := ".".join(map(str, location[:length]))) in names:
                return name, location[length:]
        return "", location

    def _game_field(self, number: int, location: Location) -> tuple[str, Location]:
        row = self.form.rows[GAMES][number]
        for length, key in enumerate(location, 1):
            if f"values.{key}" in row:
                return f"{GAMES}.{number}.values.{key}", location[length:]
        if location[:1] == ("pairing",) and row.get("pairing") == [LISTED]:
            return f"{GAMES}.{number}.seatings", ()
        if location[:1] in (("instances",), ("cases",), ("pairing",)):
            return f"{GAMES}.{number}.{location[0]}", location[1:]
        cases = any(text.strip() for text in row.get("cases", []))
        return f"{GAMES}.{number}.{'cases' if cases else 'game'}", location

    def _player_field(self, label: str, location: Location) -> tuple[str, Location]:
        labels = [name for name in self.labels if f"{label}/".startswith(f"{name}/")]
        if not labels:
            return PLAYERS, (label, *location)
        number = self.labels[max(labels, key=len)]
        row = self.form.rows[PLAYERS][number]
        kind, settings = last_text(row, "kind"), last_text(row, "settings")
        key = str(location[0]) if location else ""
        if key in ("deadline", "away"):
            return f"{PLAYERS}.{number}.{key}", location[1:]
        if kind == "strategies" or (settings and re.search(rf"\b{re.escape(key)}\b", settings)):
            return f"{PLAYERS}.{number}.settings", location
        return f"{PLAYERS}.{number}.name", location[1:] if key == kind else location

    def _pairing_field(self) -> str:
        if self.form.text("pairing") == LISTED:
            return "seatings"
        games = enumerate(self.form.rows[GAMES])
        listed = (number for number, row in games if row.get("pairing") == [LISTED])
        return next((f"{GAMES}.{number}.seatings" for number in listed), "pairing")


def _names(prefix: str, fields: Iterable[Field]) -> Iterable[str]:
    for field in fields:
        yield prefix + field.name
        yield from _names(f"{prefix}{field.name}.", field.fields)
