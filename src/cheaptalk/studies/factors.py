"""Factorial designs: one entry of a study file becomes a player per combination of levels.

In a study file, ``cross`` lists the levels of each factor::

    players:
      seller:
        temperature: 0
        cross:
          model: [openai/gpt-4o, openai/gpt-4o-mini]
          framing:
            gain: {persona: "You sell what you no longer need."}
            loss: {persona: "You give up what you own."}

A list contains values of the setting that has the factor's name. A mapping contains named levels,
each with any settings. This example creates the players ``seller/gpt-4o/gain``,
``seller/gpt-4o/loss`` and so on; in a listed seating, ``seller`` refers to each of these players.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.rules import Strategy
from cheaptalk.rules.errors import LocatedError, Problem, shown

CROSS = "cross"
"""The key of an entry that lists factors."""
MAX_CELLS = 1_000
"""Maximum number of players that one entry may create."""
Levels: TypeAlias = dict[str, dict[str, Any]]
"""The settings of each level of a factor, by level."""
FactorTable: TypeAlias = dict[str, dict[str, str]]
"""The level of each factor, by player and factor."""


class Crossing(NamedTuple):
    """Players without ``cross``, and the factor levels and labels that crossed factors produce."""

    players: dict[Any, Any]
    factors: FactorTable
    cells: dict[str, list[str]]


class CrossedEntry(NamedTuple):
    """A player entry with crossed factors: their levels, and the labels of the created players.

    The label of the entry is empty for players with levels listed under ``factors``.
    """

    label: str
    levels: dict[str, list[str]]
    players: list[str]

    def __str__(self) -> str:
        texts = (f"{name} ({', '.join(levels)})" for name, levels in self.levels.items())
        factors, players = " x ".join(texts), f"{len(self.players)} players"
        if self.label:
            return f"{self.label} crosses {factors}: {players}"
        return f"factors of {players}: {factors}"


def crossed_entries(factors: Mapping[str, Mapping[str, str]]) -> list[CrossedEntry]:
    """Group players by the entry with crossed factors that generated them.

    >>> str(crossed_entries({"s/a": {"model": "a"}, "s/b": {"model": "b"}})[0])
    's crosses model (a, b): 2 players'
    >>> str(crossed_entries({"ann": {"tone": "kind"}, "bob": {"tone": "rude"}})[0])
    'factors of 2 players: tone (kind, rude)'
    """
    entries: dict[tuple[str, ...], CrossedEntry] = {}
    for label, levels in factors.items():
        base = crossed_label(label, levels)
        entry = entries.setdefault((base, *levels), CrossedEntry(base, {}, []))
        entry.players.append(label)
        for name, level in levels.items():
            if level not in entry.levels.setdefault(name, []):
                entry.levels[name].append(level)
    return list(entries.values())


def crossed_label(label: str, levels: Mapping[str, str]) -> str:
    """Return the label of the study entry that generated a player; empty if there is none.

    >>> crossed_label("seller/gpt/gain", {"model": "gpt", "framing": "gain"})
    'seller'
    """
    suffix = "/" + "/".join(levels.values())
    return label.removesuffix(suffix) if label.endswith(suffix) else ""


def crossing_advice(players: object, problem: Problem) -> str:
    """Suggest the ``cross`` syntax if an error was caused by listing levels without it.

    >>> problem = Problem(("players", "seller", "model"), "string_type", "should be text")
    >>> crossing_advice({"seller": {"model": ["a/b", "a/c"]}}, problem)
    '; to create a player for each value, write seller: {cross: {model: [a/b, a/c]}}'

    Returns:
        The end of the message; empty if the problem has another cause.
    """
    match problem.location:
        case ("players", str(label), *keys) if isinstance(players, Mapping):
            pass
        case _:
            return ""
    for crossed, entry in players.items():
        if _is_crossed(entry) and label.startswith(f"{crossed}/"):
            return _level_advice(entry[CROSS], problem.message)
    entry = next((entry for key, entry in players.items() if str(key) == label), None)
    if _is_listed(entry) and not keys:
        lists = {key: value for key, value in players.items() if _is_listed(value)}
        return f"; to cross factors, write LABEL: {{cross: {_crossing_text(lists)}}}"
    if not isinstance(entry, Mapping):
        return ""
    misspelt = get_close_matches(CROSS, map(str, entry), 1)
    if misspelt and f'unknown key "{misspelt[0]}"' in problem.message:
        return f"; list factors under {CROSS}"
    lists = {key: value for key, value in entry.items() if _is_listed(value)}
    if any(keys == [key] or f'unknown key "{key}"' in problem.message for key in lists):
        entry_text = f"{label}: {{cross: {_crossing_text(lists)}}}"
        return f"; to create a player for each value, write {entry_text}"
    return ""


def _level_advice(factors: Mapping[Any, Any], message: str) -> str:
    """Suggest a mapping of levels for a factor with a list of levels but no setting of its name."""
    for name, levels in factors.items():
        if _is_listed(levels) and f'unknown key "{name}"' in message:
            named = ", ".join(f"{_text(level)}: {{SETTING: VALUE}}" for level in levels)
            return f"; write the settings of each level: {name}: {{{named}}}"
    return ""


def _is_listed(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 1


def _crossing_text(lists: Mapping[Any, Sequence[Any]]) -> str:
    factors = (f"{name}: [{', '.join(map(_text, levels))}]" for name, levels in lists.items())
    return f"{{{', '.join(factors)}}}"


def cross_players(players: Mapping[Any, Any]) -> Crossing:
    """Replace each entry that has ``cross`` with one player per combination of factor levels."""
    crossing = Crossing({}, {}, {})
    plain = {str(label) for label, entry in players.items() if not _is_crossed(entry)}
    for label, entry in players.items():
        if not _is_crossed(entry):
            crossing.players[label] = entry
            continue
        for cell, settings, levels in _cells(str(label), entry):
            if cell in plain:
                raise LocatedError(
                    f'crossing creates a player "{cell}", but another player has this label; '
                    "rename the other player",
                    "players",
                    str(label),
                )
            crossing.players[cell] = settings
            crossing.factors[cell] = levels
            crossing.cells.setdefault(str(label), []).append(cell)
    return crossing


def cross_pairing(pairing: Any, cells: Mapping[str, Sequence[str]]) -> Any:
    """Expand labels in seatings to the players generated from their crossed factors.

    >>> cross_pairing([["seller", "firm"]], {"seller": ["seller/a", "seller/b"]})
    [['seller/a', 'firm'], ['seller/b', 'firm']]
    """
    if not isinstance(pairing, list | tuple) or not cells:
        return pairing
    seatings: list[Any] = []
    for row in pairing:
        if not isinstance(row, list | tuple | Mapping):
            return pairing
        for labels in product(*(cells.get(str(label), [label]) for label in row)):
            if isinstance(row, Mapping):
                counts: dict[str, Any] = {}
                for label, count in zip(labels, row.values(), strict=True):
                    counts[label] = counts[label] + count if label in counts else count
                seatings.append(counts)
            else:
                seatings.append([*labels])
    return seatings


def with_crossed(factors: object, crossed: FactorTable) -> object:
    """Return a study's factors with the factor levels of generated players added."""
    if not isinstance(factors, Mapping):
        return factors
    for label, levels in crossed.items():
        if label in factors and factors[label] != levels:
            raise LocatedError(
                "cross already sets the levels of this player; remove this entry", "factors", label
            )
    return {**factors, **crossed}


def check_factors(factors: Mapping[str, Mapping[str, str]], players: Mapping[str, Any]) -> None:
    """Check that factors belong to players of the study and have valid names."""
    for label, levels in factors.items():
        if label not in players:
            raise LocatedError(f'"{label}" is not a player of this study; remove it', "factors")
        for name in levels:
            check_factor_name(name)


def check_factor_name(name: object) -> None:
    """Check that a factor's name is valid, because it becomes part of a column name."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w{0,39}", name):
        raise ValueError(
            f"{shown(name)} is not a valid name of a factor; use up to 40 letters, digits and "
            "underscores, starting with a letter"
        )


def _is_crossed(entry: object) -> bool:
    return isinstance(entry, Mapping) and CROSS in entry


def _cells(label: str, entry: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], Any]]:
    """Return the label, settings and levels of each player that crossed factors generate."""
    path = ("players", label, CROSS)
    crossed = entry[CROSS]
    if not isinstance(crossed, Mapping) or not crossed:
        raise LocatedError(
            f"{shown(crossed)} is not a mapping from factors to levels; write, for example, "
            "{temperature: [0, 1]}",
            *path,
        )
    shared = {key: value for key, value in entry.items() if key != CROSS}
    factors = {name: _levels(path, name, levels) for name, levels in crossed.items()}
    size = prod(map(len, factors.values()))
    if size > MAX_CELLS:
        raise LocatedError(f"{size:,} players exceed {MAX_CELLS:,}; remove levels", *path)
    setters: dict[str, str] = dict.fromkeys(shared, "the entry itself")
    for name, levels in factors.items():
        for key in dict.fromkeys(key for settings in levels.values() for key in settings):
            if key in setters:
                problem = f'"{key}" is also set by {setters[key]}; set one'
                raise LocatedError(problem, *path, str(name))
            setters[key] = f"the factor {name}"
    cells = []
    for chosen in product(*factors.values()):
        levels_of = dict(zip(factors, chosen, strict=True))
        settings = dict(shared)
        for name, level in levels_of.items():
            settings |= factors[name][level]
        cells.append(("/".join([label, *chosen]), settings, levels_of))
    return cells


def _levels(path: tuple[str, ...], name: object, levels: object) -> Levels:
    try:
        check_factor_name(name)
    except ValueError as error:
        raise LocatedError(str(error), *path) from None
    path = (*path, str(name))
    if not isinstance(levels, list | tuple | Mapping) or len(levels) < 2:
        raise LocatedError(
            f"{shown(levels)} is not a list of at least two levels; write "
            "[VALUE, VALUE] or {LEVEL: {SETTING: VALUE}, LEVEL: {SETTING: VALUE}}",
            *path,
        )
    if isinstance(levels, Mapping):
        for level, settings in levels.items():
            if not isinstance(settings, Mapping):
                problem = (
                    f"{shown(settings)} is not a mapping of settings; write {{SETTING: VALUE}}"
                )
                raise LocatedError(problem, *path, str(level))
        return {str(level): dict(settings) for level, settings in levels.items()}
    for value in levels:
        if isinstance(value, list | tuple | Mapping):
            raise LocatedError(
                f"name the level {shown(value)}: write {{LEVEL: {{{name}: VALUE}}}}", *path
            )
    names = _names(levels)
    if len(set(names)) < len(names):
        raise LocatedError("a level is listed twice; remove one", *path)
    return {level: {str(name): value} for level, value in zip(names, levels, strict=True)}


def _names(values: Sequence[Any]) -> list[str]:
    """Shorten paths and model strings to their last parts, unless these are ambiguous."""
    full = [_text(value) for value in values]
    short = [name.rpartition("/")[2] for name in full]
    return short if len(set(short)) == len(full) and all(short) else full


def _text(value: Any) -> str:
    if isinstance(value, Strategy):
        return value.name
    if callable(value):
        return str(getattr(value, "__name__", value))
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return str(value)
