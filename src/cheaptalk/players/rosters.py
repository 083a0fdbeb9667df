"""Rosters: players under their labels, ready to join a study.

A roster is a YAML file. Its ``settings`` hold for all its players, who may have their own; a
``note`` says what is to be known of one, such as that its provider has shut it down.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from cheaptalk.players.seats import RosterEntry, labelled
from cheaptalk.rules import Value, suggest
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import first_problem
from cheaptalk.rules.registry import Registry, instances, several
from cheaptalk.yaml_files import read_yaml

ROSTERS: Registry[Path] = Registry("roster", "cheaptalk.rosters", instances(Path), several)
"""All rosters by name; an entry point refers to a mapping of their files."""


class Roster(Value):
    """Players under their labels.

    Attributes:
        description: for people.
        source: where the players and their settings are from.
        settings: of all players; their own go before these.
        players: entries as in a study file, with an optional ``note``.
    """

    description: str = ""
    source: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    players: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]

    @field_validator("players", mode="before")
    @classmethod
    def _labelled(cls, data: Any) -> Any:
        return labelled(data) if isinstance(data, Mapping) else data

    def __repr__(self) -> str:
        return brief(self, ", ".join(self.players))

    def entries(self) -> dict[str, dict[str, Any]]:
        """The players as they are written in a study file, by label."""
        found = {}
        for label, written in self.players.items():
            whole = self.settings | written
            named = {"model": whole["model"]} if "model" in whole else {}
            found[label] = named | {key: one for key, one in whole.items() if key != "note"}
        return found

    @property
    def notes(self) -> dict[str, str]:
        """What is to be known of players, by label."""
        return {label: str(one["note"]) for label, one in self.players.items() if "note" in one}


def roster_names() -> list[str]:
    """The names of the rosters that come with this and other packages."""
    return sorted(ROSTERS)


def roster(name: str) -> Roster:
    """A roster by name, or of a YAML file.

    Raises:
        UnknownName: there is no such roster.
        ValueError: the file cannot be read or is no roster.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = ROSTERS.find(name)
    data = read_yaml(path)
    if not isinstance(data, Mapping) or not isinstance(data.get("players"), Mapping):
        raise ValueError(f"{name}: a roster is a mapping with players: LABEL: {{model: NAME}}")
    try:
        found = Roster.model_validate(dict(data))
    except ValidationError as error:
        raise ValueError(f"{name}: {first_problem(error)}") from None
    for label, entry in found.entries().items():
        try:
            RosterEntry.model_validate(entry)
        except ValidationError as error:
            raise ValueError(f"{name}: players.{label}: {first_problem(error)}") from None
    return found


def chosen(written: str) -> dict[str, dict[str, Any]]:
    """The players of a roster, or those of its labels: ``NAME_OR_FILE[:LABEL,...]``.

    >>> list(chosen("self-play")), list(chosen("glee:gpt-4o,o3-mini"))
    (['gpt-3.5', 'gpt-4'], ['gpt-4o', 'o3-mini'])

    Raises:
        UnknownName: there is no such roster.
        ValueError: the file cannot be read or is no roster, or has no player of that label.
    """
    name, colon, labels = written.partition(":")
    entries = roster(name).entries()
    wanted = [label.strip() for label in labels.split(",")] if colon else list(entries)
    for label in wanted:
        if label not in entries:
            raise ValueError(f"{name}: no player {suggest(label, list(entries))}")
    return {label: entries[label] for label in wanted}
