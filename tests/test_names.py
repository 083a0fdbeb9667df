"""The names that editors suggest are those of all built-in objects."""

import os
from collections.abc import Iterable
from pathlib import Path
from textwrap import fill
from typing import Any

import cheaptalk as ct
from cheaptalk import names
from cheaptalk.players.rosters import ROSTERS
from cheaptalk.rules.registry import GAMES, OURS, Registry
from cheaptalk.studies.exports.exporter import FORMS
from cheaptalk.studies.presets import PRESETS

STUB = Path(names.__file__).with_suffix(".pyi")
HEADER = '''\
"""The names of built-in objects, written by tests/test_names.py with CHEAPTALK_GOLDEN=write."""
# fmt: off

from typing import Literal, TypeAlias

'''


def ours(registry: Registry[Any]) -> list[str]:
    """Return the names that this package registers."""
    return [name for name in registry if registry.origin(name) == OURS]


def alias(name: str, members: Iterable[str]) -> str:
    text = (
        f"{name}: TypeAlias = Literal[" + ", ".join(f'"{m}"' for m in sorted(members)) + "] | str"
    )
    return fill(text, 100, subsequent_indent="    ", break_on_hyphens=False) + "\n"


def test_stub_lists_the_names_of_built_in_objects() -> None:
    strategies = {name for game in ours(GAMES) for name in ct.get_game(game).strategies}
    text = HEADER + "".join(
        [
            alias("ExportForm", FORMS),
            alias("GameName", ours(GAMES)),
            alias("PresetName", ours(PRESETS)),
            alias("RecipeName", ours(ct.reports.RECIPES)),
            alias("RosterName", ours(ROSTERS)),
            alias("RubricName", ours(ct.judges.RUBRICS)),
            alias("StrategyName", strategies),
        ]
    )
    if os.environ.get("CHEAPTALK_GOLDEN") == "write":
        STUB.write_text(text, encoding="utf-8")
    assert STUB.read_text(encoding="utf-8") == text
