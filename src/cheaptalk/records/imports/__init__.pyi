from .importing import (
    IMPORTERS,
    NAMED,
    Collection,
    ForeignGame,
    Importer,
    Intake,
    Skipped,
    Unfit,
    holds_names,
    import_matches,
    of_folder,
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
