"""Registry of importers of other systems' games."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from cheaptalk.records.imports.importing import Collection
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.registry import Registry, instances


class Importer(NamedTuple):
    """An importer of games from another system.

    Attributes:
        help: one sentence for ``cheaptalk store import --help``.
        read: reads the games in some files or folders.
        notes: notes for readers of a report, by game and parameter, if the other system defines the
            parameter differently.
    """

    help: str
    read: Callable[[Sequence[Path]], Collection]
    notes: Mapping[str, Mapping[str, str]] = MappingProxyType({})


IMPORTERS: Registry[Importer] = Registry("importer", "cheaptalk.importers", instances(Importer))
"""All importers; ``cheaptalk store import NAME PATH...`` runs one of them."""


def of_folder(read: Callable[[Path], Collection]) -> Callable[[Sequence[Path]], Collection]:
    """Convert a function that reads one folder into an importer's ``read`` function."""

    def read_only(paths: Sequence[Path]) -> Collection:
        if len(paths) != 1:
            raise CheaptalkError(
                f"{paths[0]}: expected one folder, not {len(paths)}; it may contain subfolders"
            )
        return read(paths[0])

    return read_only
