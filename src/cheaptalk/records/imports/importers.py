"""Importers of other systems' games by name; others may add theirs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from cheaptalk.records.imports.intake import Collection
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.registry import Registry, instances


class Importer(NamedTuple):
    """Takes in the games of another system.

    Attributes:
        help: what it imports, in a sentence, for ``cheaptalk import --help``.
        read: the games in some files or folders.
        notes: what readers of a report must know of a parameter of our rules where the other system
            took it otherwise, by game and parameter.
    """

    help: str
    read: Callable[[Sequence[Path]], Collection]
    notes: Mapping[str, Mapping[str, str]] = MappingProxyType({})


IMPORTERS: Registry[Importer] = Registry("importer", "cheaptalk.importers", instances(Importer))
"""All importers; ``cheaptalk import NAME PATH...`` runs one."""


def of_folder(read: Callable[[Path], Collection]) -> Callable[[Sequence[Path]], Collection]:
    """What reads one folder, for an importer.

    Raises:
        CheaptalkError: when it is given several.
    """

    def read_only(paths: Sequence[Path]) -> Collection:
        if len(paths) != 1:
            raise CheaptalkError(f"{paths[0]}: give one folder at a time, with games at any depth")
        return read(paths[0])

    return read_only
