from .importing import (
    IMPORTERS,
    NAMES_WARNING,
    GameCollection,
    ImportedGame,
    Importer,
    ImportFailed,
    ImportSummary,
    Skipped,
    check_not_empty,
    contains_names,
    folder_reader,
    import_matches,
)

__all__ = [
    "IMPORTERS",
    "NAMES_WARNING",
    "GameCollection",
    "ImportFailed",
    "ImportSummary",
    "ImportedGame",
    "Importer",
    "Skipped",
    "check_not_empty",
    "contains_names",
    "folder_reader",
    "import_matches",
]
