"""Faults in recorded games, from YAML files with the errors that name them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml


def read_faults(system: str) -> dict[str, dict[str, Any]]:
    """Return the faults of a system's files by name."""
    path = Path(__file__).with_name(f"{system}_faults.yaml")
    faults: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text("utf-8"))
    return faults


def put(*path: str | int) -> Callable[[Any, Any], None]:
    """Return a function that sets the value at a path in a file; ``...`` deletes it."""

    def change(data: Any, value: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        if value is ...:
            del data[path[-1]]
        else:
            data[path[-1]] = value

    return change
