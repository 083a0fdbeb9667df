"""Rows of the study form: games and players."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from cheaptalk.players.seats import SEATS, entry_of, labelled
from cheaptalk.rules import get_game, suggest
from cheaptalk.rules.errors import shown
from cheaptalk.studies.factors import CROSS
from cheaptalk.studies.study import GameGrid
from cheaptalk.web.console.designs.fields import (
    Field,
    Problems,
    Row,
    fields_of,
    last_text,
    listed_values,
)
from cheaptalk.web.console.designs.pairings import pairing_data, pairing_texts
from cheaptalk.yaml_files import as_yaml

GRID_FIELDS = [
    field
    for name, field in fields_of(GameGrid).items()
    if name not in ("game", "fixed", "grid", "pairing")
]
"""Settings of a game besides its parameters and pairing."""
PERSON_FIELDS = (
    Field("deadline", "Seconds per answer", "number", "Blank: no deadline."),
    Field(
        "away",
        "Replacement after the deadline",
        "yaml",
        "A strategy or model. Blank: the person forfeits.",
    ),
)
"""Settings of people."""
MULTI_NAME_KINDS = ("policies",)
"""Kinds of players with several names."""
KINDS_WITHOUT_NAME = ("person", "strategies", *MULTI_NAME_KINDS)
"""Kinds of players whose default label is their kind."""
SETTINGS = Field("settings", "Settings", "yaml")


def game_data(row: Row, prefix: str, problems: Problems) -> dict[str, Any]:
    """Return a game in the format of a study file: a parameter with several values is varied."""
    name = last_text(row, "game")
    spec = problems.read(f"{prefix}.game", lambda: get_game(name))
    fields = {} if spec is None else fields_of(spec.rules)
    data: dict[str, Any] = {"fixed": {}, "grid": {}}
    for key, texts in row.items():
        parameter = key.removeprefix("values.")
        if spec is None or parameter == key or not any(text.strip() for text in texts):
            continue
        if parameter not in fields:
            problem = f"{name} has no parameter {suggest(parameter, [*fields])}"
            problems.setdefault(f"{prefix}.game", problem)
            continue
        values = problems.read(f"{prefix}.{key}", partial(fields[parameter].values, texts))
        if values:
            is_fixed = len(values) == 1
            data["fixed" if is_fixed else "grid"][parameter] = values[0] if is_fixed else values
    for field in GRID_FIELDS:
        value = partial(field.value, last_text(row, field.name))
        data[field.name] = problems.read(f"{prefix}.{field.name}", value)
    data["pairing"] = pairing_data(row, f"{prefix}.", problems)
    return {"game": name} | {key: value for key, value in data.items() if value not in (None, {})}


def game_row(grid: Mapping[str, Any], data: Mapping[str, Any]) -> Row:
    """Return the row of a game in a study file's data; :func:`game_data` is the inverse."""
    fields = fields_of(get_game(grid["game"]).rules)
    values = grid.get("grid", {}) | {name: [value] for name, value in grid.get("fixed", {}).items()}
    row = {f"values.{name}": fields[name].texts(listed) for name, listed in values.items()}
    row |= {field.name: [field.text(grid.get(field.name))] for field in GRID_FIELDS}
    if "pairing" in grid:
        row |= pairing_texts(grid["pairing"], data, grid)
    return {"game": [grid["game"]]} | row


def label_of(row: Row) -> str:
    """Return a player's label, by default its name or kind."""
    kind, name = last_text(row, "kind"), last_text(row, "name").strip()
    return last_text(row, "label").strip() or (kind if kind in KINDS_WITHOUT_NAME else name)


def player_data(row: Row, prefix: str, problems: Problems) -> Any:
    """Return a player's entry in the format of a study file; None for an empty or invalid row."""
    kind, name = last_text(row, "kind") or "model", last_text(row, "name").strip()
    filled = (last_text(row, key).strip() for key in ("label", "name", "settings"))
    if kind != "person" and not any(filled):
        return None
    before = len(problems)
    settings = problems.read(f"{prefix}.settings", lambda: _settings(row, kind))
    if kind not in SEATS:
        problems[f"{prefix}.kind"] = f"unknown kind of player {suggest(kind, [*SEATS])}"
    entry: Any = dict(settings or {})
    if kind == "strategies":
        entry = {kind: entry}
    elif kind in MULTI_NAME_KINDS:
        names = problems.read(f"{prefix}.name", lambda: list(map(str, listed_values(name))))
        entry = {kind: names} | entry
    elif name or kind == "person":
        entry = {kind: name or "browser"} | entry
    elif CROSS not in entry:
        entry = {kind: entry}
    for field in PERSON_FIELDS if kind == "person" else ():
        text = last_text(row, field.name)
        value = problems.read(f"{prefix}.{field.name}", partial(field.value, text))
        entry |= {} if value is None else {field.name: value}
    problems.read(f"{prefix}.label", lambda: labelled({label_of(row): entry}))
    return entry if len(problems) == before else None


def _settings(row: Row, kind: str) -> Mapping[str, Any]:
    settings = SETTINGS.value(last_text(row, "settings")) or {}
    if not isinstance(settings, Mapping):
        raise ValueError(f"{shown(settings)} are not settings; write NAME: VALUE, one per line")
    if kind in settings and kind != "strategies":
        raise ValueError(f'enter "{kind}" in the field for it, not here')
    if kind == "strategies" and not settings:
        raise ValueError("write GAME: STRATEGY, one per line, such as bargaining: boulware")
    return settings


def player_row(label: str, written: object) -> Row:
    """Return the row of a player in a study file's data; :func:`player_data` is the inverse."""
    entry: Any = entry_of(written)
    settings = dict(entry)
    levels = settings.get(CROSS, {})
    crossed = {
        *levels,
        *(
            key
            for factor in levels.values()
            if isinstance(factor, Mapping)
            for level in factor.values()
            for key in level
        ),
    }
    kind = next(key for key in SEATS if key in settings or key in crossed)
    row, value = {"label": [label], "kind": [kind]}, settings.pop(kind, None)
    if isinstance(value, Mapping):
        settings = {**value, **settings}
    elif value is not None:
        row["name"] = [", ".join(map(as_yaml, value)) if isinstance(value, list) else str(value)]
    for field in PERSON_FIELDS if kind == "person" else ():
        text = field.text(settings.pop(field.name, None))
        row[field.name] = [text.removeprefix("strategy: ")]
    return row | {"settings": [SETTINGS.text(settings)]}
