"""Import of games from other systems: the importers' output and its storage."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk.players import ImportedSeat, Kind
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records.identity import configuration_digest, imported_match_digest, player_digest
from cheaptalk.records.record import MatchEnd, match_end, scripted_answers
from cheaptalk.records.store.lookup import StoreLike, StudyLike, name_of
from cheaptalk.records.store.reader import chunks, specs_of
from cheaptalk.records.store.store import NewMatch, Store, StudyRows, adopt
from cheaptalk.rules import CheaptalkError, IllegalAction, RulesError, Table, counted
from cheaptalk.rules.errors import expect, problem_of
from cheaptalk.rules.registry import Registry, instances

CHUNK = 500
"""Number of games that are stored together."""
TAKEN_OUT = "taken out"
"""Marks studies from whose messages names were removed."""
NAMES_WARNING = "messages may contain names that people wrote: read them before you publish them"
"""Warning about studies for which :func:`contains_names` is true."""


class ImportFailed(Exception):
    """Raised when a game can't be imported, with the file, the field and the problem."""


class Skipped(NamedTuple):
    """A game that was not imported, with its location and the reason."""

    game: str
    reason: str


@dataclass(frozen=True)
class ImportedGame:
    """A game of another system, replayed to its end under cheaptalk's rules.

    Attributes:
        id: the game's id in the other system, unique in a study.
        table: the replayed table.
        seats: the players by seat.
        source: the game's origin, and data that a record has no field for.
        location: the game's location, for messages; by default, the id.
        redactions: the number of names removed from the messages.
        failures: kinds of invalid answers by request.
        notes: corrections made while reading, such as of misspelled words, with counts.

    Raises:
        CheaptalkError: the table isn't over, or a seat has no player.
    """

    id: str
    table: Table
    seats: Mapping[str, ImportedSeat]
    source: Mapping[str, Any] = field(default_factory=dict)
    location: str = ""
    redactions: int = 0
    failures: Mapping[int, Kind] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expect(self.table, Table, "a ct.Table on which the game was replayed")
        if not self.table.over:
            raise CheaptalkError(
                f"{self.name}: the table isn't over, but {self.table.standing}; "
                "answer all requests before you import the game"
            )
        names = self.table.game.seats
        if self.seats.keys() != set(names):
            raise CheaptalkError(
                f"{self.name}: seats names {', '.join(self.seats) or 'no seat'}; "
                f"expected a ct.players.ImportedSeat for each of {', '.join(names)}"
            )

    @property
    def name(self) -> str:
        """The game's location, or its id if the location is unknown."""
        return self.location or self.id


class GameCollection(NamedTuple):
    """A collection of games from another system, each of which is read only when it is stored.

    Attributes:
        system: the system's name.
        games: the games, and skipped ones.
        folder: the name of the games' folder, if any.
        names_kept: whether names that people wrote were kept; None if they were not searched.
        ignored: files in the folder that contain no games, such as a readme.
    """

    system: str
    games: Iterable[ImportedGame | Skipped]
    folder: str = ""
    names_kept: bool | None = None
    ignored: Sequence[str] = ()


def check_not_empty(collection: GameCollection) -> GameCollection:
    """Check that a collection contains at least one game, and return the collection.

    Raises:
        CheaptalkError: the collection contains no game.
    """
    games = iter(collection.games)
    skipped: list[Skipped] = []
    for game in games:
        if isinstance(game, ImportedGame):
            return collection._replace(games=chain(skipped, [game], games))
        skipped.append(game)
    reason = f"{skipped[0].game}: {skipped[0].reason}" if skipped else "it is empty"
    others = f" ({len(skipped) - 1:,} more skipped)" if len(skipped) > 1 else ""
    raise CheaptalkError(
        f"{collection.folder or collection.system} contains no game to import: {reason}{others}"
    )


LISTED = 10
"""Maximum number of reasons that are printed."""


@dataclass(repr=False)
class ImportSummary(Printed):
    """The result of an import.

    Attributes:
        imported: the number of new games.
        present: the number of games that were already in the store.
        redactions: the number of names removed from messages.
        skipped: the skipped games with reasons.
        notes: corrections made while reading, with counts.
        ignored: files in the folder that contain no games.
    """

    imported: int = 0
    present: int = 0
    redactions: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    ignored: Sequence[str] = ()

    @property
    def read(self) -> int:
        """Number of games read so far."""
        return self.imported + self.present + len(self.skipped)

    @property
    def reasons(self) -> dict[str, list[str]]:
        """The skipped games by reason; the most frequent reason comes first."""
        games: dict[str, list[str]] = {}
        for game, reason in self.skipped:
            games.setdefault(reason, []).append(game)
        return dict(sorted(games.items(), key=lambda item: -len(item[1])))

    def printout(self) -> Printout:
        rows = [
            ("new", self.imported),
            ("already in the store", self.present),
            ("skipped", len(self.skipped)),
        ]
        notes = [f"{count:,} x {note}" for note, count in self.notes.items()]
        if self.redactions:
            notes.append(f"{counted(self.redactions, 'name')} removed from messages")
        reasons = list(self.reasons.items())
        notes += [
            f"{counted(len(games), 'game')} skipped, such as {games[0]}: {reason}"
            for reason, games in reasons[:LISTED]
        ]
        if len(reasons) > LISTED:
            notes.append(f"{sum(len(games) for _, games in reasons[LISTED:]):,} more games skipped")
        if self.ignored:
            notes.append(f"{counted(len(self.ignored), 'file')} without games ignored")
        return Printout(
            f"{counted(self.imported, 'game')} imported", ["games", "number"], rows, notes
        )


def import_matches(
    collection: GameCollection,
    store: StoreLike,
    study: StudyLike,
    progress: Callable[[ImportSummary], None] = lambda _: None,
) -> ImportSummary:
    """Store a collection of games as a study, reusing matches that are already in the store.

    >>> rules = ct.games.DivideTheDollar(players=2, rounds=1)
    >>> table = ct.Table(rules, rules.draw_instance(ct.Chance("1")), "1")
    >>> for seat in rules.seats:
    ...     table.answer(seat, ct.games.divide_the_dollar.rules.Bid(bid_amount=50))
    >>> seats = dict.fromkeys(rules.seats, ct.players.ImportedSeat(imported="lab", person=True))
    >>> games = [ct.records.ImportedGame("1", table, seats)]
    >>> ct.import_matches(ct.records.GameCollection("lab", games), "s.sqlite", "old").imported
    1

    Args:
        store: the store, its file or its URL; created if missing.
        study: the study's name.
        progress: called after every step.

    Raises:
        CheaptalkError: the study name is invalid, or belongs to a study that was not imported; or
            the rules refuse a move of a game while it is read.
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
            for chunk in chunks(_readable(collection.games), CHUNK):
                clerk.enter(chunk)
                progress(clerk.importing)
    return clerk.importing


def _readable(games: Iterable[ImportedGame | Skipped]) -> Iterator[ImportedGame | Skipped]:
    """Yield games; name the position of a game whose moves the rules refuse."""
    last = "the first game"
    try:
        for game in games:
            yield game
            last = f"the game after {game.game if isinstance(game, Skipped) else game.name}"
    except (IllegalAction, ValidationError) as error:
        raise CheaptalkError(f"{last}: {problem_of(error) or error}") from error


def _spec(collection: GameCollection, earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the study definition of an import, taking earlier imports into account."""
    spec: dict[str, Any] = {"imported": collection.system, "folder": collection.folder}
    if collection.names_kept is None:
        return spec
    kept_before = earlier is not None and earlier.get("names") != TAKEN_OUT
    names_kept = collection.names_kept or kept_before
    return spec | {"names": "kept" if names_kept else TAKEN_OUT}


def contains_names(store: Store, study: str) -> bool:
    """Return whether an imported study's messages may contain names of real people."""
    spec = store.study(study, counted=False).spec
    if "imported" not in spec or spec.get("names") == TAKEN_OUT:
        return False
    return any(
        player.get("person") for players in specs_of(store, study).values() for player in players
    )


class _Entry(NamedTuple):
    id: str
    game: ImportedGame
    ended: MatchEnd


class _Clerk:
    def __init__(
        self, collection: GameCollection, store: Store, study: str, spec: Mapping[str, Any]
    ) -> None:
        self.system = collection.system
        self.store = store
        self.rows = StudyRows(store, study, spec)
        self.known = {record.instance_key: record.id for record in store.records(study)}
        self.importing = ImportSummary(ignored=collection.ignored)

    def enter(self, chunk: Sequence[ImportedGame | Skipped]) -> None:
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

    def _entry(self, game: ImportedGame | Skipped) -> _Entry | None:
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
                f"other moves or settings{names}: import into another study, or rename "
                "its file or folder"
            )
            self.importing.skipped.append(Skipped(game.name, reason))
            return None
        try:
            end = match_end(game.table, game.table.chance.seed, answers, game.source)
        except RulesError as error:
            self.importing.skipped.append(Skipped(game.name, str(error)))
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
    read: Callable[[Sequence[Path]], GameCollection]
    notes: Mapping[str, Mapping[str, str]] = MappingProxyType({})


IMPORTERS: Registry[Importer] = Registry("importer", "cheaptalk.importers", instances(Importer))
"""All importers; ``cheaptalk store import NAME PATH...`` runs one of them."""


def folder_reader(
    read: Callable[[Path], GameCollection],
) -> Callable[[Sequence[Path]], GameCollection]:
    """Convert a function that reads one folder into an importer's ``read`` function."""

    def read_only(paths: Sequence[Path]) -> GameCollection:
        if len(paths) != 1:
            raise CheaptalkError(
                f"{paths[0]}: expected one folder, not {len(paths)}; it may contain subfolders"
            )
        return read(paths[0])

    return read_only
