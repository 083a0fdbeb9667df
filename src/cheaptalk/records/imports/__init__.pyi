from .importers import IMPORTERS, Importer, of_folder
from .importing import (
    NAMED,
    Collection,
    ForeignGame,
    Intake,
    Skipped,
    Unfit,
    holds_names,
    import_matches,
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
    "import_matches",
    "of_folder",
    "with_a_game",
]
