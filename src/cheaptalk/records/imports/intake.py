"""Taking in the games of another system: what an importer yields, and how it is stored."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cheaptalk.players import ImportedSeat, Kind
from cheaptalk.records.identity import (
    configuration_digest,
    imported_match_digest,
    player_digest,
)
from cheaptalk.records.record import AnswerRecord, ended, scripted_answers
from cheaptalk.records.store.reader import chunks, specs_of
from cheaptalk.records.store.store import NewMatch, Store, StudyRows, adopt
from cheaptalk.rules import CheaptalkError, RulesError, Table

CHUNK = 500
"""Games that are stored together."""
TAKEN_OUT = "taken out"
"""What became of the names that people wrote, where an import searched for them."""
NAMED = "names that people wrote may stand in its messages: read these before you publish them"
"""What to know of a study that :func:`holds_names`."""


class Unfit(Exception):
    """Why a game cannot be taken in: file, field and what is wrong with it."""


class Skipped(NamedTuple):
    """A game that was left out, by where it stands, and the reason."""

    game: str
    reason: str


class ForeignGame(NamedTuple):
    """A game of another system, played again to its end by our rules.

    Attributes:
        id: what the other system calls it; no study holds two of one id.
        place: where it was found, for messages.
        table: our table, over.
        seats: who played, by place.
        source: where it comes from and what our record has no other place for.
        redactions: how many names were taken out of its messages.
        failures: what became of the questions that were not answered, by request.
        notes: what was read otherwise than it is written, such as a misspelt word, and how often.
    """

    id: str
    place: str
    table: Table
    seats: Mapping[str, ImportedSeat]
    source: dict[str, Any]
    redactions: int = 0
    failures: Mapping[int, Kind] = MappingProxyType({})
    notes: Mapping[str, int] = MappingProxyType({})


class Collection(NamedTuple):
    """Games of another system, read one by one as they are stored.

    Attributes:
        system: its name.
        folder: the name of the folder they are in.
        games: the games, and those left out.
        names_kept: whether names that people wrote were left in; None where nobody searched.
    """

    system: str
    folder: str
    games: Iterable[ForeignGame | Skipped]
    names_kept: bool | None = None


def with_a_game(collection: Collection) -> Collection:
    """The same collection, read up to its first game, before anything is written.

    Raises:
        CheaptalkError: it holds none.
    """
    games = iter(collection.games)
    skipped: list[Skipped] = []
    for one in games:
        if isinstance(one, ForeignGame):
            return collection._replace(games=chain(skipped, [one], games))
        skipped.append(one)
    why = f"{skipped[0].game}: {skipped[0].reason}" if skipped else "it is empty"
    more = f" (and {len(skipped) - 1:,} more left out)" if len(skipped) > 1 else ""
    raise CheaptalkError(f"{collection.folder} holds no game to import: {why}{more}")


@dataclass
class Intake:
    """What became of a collection.

    Attributes:
        imported: games stored now.
        present: games that the store held already.
        redactions: names taken out of the messages of both.
        skipped: games left out, each with the reason.
        notes: what was read otherwise than it is written, and how often.
    """

    imported: int = 0
    present: int = 0
    redactions: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def read(self) -> int:
        """Games seen so far."""
        return self.imported + self.present + len(self.skipped)


def take_in(
    collection: Collection,
    store: Store | Path | str,
    study: str,
    progress: Callable[[Intake], None] = lambda _: None,
) -> Intake:
    """Store a collection as a study; what the store holds already is not stored again.

    Args:
        store: the store, its file or its URL; made where there is none.
        progress: told after every step.

    Raises:
        CheaptalkError: the name is no study's name, or that of a study that was played.
        StoreError: the store cannot be written; what was committed stays.
    """
    if not re.fullmatch(r"(?!-)[\w.-]{1,80}", study):
        raise CheaptalkError(f'"{study}" is no name for a study: letters, digits, _, . and -')
    with Store.opened(store, create=True) as opened:
        earlier = next((one.spec for one in opened.studies() if one.name == study), None)
        if earlier is not None and earlier.get("imported") != collection.system:
            raise CheaptalkError(
                f'"{study}" is another study in {opened.name}; choose another name'
            )
        with opened.writing():
            clerk = _Clerk(collection, opened, study, _spec(collection, earlier))
            for chunk in chunks(collection.games, CHUNK):
                clerk.enter(chunk)
                progress(clerk.intake)
    return clerk.intake


def _spec(collection: Collection, earlier: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the store says of an import as a study; names that once came in are still there."""
    spec: dict[str, Any] = {"imported": collection.system, "folder": collection.folder}
    if collection.names_kept is None:
        return spec
    kept = collection.names_kept or (earlier is not None and earlier.get("names") != TAKEN_OUT)
    return spec | {"names": "kept" if kept else TAKEN_OUT}


def holds_names(store: Store, study: str) -> bool:
    """Whether messages of an imported study may hold names that people wrote.

    Raises:
        StoreError: there is no such study.
    """
    spec = store.study(study, counted=False).spec
    searched = "imported" not in spec or spec.get("names") == TAKEN_OUT
    return not searched and any(
        one.get("person") for specs in specs_of(store, study).values() for one in specs
    )


class _Entry(NamedTuple):
    """A foreign game with the match id that stands for all that defines it."""

    id: str
    game: ForeignGame
    answers: list[AnswerRecord]


class _Clerk:
    def __init__(
        self, collection: Collection, store: Store, study: str, spec: Mapping[str, Any]
    ) -> None:
        self.system = collection.system
        self.store = store
        self.rows = StudyRows(store, study, spec)
        self.known = {record.deal_key: record.id for record in store.records(study)}
        self.intake = Intake()

    def enter(self, chunk: Sequence[ForeignGame | Skipped]) -> None:
        fresh = [entry for one in chunk if (entry := self._fresh(one))]
        tables = [entry.game.table.game for entry in fresh]
        people = [spec for entry in fresh for spec in entry.game.seats.values()]
        self.rows.add(
            {configuration_digest(game): game for game in tables},
            {player_digest(spec): (spec.label, spec) for spec in people},
        )
        stored = self.store.statuses(entry.id for entry in fresh)
        if stored:
            adopt(self.store, self.rows.id, stored)
        rows = [self._row(entry) for entry in fresh if entry.id not in stored]
        new = [row for row in rows if row is not None]
        self.store.add(self.rows.id, new)
        self.intake.imported += len(new)
        self.intake.present += len(stored)

    def _fresh(self, one: ForeignGame | Skipped) -> _Entry | None:
        """The game as it is to be stored, if it is one and not in the study yet."""
        if isinstance(one, Skipped):
            self.intake.skipped.append(one)
            return None
        entry = self._entry(one)
        known = self.known.get(one.id)
        if known is None:
            self.known[one.id] = entry.id
            self.intake.redactions += one.redactions
            self.intake.notes.update(one.notes)
            return entry
        if known == entry.id:
            self.intake.present += 1
        else:
            reason = (
                f'the study has another game with the id "{one.id}" (match {known}), with other '
                "moves or settings"
            )
            if one.redactions:
                reason += ", names among them"
            reason += ": import into another study (--study), or rename its file or folder"
            self.intake.skipped.append(Skipped(one.place, reason))
        return None

    def _entry(self, game: ForeignGame) -> _Entry:
        answers = [
            answer._replace(kind=game.failures.get(answer.request, answer.kind))
            for answer in scripted_answers(game.table.given)
        ]
        id_ = imported_match_digest(
            self.system, game.id, configuration_digest(game.table.game),
            game.table.deal.model_dump_json(), [answer.as_json() for answer in answers],
            map(player_digest, game.seats.values()),
        )  # fmt: skip
        return _Entry(id_, game, answers)

    def _row(self, entry: _Entry) -> NewMatch | None:
        """The game as a match of the store; None where its rules are wrong, which is noted."""
        game, table = entry.game, entry.game.table
        configuration = self.rows.configurations[configuration_digest(table.game)]
        seats = {role: self.rows.players[player_digest(spec)] for role, spec in game.seats.items()}
        try:
            end = ended(table, table.chance.seed, entry.answers, game.source)
        except RulesError as error:
            del self.known[game.id]
            self.intake.redactions -= game.redactions
            self.intake.skipped.append(Skipped(game.place, str(error)))
            return None
        return NewMatch(entry.id, configuration, game.id, 0, seats, end)
