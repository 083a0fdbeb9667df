"""All commands and command groups, and the function that defines each: the rows of commands.csv."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A command that is imported when it is first used, or a group of commands.

    The location is a module below ``cheaptalk.cli`` with a function or class. It is empty for most
    groups.
    """

    location: str
    summary: str
    commands: dict[str, Entry]


def _read(path: Path) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the commands and groups, and current command names by earlier name."""
    commands: dict[str, Entry] = {}
    renamed = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            *groups, name = row["command"].split()
            entries = commands
            for group in groups:
                entries = entries[group].commands
            entries[name] = Entry(row["location"], row["summary"], {})
            if row["earlier name"]:
                renamed[row["earlier name"]] = row["command"]
    return commands, renamed


COMMANDS, RENAMED = _read(Path(__file__).with_suffix(".csv"))
"""The top-level commands, most used first, and the groups. Current names of commands by their names
before version 0.1.0; to be removed in 1.0."""


def full_names(commands: dict[str, Entry] = COMMANDS) -> dict[str, Entry]:
    """Return all commands by full name, such as ``run`` and ``game list``."""
    names: dict[str, Entry] = {}
    for name, entry in commands.items():
        inner = {
            f"{name} {below}": command for below, command in full_names(entry.commands).items()
        }
        names |= inner or {name: entry}
    return names
