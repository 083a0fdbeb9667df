"""Import of games from other systems: the importers' output and its storage."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cheaptalk.players import ImportedSeat, Kind
from cheaptalk.records.identity import configuration_digest, imported_match_digest, player_digest
from cheaptalk.records.record import Ended, ended, scripted_answers
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.records.store.reader import chunks, specs_of
from cheaptalk.records.store.store import NewMatch, Store, StudyRows, adopt
from cheaptalk.rules import CheaptalkError, RulesError, Table
from cheaptalk.rules.registry import Registry, instances

CHUNK = 500
"""Number of games that are stored together."""
TAKEN_OUT = "taken out"
"""Marks studies from whose messages names were removed."""
NAMED = "messages may contain names that people wrote: read them before you publish them"
"""Warning about studies for which :func:`holds_names` is true."""


class Unfit(Exception):
    """Raised when a game can't be imported, with the file, the field and the problem."""


class Skipped(NamedTuple):
    """A game that was not imported, with its location and the reason."""

    game: str
    reason: str


class ForeignGame(NamedTuple):
    """A game of another system, replayed to its end under cheaptalk's rules.

    Attributes:
        id: the game's id in the other system, unique in a study.
        location: the game's location, for messages.
        table: the replayed table.
        seats: the players by seat.
        source: the game's origin, and data that a record has no field for.
        redactions: the number of names removed from the messages.
        failures: kinds of invalid answers by request.
        notes: corrections made while reading, such as of misspelled words, with counts.
    """

    id: str
    location: str
    table: Table
    seats: Mapping[str, ImportedSeat]
    source: dict[str, Any]
    redactions: int = 0
    failures: Mapping[int, Kind] = MappingProxyType({})
    notes: Mapping[str, int] = MappingProxyType({})


class Collection(NamedTuple):
    """A collection of games from another system, each of which is read only when it is stored.

    Attributes:
        system: the system's name.
        folder: the name of the games' folder.
        games: the games, and skipped ones.
        names_kept: whether names that people wrote were kept; None if they were not searched.
    """

    system: str
    folder: str
    games: Iterable[ForeignGame | Skipped]
    names_kept: bool | None = None


def with_a_game(collection: Collection) -> Collection:
    """Check that a collection contains at least one game, and return the collection.

    Raises:
        CheaptalkError: the collection contains no game.
    """
    games = iter(collection.games)
    skipped: list[Skipped] = []
    for game in games:
        if isinstance(game, ForeignGame):
            return collection._replace(games=chain(skipped, [game], games))
        skipped.append(game)
    reason = f"{skipped[0].game}: {skipped[0].reason}" if skipped else "the folder is empty"
    others = f" ({len(skipped) - 1:,} more skipped)" if len(skipped) > 1 else ""
    raise CheaptalkError(f"{collection.folder} contains no game to import: {reason}{others}")


@dataclass
class Intake:
    """The result of an import.

    Attributes:
        imported: the number of new games.
        present: the number of games that were already in the store.
        redactions: the number of names removed from messages.
        skipped: the skipped games with reasons.
        notes: corrections made while reading, with counts.
    """

    imported: int = 0
    present: int = 0
    redactions: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def read(self) -> int:
        """Number of games read so far."""
        return self.imported + self.present + len(self.skipped)


def import_matches(
    collection: Collection,
    store: StoreLike,
    study: StudyLike,
    progress: Callable[[Intake], None] = lambda _: None,
) -> Intake:
    """Store a collection of games as a study, reusing matches that are already in the store.

    Args:
        store: the store, its file or its URL; created if missing.
        study: the study's name.
        progress: called after every step.

    Raises:
        CheaptalkError: the study name is invalid, or belongs to a study that was not imported.
        StoreError: the store is not writable; committed data is kept.
    """
    study = name_of(study)
    if not re.fullmatch(r"(?!-)[\w.-]{1,80}", study):
        raise CheaptalkError(
            f'"{study}" is not a valid study name: use letters, digits, "_", "." and "-"'
        )
    with Store.opened(store, create=True) as opened:
        specs = {summary.name: summary.spec for summary in opened.studies()}
        earlier = specs.get(study)
        if earlier is not None and earlier.get("imported") != collection.system:
            problem = f"is another study in {opened.name}; choose another name"
            raise CheaptalkError(f'"{study}" {problem}')
        with opened.writing():
            clerk = _Clerk(collection, opened, study, _spec(collection, earlier))
            for chunk in chunks(collection.games, CHUNK):
                clerk.enter(chunk)
                progress(clerk.importing)
    return clerk.importing


def _spec(collection: Collection, earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the study definition of an import, taking earlier imports into account."""
    spec: dict[str, Any] = {"imported": collection.system, "folder": collection.folder}
    if collection.names_kept is None:
        return spec
    kept_before = earlier is not None and earlier.get("names") != TAKEN_OUT
    names_kept = collection.names_kept or kept_before
    return spec | {"names": "kept" if names_kept else TAKEN_OUT}


def holds_names(store: Store, study: str) -> bool:
    """Return whether an imported study's messages may contain names of real people."""
    spec = store.study(study, counted=False).spec
    if "imported" not in spec or spec.get("names") == TAKEN_OUT:
        return False
    return any(
        player.get("person") for players in specs_of(store, study).values() for player in players
    )


class _Entry(NamedTuple):
    id: str
    game: ForeignGame
    ended: Ended


class _Clerk:
    def __init__(
        self, collection: Collection, store: Store, study: str, spec: Mapping[str, Any]
    ) -> None:
        self.system = collection.system
        self.store = store
        self.rows = StudyRows(store, study, spec)
        self.known = {record.instance_key: record.id for record in store.records(study)}
        self.importing = Intake()

    def enter(self, chunk: Sequence[ForeignGame | Skipped]) -> None:
        entries = [entry for game in chunk if (entry := self._entry(game))]
        games = [entry.game.table.game for entry in entries]
        specs = [spec for entry in entries for spec in entry.game.seats.values()]
        self.rows.add(
            {configuration_digest(rules): rules for rules in games},
            {player_digest(spec): (spec.label, spec) for spec in specs},
        )
        stored = self.store.statuses(entry.id for entry in entries)
        if stored:
            adopt(self.store, self.rows.id, stored)
        new = [self._match(entry) for entry in entries if entry.id not in stored]
        self.store.add(self.rows.id, new)
        self.importing.imported += len(new)
        self.importing.present += len(stored)

    def _entry(self, game: ForeignGame | Skipped) -> _Entry | None:
        """Return the result of a game that is new to the study and that the rules accept."""
        if isinstance(game, Skipped):
            self.importing.skipped.append(game)
            return None
        answers = [
            answer._replace(kind=game.failures.get(answer.request, answer.kind))
            for answer in scripted_answers(game.table.given)
        ]
        id_ = imported_match_digest(
            self.system,
            game.id,
            configuration_digest(game.table.game),
            game.table.instance.model_dump_json(),
            [answer.as_json() for answer in answers],
            map(player_digest, game.seats.values()),
        )
        match_id = self.known.get(game.id)
        if match_id == id_:
            self.importing.present += 1
            return None
        if match_id is not None:
            names = ", such as names" if game.redactions else ""
            reason = (
                f'the study has another game with the id "{game.id}" (match {match_id}), but with '
                f"other moves or settings{names}: import into another study (--study), or rename "
                "its file or folder"
            )
            self.importing.skipped.append(Skipped(game.location, reason))
            return None
        try:
            end = ended(game.table, game.table.chance.seed, answers, game.source)
        except RulesError as error:
            self.importing.skipped.append(Skipped(game.location, str(error)))
            return None
        self.known[game.id] = id_
        self.importing.redactions += game.redactions
        self.importing.notes.update(game.notes)
        return _Entry(id_, game, end)

    def _match(self, entry: _Entry) -> NewMatch:
        game = entry.game
        configuration = self.rows.configurations[configuration_digest(game.table.game)]
        seats = {role: self.rows.players[player_digest(spec)] for role, spec in game.seats.items()}
        return NewMatch(entry.id, configuration, game.id, 0, seats, entry.ended)


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
