"""The form fields of a pairing, and the seatings that the form lists for pairings with people."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from cheaptalk.rules import CheaptalkError, Game, get_game
from cheaptalk.studies.study import joined, read_pairing
from cheaptalk.web.console.designs.fields import (
    Problems,
    Row,
    last_text,
    line_values,
    single_number,
)
from cheaptalk.yaml_files import as_yaml

LISTED = "listed"
PAIRINGS = {
    "all": "all players with one another",
    "people": "each person with each model, script or policy",
    "self": "self-play; in a study with people, only people with one another",
    "self_all": "self-play, including models and scripts",
    LISTED: "listed players by seat",
}
"""Display texts of pairings."""


def pairing_data(row: Row, prefix: str, problems: Problems) -> Any:
    """Return a pairing in the format of a study file; None for the study's pairing.

    The pairings ``people`` and ``self`` depend on the players; see :func:`with_seatings`.
    """
    choice, sample = last_text(row, "pairing"), last_text(row, "sample").strip()
    if choice == LISTED:
        seatings = last_text(row, "seatings")
        return problems.read(f"{prefix}seatings", lambda: _listed(line_values(seatings)))
    if choice == "all" and sample:
        return {"sample": problems.read(f"{prefix}sample", lambda: single_number(sample))}
    if choice and choice not in PAIRINGS:
        problem = f'"{choice}" is not a pairing; choose one from the list'
        problems[f"{prefix}pairing"] = problem
    return {"self_all": "self", "people": "all"}.get(choice, choice) or None


def _listed(rows: Sequence[Any]) -> Any:
    """Return the pairing in the lines of a form field: seatings, or players who don't play."""
    only = rows[0] if len(rows) == 1 else None
    if isinstance(only, Mapping) and "without" in only:
        return read_pairing(only).model_dump()
    return read_pairing(rows)


def pairing_texts(pairing: Any, data: Mapping[str, Any], grid: Mapping[str, Any]) -> Row:
    """Return the form fields of a pairing in a study file's data, for one of its games."""
    if isinstance(pairing, Mapping):
        if "without" in pairing:
            return {"pairing": [LISTED], "seatings": [as_yaml(pairing)]}
        return {"pairing": ["all"], "sample": [str(pairing["sample"])]}
    people, others = _people_and_others(data)
    choices = (["self"] if people else []) + (["people"] if people and others else [])
    if not isinstance(pairing, list):
        return {"pairing": ["self_all" if pairing == "self" and people else pairing]}
    for choice in choices:
        if pairing == _seatings(choice, data, grid):
            return {"pairing": [choice]}
    return {"pairing": [LISTED], "seatings": ["\n".join(map(as_yaml, pairing))]}


def with_seatings(data: Mapping[str, Any], choices: Sequence[str]) -> dict[str, Any]:
    """Return a study file's data with the seatings of the pairings ``people`` and ``self``.

    The seatings are listed for the whole study if all games with its pairing have the same ones.
    ``choices`` contains each game's pairing, which may be empty, and then the study's. A ValueError
    is raised if a pairing needs people or other players who are missing.
    """
    *own_choices, shared_choice = choices
    rows = list(zip(own_choices, data["games"], strict=True))
    seatings = [_seatings(own or shared_choice, data, grid) for own, grid in rows]
    shared = [listed for (own, _), listed in zip(rows, seatings, strict=True) if not own]
    is_shared = bool(shared) and shared[0] != [] and shared.count(shared[0]) == len(shared)
    games = [
        grid if not listed or (is_shared and not own) else {**grid, "pairing": listed}
        for (own, grid), listed in zip(rows, seatings, strict=True)
    ]
    return {**data, "games": games} | ({"pairing": shared[0]} if is_shared else {})


def _seatings(choice: str, data: Mapping[str, Any], grid: Mapping[str, Any]) -> list[Any]:
    """Return the seatings of one of the pairings ``people`` and ``self``; empty for others."""
    if choice not in ("people", "self"):
        return []
    people, others = _people_and_others(data)
    if choice == "people" and not (people and others):
        raise ValueError(
            "this pairing needs a person and another kind of player; add the missing one"
        )
    try:
        seats = len(first_configuration(grid).seats)
    except (CheaptalkError, ValidationError):
        return []  # reported when the game is validated
    if choice == "self":
        return [[label] * seats if seats == 2 else {label: seats} for label in people]
    pairs = [(person, other) for person in people for other in others]
    return [[*pair] if seats == 2 else {pair[0]: 1, pair[1]: seats - 1} for pair in pairs]


def _people_and_others(data: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    try:
        players = joined(data)["players"]
    except ValueError:  # reported when the players are validated
        players = data["players"]
    people = [
        label
        for label, entry in players.items()
        if isinstance(entry, Mapping) and "person" in entry
    ]
    return people, [label for label in players if label not in people]


def first_configuration(grid: Mapping[str, Any]) -> Game:
    """Return a game with the first values of its parameter grid."""
    first = {name: values[0] for name, values in grid.get("grid", {}).items()}
    parameters = grid.get("fixed", {}) | grid.get("cases", [{}])[0] | first
    return get_game(grid["game"]).rules.model_validate(parameters)
