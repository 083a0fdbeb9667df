"""Taking in games that other systems published.

Each system has an :class:`Importer`, which reads its files into a :class:`Collection`;
:func:`take_in` stores any collection.
"""

from cheaptalk.records.imports.importers import IMPORTERS, Importer, of_folder
from cheaptalk.records.imports.intake import (
    Collection,
    ForeignGame,
    Intake,
    Skipped,
    Unfit,
    take_in,
    with_a_game,
)

__all__ = [
    "IMPORTERS", "Collection", "ForeignGame", "Importer", "Intake", "Skipped", "Unfit", "of_folder",
    "take_in", "with_a_game",
]  # fmt: skip
