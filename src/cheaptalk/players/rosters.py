"""Rosters: named collections of players, ready for use in a study.

A roster is a YAML file. The roster's ``settings`` apply to all players; each player can override
them. A ``note`` contains remarks on a player.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from cheaptalk.names import RosterName
from cheaptalk.players.seats import RosterEntry, labelled
from cheaptalk.rules import Value, suggest
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import WrongValue, first_problem
from cheaptalk.rules.registry import Registry, instances, several
from cheaptalk.styles.template_files import with_texts
from cheaptalk.yaml_files import as_block, read_yaml

ROSTERS: Registry[Path] = Registry("roster", "cheaptalk.rosters", instances(Path), several)
"""All rosters by name; an entry point refers to a mapping of their files."""
OURS: dict[str, Path] = {"current": Path(__file__).with_name("current.yaml")}
"""Rosters that do not belong to a paper."""
WIDTH = 100
"""Maximum characters on a line of a roster's description."""
NO_COMMENTS: Mapping[str, str] = MappingProxyType({})


class Roster(Value):
    """A named collection of players, by label.

    Attributes:
        description: what the roster contains, for readers.
        source: the publication that describes the players.
        settings: the settings of all players; a player's own settings take precedence.
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
        """Return the players as entries of a study file, by label."""
        entries_by_label = {}
        for label, entry in self.players.items():
            merged = self.settings | entry
            model = {"model": merged["model"]} if "model" in merged else {}
            entries_by_label[label] = model | {
                key: value for key, value in merged.items() if key != "note"
            }
        return entries_by_label

    def as_yaml(self, comments: Mapping[str, str] = NO_COMMENTS) -> str:
        """Return the roster as the text of a roster file, which :func:`roster` reads.

        >>> print(Roster(settings={"tries": 1}, players={"a": {"model": "vllm/x"}}).as_yaml())
        settings: {tries: 1}
        players:
          a: {model: vllm/x}

        Args:
            comments: a comment on players, by label.
        """
        data = self.model_dump(exclude={"players"}, exclude_defaults=True)
        lines = as_block(data, WIDTH).splitlines() if data else []
        lines.append("players:")
        for label, entry in self.players.items():
            _, first, *rest = as_block({"players": {label: entry}}).splitlines()
            comment = f"  # {comments[label]}" if comments.get(label) else ""
            lines += [first + comment, *rest]
        return "\n".join(lines)


def roster_names() -> list[str]:
    """Return the names of all installed rosters."""
    return sorted(ROSTERS)


def roster(name: RosterName) -> Roster:
    """Return an installed roster by name, or load a roster from a YAML file.

    Raises:
        UnknownName: no roster has this name.
        WrongValue: the file cannot be read or is not a roster.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = ROSTERS.find(name)
    data = read_yaml(path)
    if not isinstance(data, Mapping) or not isinstance(data.get("players"), Mapping):
        raise WrongValue(f"{name}: expected a mapping with players: LABEL: {{model: NAME}}")
    read = partial(with_texts, folder=path.parent)
    try:
        players = {label: read(entry) for label, entry in data["players"].items()}
        settings = {"settings": read(data["settings"])} if "settings" in data else {}
    except ValueError as error:
        raise WrongValue(f"{name}: {error}") from None
    try:
        loaded = Roster.model_validate({**data, "players": players, **settings})
    except ValidationError as error:
        raise WrongValue(f"{name}: {first_problem(error)}") from None
    for label, entry in loaded.entries().items():
        try:
            RosterEntry.model_validate(entry)
        except ValidationError as error:
            raise WrongValue(f"{name}: players.{label}: {first_problem(error)}") from None
    return loaded


def chosen(selection: str) -> dict[str, dict[str, Any]]:
    """Return the players selected by ``NAME_OR_FILE[:LABEL,...]``; without labels, all players.

    >>> list(chosen("self-play")), list(chosen("glee:gpt-4o,o3-mini"))
    (['gpt-3.5', 'gpt-4'], ['gpt-4o', 'o3-mini'])

    Raises UnknownName or ValueError, as :func:`roster` does, and ValueError for an unknown label.
    """
    name, colon, labels = selection.partition(":")
    entries = roster(name).entries()
    selected = [label.strip() for label in labels.split(",")] if colon else list(entries)
    for label in selected:
        if label not in entries:
            raise WrongValue(f"{name}: unknown player {suggest(label, list(entries))}")
    return {label: entries[label] for label in selected}
