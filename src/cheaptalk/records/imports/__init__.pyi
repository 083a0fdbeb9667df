from .importers import IMPORTERS, Importer, of_folder
from .intake import Collection, ForeignGame, Intake, Skipped, Unfit, take_in, with_a_game

__all__ = [
    "IMPORTERS",
    "Collection",
    "ForeignGame",
    "Importer",
    "Intake",
    "Skipped",
    "Unfit",
    "of_folder",
    "take_in",
    "with_a_game",
]
