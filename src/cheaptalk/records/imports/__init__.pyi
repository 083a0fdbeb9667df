from .importers import IMPORTERS, Importer, of_folder
from .importing import (
    NAMED,
    Collection,
    ForeignGame,
    Intake,
    Skipped,
    Unfit,
    holds_names,
    take_in,
    with_a_game,
)

__all__ = [
    "IMPORTERS",
    "NAMED",
    "Collection",
    "ForeignGame",
    "Importer",
    "Intake",
    "Skipped",
    "Unfit",
    "holds_names",
    "of_folder",
    "take_in",
    "with_a_game",
]
