"""Who joins a study beside the players that it lists: rosters, and settings that models share."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from cheaptalk.players import ModelSeat
from cheaptalk.players.rosters import chosen
from cheaptalk.rules import UnknownName, suggest
from cheaptalk.rules.errors import shown
from cheaptalk.rules.problems import first_problem


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
    shared = study.get("models") or {}
    _check_shared(shared)
    study["players"] = {label: _with(shared, entry) for label, entry in players.items()}
    return study


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
