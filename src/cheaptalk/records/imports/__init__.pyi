from .importing import (
    IMPORTERS,
    NAMED,
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
    "NAMED",
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
