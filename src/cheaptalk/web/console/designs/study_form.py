"""The study form: texts by field name, and their conversion to and from the data of a study file.

A field's name is its location in the study file, such as ``people.pay.base``. Games, players, steps
and pairings have forms of their own (:mod:`.rows`); all other fields follow from the schema.
"""

import json
import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.players import RosterEntry
from cheaptalk.rules import CheaptalkError, Game
from cheaptalk.rules.errors import Location, Problem, shown
from cheaptalk.studies.plans.plan import Plan, plan
from cheaptalk.studies.study import Study, StudyError
from cheaptalk.web.console.designs.fields import Field, Problems, fields_of, last_text
from cheaptalk.web.console.designs.pairings import (
    LISTED,
    first_configuration,
    pairing_data,
    pairing_texts,
    with_seatings,
)
from cheaptalk.web.console.designs.posted_form import GAMES, PLAYERS, StudyForm
from cheaptalk.web.console.designs.rows import (
    game_data,
    game_row,
    label_of,
    player_data,
    player_row,
)
from cheaptalk.web.console.designs.settings import SettingsReader, members_texts
from cheaptalk.web.console.designs.step_rows import PATH, path_data, path_rows
from cheaptalk.web.laboratory.designs import check_references
from cheaptalk.web.laboratory.library import with_contents

ROWS = (GAMES, PLAYERS, "pairing")
"""Names of the fields that have a form of their own, besides the steps of participants."""


def _study_fields() -> dict[str, Field]:
    fields = fields_of(Study)
    people = fields["people"]
    parts = tuple(part for part in people.fields if part.name != "path")
    return {**fields, "people": people._replace(fields=parts)}


STUDY = _study_fields()
"""The fields of the form without the steps of participants."""
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


def form_of(data: Mapping[str, Any]) -> StudyForm:
    """Return the form of a valid study file's data; :class:`FormReader` is the inverse."""
    listed = [{"game": grid} if isinstance(grid, str) else grid for grid in data.get(GAMES) or []]
    data = {**data, GAMES: listed}
    form, games = StudyForm(), listed
    settings = [field for name, field in STUDY.items() if name not in ROWS]
    form.texts = {name: [text] for name, text in members_texts(settings, "", data)}
    form.texts.pop("people", None)
    form.rows[GAMES] = [game_row(grid, data) for grid in games]
    players = data.get(PLAYERS) or {}
    form.rows[PLAYERS] = [player_row(str(label), entry) for label, entry in players.items()]
    form.rows[PATH] = list(path_rows((data.get("people") or {}).get("path", [])))
    grid = next((grid for grid in games if "pairing" not in grid), games[0] if games else {})
    form.texts |= pairing_texts(data.get("pairing", "all"), data, grid)
    return form


class FormReader:
    """Reader that extracts the data of a study file from the form, with errors by field."""

    def __init__(self, form: StudyForm) -> None:
        self.form = form
        self.problems = Problems()
        self.labels: dict[str, int] = {}
        self.reader = SettingsReader(self.problems)
        settings = [field for name, field in STUDY.items() if name not in ROWS]
        self.data: dict[str, Any] = self.reader.members(settings, form.texts, "", "", ())
        self.data[PLAYERS] = self._players()
        games = form.rows[GAMES]
        self.data[GAMES] = [
            game_data(row, f"{GAMES}.{number}", self.problems) for number, row in enumerate(games)
        ]
        self.data["pairing"] = pairing_data(form.texts, "", self.problems) or "all"
        path, self.steps = path_data(form.rows[PATH], self.reader)
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
            case ("people", "path"):
                return PATH, ()
            case ("pairing", "sample"):
                return "sample", ()
            case ("pairing", *_):
                return self._pairing_field(), ()
        names = self.reader.names
        length = next((n for n in range(len(location), 0, -1) if location[:n] in names), 0)
        return (names[location[:length]], location[length:]) if length else ("", location)

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
