"""Taking in games that other systems published.

Each system has a module with one function, which reads its files into a :class:`Collection`;
:func:`take_in` stores any collection. A new importer is such a module, an entry here, and a command
in ``cli/data.py``.
"""

from cheaptalk.records.importers.dond import read_dond
from cheaptalk.records.importers.gama import read_gama
from cheaptalk.records.importers.glee import read_glee
from cheaptalk.records.importers.intake import (
    Collection,
    ForeignGame,
    Intake,
    Skipped,
    Unfit,
    take_in,
    with_a_game,
)

__all__ = [
    "Collection", "ForeignGame", "Intake", "Skipped", "Unfit", "read_dond", "read_gama",
    "read_glee", "take_in", "with_a_game",
]  # fmt: skip
