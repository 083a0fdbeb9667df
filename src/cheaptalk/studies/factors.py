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

A list holds the values of the setting of the factor's name; a mapping names levels that set
anything. The players here are ``seller/gpt-4o/gain``, ``seller/gpt-4o/loss`` and so on, and
``seller`` in a listed seating means each of them.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.rules import Strategy
from cheaptalk.rules.errors import shown

CROSS = "cross"
"""The key of an entry that lists factors."""
MAX_CELLS = 1_000
"""Players that one entry may become."""
Levels: TypeAlias = dict[str, dict[str, Any]]
"""What each level of a factor sets, by the level's name."""
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
                    f'players.{label}: crossing makes a player "{cell}", and another one has this '
                    "label; rename that one"
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
    where = f"players.{label}.{CROSS}"
    written = entry[CROSS]
    if not isinstance(written, Mapping) or not written:
        raise ValueError(
            f"{where}: {shown(written)} is not a mapping from factors to levels, such as "
            "{temperature: [0, 1]}"
        )
    shared = {key: value for key, value in entry.items() if key != CROSS}
    factors = {name: _levels(where, name, levels) for name, levels in written.items()}
    size = prod(map(len, factors.values()))
    if size > MAX_CELLS:
        raise ValueError(f"{where}: {size:,} players are more than {MAX_CELLS:,}; remove levels")
    setters: dict[str, str] = dict.fromkeys(shared, "the entry itself")
    for name, levels in factors.items():
        for key in dict.fromkeys(key for settings in levels.values() for key in settings):
            if key in setters:
                raise ValueError(f'{where}.{name}: "{key}" is set by {setters[key]}, too')
            setters[key] = f"the factor {name}"
    cells = []
    for chosen in product(*factors.values()):
        levels_of = dict(zip(factors, chosen, strict=True))
        settings = dict(shared)
        for name, level in levels_of.items():
            settings |= factors[name][level]
        cells.append(("/".join([label, *chosen]), settings, levels_of))
    return cells


def _levels(where: str, name: object, written: object) -> Levels:
    try:
        check_factor_name(name)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    where = f"{where}.{name}"
    if not isinstance(written, list | tuple | Mapping) or len(written) < 2:
        raise ValueError(
            f"{where}: {shown(written)} is not a list of two levels or more; write "
            "[VALUE, VALUE] or {LEVEL: {SETTING: VALUE}, LEVEL: {SETTING: VALUE}}"
        )
    if isinstance(written, Mapping):
        for level, settings in written.items():
            if not isinstance(settings, Mapping):
                raise ValueError(
                    f"{where}.{level}: {shown(settings)} is not a mapping of settings; write "
                    "{SETTING: VALUE}"
                )
        return {str(level): dict(settings) for level, settings in written.items()}
    for value in written:
        if isinstance(value, list | tuple | Mapping):
            raise ValueError(
                f"{where}: name the level {shown(value)}: write {{LEVEL: {{{name}: VALUE}}}}"
            )
    names = _names(written)
    if len(set(names)) < len(names):
        raise ValueError(f"{where}: a level is listed twice; remove one")
    return {level: {str(name): value} for level, value in zip(names, written, strict=True)}


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
