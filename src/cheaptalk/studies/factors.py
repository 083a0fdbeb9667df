"""Factors of players: one entry becomes a player for each combination of its levels.

In a study file, ``cross`` lists the levels of each factor::

    players:
      seller:
        temperature: 0
        cross:
          model: [openai/gpt-4o, openai/gpt-4o-mini]
          framing:
            gain: {persona: "You sell what you no longer need."}
            loss: {persona: "You give up what you own."}

A list contains values of the setting with the factor's name; a mapping names levels that can set
anything. The players here are ``seller/gpt-4o/gain``, ``seller/gpt-4o/loss`` and so on, and
``seller`` in a listed seating means each of them.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.rules import Strategy
from cheaptalk.rules.errors import shown

CROSS = "cross"
"""The key of an entry that lists factors."""
MAX_CELLS = 1_000
"""Maximum number of players that one entry may become."""
_ABSENT = object()
Levels: TypeAlias = dict[str, dict[str, Any]]
"""The settings of each level of a factor, by level."""
FactorTable: TypeAlias = dict[str, dict[str, str]]
"""The level of each factor, by player and factor."""


class Crossing(NamedTuple):
    """Players after crossing.

    Attributes:
        players: entries by label, without ``cross``.
        factors: the levels of the players that crossing made.
        cells: the labels that each crossed entry became.
    """

    players: dict[Any, Any]
    factors: FactorTable
    cells: dict[str, list[str]]


class CrossedEntry(NamedTuple):
    """An entry that lists factors, with what crossing made of it.

    Attributes:
        label: of the entry; empty for players whose levels are listed under ``factors``.
        levels: the levels of each factor, in the order of the study.
        players: the labels of its players.
    """

    label: str
    levels: dict[str, list[str]]
    players: list[str]

    def __str__(self) -> str:
        factors = " x ".join(
            f"{name} ({', '.join(levels)})" for name, levels in self.levels.items()
        )
        subject = f"{self.label} crosses" if self.label else "factors of"
        players = f"{len(self.players)} players"
        return (
            f"{subject} {factors}: {players}" if self.label else f"{subject} {players}: {factors}"
        )


def crossed_entries(factors: Mapping[str, Mapping[str, str]]) -> list[CrossedEntry]:
    """Group players by the entry that crossing made them of.

    >>> [str(one) for one in crossed_entries({"s/a": {"model": "a"}, "s/b": {"model": "b"}})]
    ['s crosses model (a, b): 2 players']
    >>> [str(one) for one in crossed_entries({"ann": {"tone": "kind"}, "bob": {"tone": "rude"}})]
    ['factors of 2 players: tone (kind, rude)']
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
    """The label of the entry that became a player; empty if its levels are written by hand.

    >>> crossed_label("seller/gpt/gain", {"model": "gpt", "framing": "gain"})
    'seller'
    """
    suffix = "/" + "/".join(levels.values())
    return label.removesuffix(suffix) if label.endswith(suffix) else ""


def uncrossed(
    entry: CrossedEntry,
    players: Mapping[str, Mapping[str, Any]],
    factors: Mapping[str, Mapping[str, str]],
) -> dict[str, Any] | None:
    """Recover the entry that crossing replaced.

    Args:
        entry: its label, levels and players.
        players: the settings of each player.
        factors: the level of each factor, by player and factor.

    Returns:
        Settings with ``cross``; None if some setting depends on no single factor.

    >>> factors = {"s/0": {"temperature": "0"}, "s/1": {"temperature": "1"}}
    >>> players = {"s/0": {"model": "a/b", "temperature": 0},
    ...            "s/1": {"model": "a/b", "temperature": 1}}
    >>> uncrossed(crossed_entries(factors)[0], players, factors)
    {'model': 'a/b', 'cross': {'temperature': [0, 1]}}
    """
    cells = {label: players[label] for label in entry.players}
    shared: dict[str, Any] = {}
    cross: dict[str, Levels] = {
        name: {level: {} for level in levels} for name, levels in entry.levels.items()
    }
    for key in dict.fromkeys(key for settings in cells.values() for key in settings):
        values = {label: settings.get(key, _ABSENT) for label, settings in cells.items()}
        first = next(iter(values.values()))
        if all(value == first for value in values.values()):
            shared[key] = first
            continue
        for name, levels in cross.items():
            by_level = {factors[label][name]: value for label, value in values.items()}
            if all(value == by_level[factors[label][name]] for label, value in values.items()):
                for level, value in by_level.items():
                    levels[level] |= {} if value is _ABSENT else {key: value}
                break
        else:
            return None
    return {**shared, CROSS: {name: _as_listed(name, levels) for name, levels in cross.items()}}


def _as_listed(name: str, levels: Levels) -> list[Any] | Levels:
    """Levels as a list if each sets only the factor's own setting and is named after its value."""
    if all([*settings] == [name] for settings in levels.values()):
        values = [settings[name] for settings in levels.values()]
        if _names(values) == [*levels]:
            return values
    return levels


def crossing_advice(players: object, message: str) -> str:
    """Advise ``cross`` if a study is refused because a player lists levels outside it.

    >>> crossing_advice({"seller": {"model": ["a/b", "a/c"]}}, "players.seller: model: should be")
    '; to make a player of each value, write seller: {cross: {model: [a/b, a/c]}}'

    Args:
        players: the entries as written.
        message: why the study is refused.

    Returns:
        The end of the sentence; empty if the message is about something else.
    """
    if not isinstance(players, Mapping):
        return ""
    lists = {key: value for key, value in players.items() if _is_listed(value)}
    if any(message.startswith(f"players.{key}: ") for key in lists):
        return f"; to cross factors, write LABEL: {{cross: {_crossing_text(lists)}}}"
    for label, entry in players.items():
        if _is_crossed(entry) and message.startswith(f"players.{label}/"):
            return _level_advice(entry[CROSS], message)
        about = f"players.{label}"
        if not isinstance(entry, Mapping) or not message.startswith((f"{about}.", f"{about}: ")):
            continue
        misspelt = get_close_matches(CROSS, map(str, entry), 1)
        if misspelt and f'unknown key "{misspelt[0]}"' in message:
            return f"; factors are listed under {CROSS}"
        lists = {key: value for key, value in entry.items() if _is_listed(value)}
        wrong = message.removeprefix(about).lstrip(".: ")
        if any(wrong.startswith((f"{key}: ", f'unknown key "{key}"')) for key in lists):
            return (
                "; to make a player of each value, write "
                f"{label}: {{cross: {_crossing_text(lists)}}}"
            )
    return ""


def _level_advice(factors: Mapping[Any, Any], message: str) -> str:
    """Advise to name what each level sets if a factor with listed levels is not a setting."""
    for name, levels in factors.items():
        if _is_listed(levels) and f'unknown key "{name}"' in message:
            named = ", ".join(f"{_text(level)}: {{SETTING: VALUE}}" for level in levels)
            return f"; name what each level sets: {name}: {{{named}}}"
    return ""


def _is_listed(value: object) -> bool:
    return isinstance(value, list | tuple) and len(value) > 1


def _crossing_text(lists: Mapping[Any, Sequence[Any]]) -> str:
    factors = (f"{name}: [{', '.join(map(_text, levels))}]" for name, levels in lists.items())
    return f"{{{', '.join(factors)}}}"


def cross_players(players: Mapping[Any, Any]) -> Crossing:
    """Replace each entry that has ``cross`` with a player for each combination of levels.

    Raises:
        ValueError: the factors are malformed, or a generated label is taken.
    """
    crossing = Crossing({}, {}, {})
    plain = {str(label) for label, entry in players.items() if not _is_crossed(entry)}
    for label, entry in players.items():
        if not _is_crossed(entry):
            crossing.players[label] = entry
            continue
        for cell, settings, levels in _cells(str(label), entry):
            if cell in plain:
                raise ValueError(
                    f'players.{label}: crossing creates a player "{cell}", but another player '
                    "has this label; rename that one"
                )
            crossing.players[cell] = settings
            crossing.factors[cell] = levels
            crossing.cells.setdefault(str(label), []).append(cell)
    return crossing


def cross_pairing(pairing: Any, cells: Mapping[str, Sequence[str]]) -> Any:
    """Replace crossed labels in listed seatings with each of the players that they became.

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
            counts = row.values() if isinstance(row, Mapping) else ()
            seatings.append(dict(zip(labels, counts, strict=True)) if counts else [*labels])
    return seatings


def with_crossed(factors: object, crossed: FactorTable) -> object:
    """Return a study's factors with those of the players that crossing made.

    Raises:
        ValueError: the study gives such a player other levels.
    """
    if not isinstance(factors, Mapping):
        return factors
    for label, levels in crossed.items():
        if label in factors and factors[label] != levels:
            raise ValueError(
                f"factors.{label}: cross sets the levels of this player already; remove it here"
            )
    return {**factors, **crossed}


def check_factors(factors: Mapping[str, Mapping[str, str]], players: Mapping[str, Any]) -> None:
    """Check that factors belong to players of the study and have usable names.

    Raises:
        ValueError: one does not.
    """
    for label, levels in factors.items():
        if label not in players:
            raise ValueError(f'factors: "{label}" is not a player of this study; remove it')
        for name in levels:
            check_factor_name(name)


def check_factor_name(name: object) -> None:
    """Check the name of a factor, which becomes part of a column's name.

    Raises:
        ValueError: it is not a letter followed by letters, digits and underscores.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w{0,39}", name):
        raise ValueError(
            f"{shown(name)} is not the name of a factor: write up to 40 letters, digits and "
            "underscores, a letter first"
        )


def _is_crossed(entry: object) -> bool:
    return isinstance(entry, Mapping) and CROSS in entry


def _cells(label: str, entry: Mapping[str, Any]) -> list[tuple[str, dict[str, Any], Any]]:
    """The label, entry and levels of each player that a crossed entry becomes."""
    path = f"players.{label}.{CROSS}"
    crossed = entry[CROSS]
    if not isinstance(crossed, Mapping) or not crossed:
        raise ValueError(
            f"{path}: {shown(crossed)} is not a mapping from factors to levels, such as "
            "{temperature: [0, 1]}"
        )
    shared = {key: value for key, value in entry.items() if key != CROSS}
    factors = {name: _levels(path, name, levels) for name, levels in crossed.items()}
    size = prod(map(len, factors.values()))
    if size > MAX_CELLS:
        raise ValueError(f"{path}: {size:,} players are more than {MAX_CELLS:,}; remove levels")
    setters: dict[str, str] = dict.fromkeys(shared, "the entry itself")
    for name, levels in factors.items():
        for key in dict.fromkeys(key for settings in levels.values() for key in settings):
            if key in setters:
                raise ValueError(f'{path}.{name}: "{key}" is set by {setters[key]}, too')
            setters[key] = f"the factor {name}"
    cells = []
    for chosen in product(*factors.values()):
        levels_of = dict(zip(factors, chosen, strict=True))
        settings = dict(shared)
        for name, level in levels_of.items():
            settings |= factors[name][level]
        cells.append(("/".join([label, *chosen]), settings, levels_of))
    return cells


def _levels(path: str, name: object, levels: object) -> Levels:
    try:
        check_factor_name(name)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    path = f"{path}.{name}"
    if not isinstance(levels, list | tuple | Mapping) or len(levels) < 2:
        raise ValueError(
            f"{path}: {shown(levels)} is not a list of two levels or more; write "
            "[VALUE, VALUE] or {LEVEL: {SETTING: VALUE}, LEVEL: {SETTING: VALUE}}"
        )
    if isinstance(levels, Mapping):
        for level, settings in levels.items():
            if not isinstance(settings, Mapping):
                raise ValueError(
                    f"{path}.{level}: {shown(settings)} is not a mapping of settings; write "
                    "{SETTING: VALUE}"
                )
        return {str(level): dict(settings) for level, settings in levels.items()}
    for value in levels:
        if isinstance(value, list | tuple | Mapping):
            raise ValueError(
                f"{path}: name the level {shown(value)}: write {{LEVEL: {{{name}: VALUE}}}}"
            )
    names = _names(levels)
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: a level is listed twice; remove one")
    return {level: {str(name): value} for level, value in zip(names, levels, strict=True)}


def _names(values: Sequence[Any]) -> list[str]:
    """Readable names of listed values: of paths and model strings the last part if it is unique."""
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
