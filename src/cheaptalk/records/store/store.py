"""The store: one database with everything that was planned, asked, answered and played.

A study that is changed and run again consists of other matches. Those that it no longer plans are
set aside: they stay in the store and its exports, and no report counts them.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import fields
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import BaseModel

from cheaptalk import __version__
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.identity import roster_digest, study_digest
from cheaptalk.records.record import SETTLED, Ended, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import (
    Backend,
    StoreError,
    StoreHeld,
    open_backend,
    write_rows,
)
from cheaptalk.records.store.column_types import Words
from cheaptalk.records.store.reader import StoreReader, chunks, members_of
from cheaptalk.records.store.schema import insert
from cheaptalk.records.store.shares import Shares, Undivided
from cheaptalk.rules import Game
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import shown

NEWEST = schema.REVISION
PAUSE = 0.05
"""Seconds between two looks whether another process has made or migrated the store."""
MIGRATION_WAIT = 10.0
"""Seconds to wait for another process that is making or migrating the store."""


class NewMatch(NamedTuple):
    """A match to be stored: what defines it, and how it ended."""

    id: str
    configuration_id: int
    deal: str
    repeat: int
    seats: dict[str, int]
    ended: Ended


class Store(StoreReader):
    """Reads and writes one store.

    Everything is committed when a method returns. One process writes at a time (:meth:`writing`);
    any number may read meanwhile.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    def open(cls, where: Path | str, *, create: bool = False) -> "Store":
        """Open a store, migrating an older one; with ``create``, make it if it is not there.

        An older one that cannot be written is read from a copy, which is gone when it is closed.

        Args:
            where: its file, or a URL of one of :data:`~cheaptalk.records.store.backend.BACKENDS`.

        Raises:
            StoreError: it is missing, damaged, locked or of a newer version.
        """
        store = cls(open_backend(where, create))
        try:
            with store.backend.explaining():
                store._migrate()
        except BaseException as error:
            store.__exit__(type(error))
            raise
        return store

    @classmethod
    @contextmanager
    def opened(cls, where: "Store | Path | str", *, create: bool = False) -> Iterator["Store"]:
        """A store as it is, or the one at a path or URL, closed at the end.

        Raises:
            StoreError: it cannot be opened, or ``where`` is neither.
        """
        if isinstance(where, Store):
            yield where
        elif isinstance(where, Path | str):
            with cls.open(where, create=create) as store:
                yield store
        else:
            raise StoreError(f"a store, its file or its URL is wanted, not {shown(where)}")

    def __repr__(self) -> str:
        return brief(self, self.name)

    def close(self) -> None:
        self.backend.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        unused = kind is not None and self.backend.made and self._is_unused()
        self.close()
        if unused:
            self.backend.discard()

    def _is_unused(self) -> bool:
        with suppress(StoreError), self.reading() as connection:
            return self._revision(connection) is None or not self.studies(counted=False)
        return False

    def _migrate(self) -> None:
        until = time.monotonic() + MIGRATION_WAIT
        while not self._is_ready():
            try:
                with nullcontext() if self.backend.copied() else self.writing():
                    self._set_up()
            except StoreHeld:  # by somebody who is setting it up as well
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)

    def _set_up(self) -> None:
        if not self._is_ready():
            migrating = import_module("cheaptalk.records.store.migration")  # slow, seldom needed
            self.backend.prepare()
            with self.transaction() as connection:
                migrating.upgrade(connection)

    def _is_ready(self) -> bool:
        """Whether the database is set up, with the newest schema."""
        with self.backend.engine.connect() as connection:
            found = self._revision(connection)
            prepared = self.backend.prepared(connection)
        if found is not None and found > NEWEST:
            raise StoreError(
                f"{self.name} was written by a newer cheaptalk (schema {found}; this one knows "
                f"{NEWEST}); upgrade cheaptalk to use it"
            )
        return found == NEWEST and prepared

    def _revision(self, connection: sa.Connection) -> str | None:
        """The schema that the store has; None where there is none yet."""
        tables = set(sa.inspect(connection).get_table_names()) - self.backend.own_tables
        if {"alembic_version", "studies", "matches"} <= tables:
            revision = connection.scalar(sa.text("select version_num from alembic_version"))
            if not re.fullmatch(r"\d{4}", str(revision)):
                raise StoreError(
                    f"{self.name} is damaged (its schema has no version); restore a copy of it"
                )
            return str(revision)
        if tables:
            raise StoreError(
                f"{self.name} is a database, but no store; name another one with --store"
            )
        return None

    def writing(self, wait: float = 0) -> AbstractContextManager[None]:
        """Hold the store for writing; a second writer is refused.

        Args:
            wait: seconds to wait for the other one to end.

        Raises:
            StoreHeld: another process holds it.
            StoreError: its folder cannot be written.
        """
        return self.backend.holding(wait)

    @contextmanager
    def sharing(self, work: str | None) -> Iterator[Shares]:
        """Hold the store for writing, with others that do the same work where its kind lets them.

        Args:
            work: differs for those that do something else; None to be alone.

        Raises:
            StoreHeld: somebody else holds it.
            StoreError: it cannot be written.
        """
        if work is not None:
            with self.backend.sharing(work) as shares:
                yield shares
        else:
            with self.writing():
                yield Undivided()

    def transaction(self) -> AbstractContextManager[sa.Connection]:
        """A connection whose work is committed at the end, or undone by an error.

        Another writer waits from the beginning on, not only from the first write.
        """
        return self.backend.transaction()

    # Studies, configurations, players

    def register_study(self, name: str, spec: Mapping[str, Any]) -> int:
        """Note a study; a later form of the same name replaces the earlier one's text."""
        values = {
            "name": name, "spec": dict(spec), "package": __version__, "created": time.time(),
            "digest": study_digest(name, spec),
        }  # fmt: skip
        with self.transaction() as connection:
            connection.execute(
                insert(schema.studies)
                .values(values)
                .on_conflict_do_update(
                    index_elements=["name"],
                    set_={key: values[key] for key in ("spec", "package", "digest")},
                )
            )
            found = sa.select(schema.studies.c.id).where(schema.studies.c.name == name)
            return int(connection.execute(found).scalar_one())

    def register_configurations(
        self, configurations: Mapping[str, tuple[str, int, Mapping[str, Any]]]
    ) -> dict[str, int]:
        """Note games as (game, rules version, parameters) by digest; ids by digest."""
        rows = [
            {"digest": key, "game": game, "version": version, "parameters": dict(parameters)}
            for key, (game, version, parameters) in configurations.items()
        ]
        return self._register(schema.configurations, rows)

    def register_players(self, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Note players' settings by digest; ids by digest."""
        rows = [{"digest": key, "spec": dict(spec)} for key, spec in specs.items()]
        return self._register(schema.players, rows)

    def _register(self, table: sa.Table, rows: list[dict[str, Any]]) -> dict[str, int]:
        with self.transaction() as connection:
            if rows:
                connection.execute(insert(table).on_conflict_do_nothing(), rows)
            return dict(connection.execute(sa.select(table.c.digest, table.c.id)).all())

    def register_roster(self, study_id: int, labels: Mapping[int, str]) -> None:
        """Note what a study calls its players."""
        rows = [
            {
                "study_id": study_id,
                "player_id": player,
                "label": label,
                "digest": roster_digest(study_id, player, label),
            }
            for player, label in labels.items()
        ]
        if not rows:
            return
        with self.transaction() as connection:
            statement = insert(schema.rosters)
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["study_id", "player_id"],
                    set_={key: statement.excluded[key] for key in ("label", "digest")},
                ),
                rows,
            )

    # Matches

    def add(
        self,
        study_id: int,
        matches: Sequence[NewMatch],
        also: Callable[[sa.Connection], None] = lambda _: None,
    ) -> None:
        """Store matches that ended, whole or not at all, and drop their live rows.

        Args:
            also: what else is written then.
        """
        if not matches:
            return

        def write(connection: sa.Connection) -> None:
            write_matches(connection, study_id, matches)
            also(connection)

        self.backend.commit(write)


class StudyRows:
    """What the store keeps of a study beside its matches: its text, configurations and players.

    Attributes:
        id, name: the study's number and name.
        configurations, players: the numbers of those that were added, by digest.
    """

    def __init__(self, store: Store, name: str, spec: Mapping[str, Any]) -> None:
        self.store = store
        self.name = name
        self.id = store.register_study(name, spec)
        self.configurations: dict[str, int] = {}
        self.players: dict[str, int] = {}

    def add(self, games: Mapping[str, Game], players: Mapping[str, tuple[str, BaseModel]]) -> None:
        """Note games, and players under their labels, by digest; those that are known too."""
        self.configurations |= self.store.register_configurations(
            {
                key: (one.name, one.version, one.model_dump(mode="json"))
                for key, one in games.items()
            }
        )
        self.players |= self.store.register_players(
            {key: spec.model_dump(mode="json") for key, (_, spec) in players.items()}
        )
        labels = {self.players[key]: label for key, (label, _) in players.items()}
        self.store.register_roster(self.id, labels)


def write_matches(connection: sa.Connection, study_id: int, matches: Sequence[NewMatch]) -> None:
    """Write matches that ended, in the caller's transaction; a live or failed row is replaced.

    What their calls took is charged to the study, but for what others bought of them before.
    """
    table, calls = schema.matches, schema.calls
    known = dict(
        connection.execute(
            sa.select(table.c.id, table.c.number).where(table.c.id.in_([m.id for m in matches]))
        ).all()
    )  # fmt: skip
    last = connection.scalar(sa.select(schema.LAST_NUMBER)) or 0
    rows, numbers = [], []
    for match in matches:
        number = known.get(match.id)
        if number is None:
            number = last = last + 1
        numbers.append({"study_id": study_id, "match_number": number})
        rows.append({"number": number} | _row(match))
    write_rows(connection, REPLACE, rows)
    write_rows(connection, JOIN, numbers)
    settled = [m.id for m in matches if m.ended.status is not Status.FAILED]
    bought = [
        purchase
        for row in rows
        if row["calls"] and row["id"] in settled
        for purchase in purchases_of(connection, study_id, row)
    ]
    write_rows(connection, PURCHASE, bought)
    if known:
        connection.execute(
            sa.delete(calls).where(calls.c.match_id.in_(settled), calls.c.state == "answered")
        )


def purchases_of(
    connection: sa.Connection, study_id: int, row: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """What each study bought of a match that this one has ended: rows of purchases.

    Args:
        row: the match's, with what all its calls took.
    """
    calls = schema.calls
    others = sa.select(calls.c.study_id, calls.c.reply).where(
        calls.c.match_id == row["id"], calls.c.state == "answered",
        calls.c.study_id != study_id, calls.c.call["model"].as_string().is_not(None),
    )  # fmt: skip
    costs: dict[int, Cost] = {}
    for other, reply in connection.execute(others):
        costs[other] = costs.get(other, Cost()) + cost_of(reply)
    left = {name: row[name] for name in TAKEN}
    for other, cost in costs.items():
        theirs = {name: getattr(cost.usage, name, None) for name in TAKEN}
        theirs |= {name: getattr(cost, name) for name in TAKEN if theirs[name] is None}
        left = {name: left[name] - theirs[name] for name in TAKEN}
        yield {"study_id": other, "match_number": row["number"]} | theirs
    yield {"study_id": study_id, "match_number": row["number"]} | left


TAKEN = [c.name for c in schema.purchases.c if not c.primary_key]
NEW_PURCHASE = insert(schema.purchases)
PURCHASE = NEW_PURCHASE.on_conflict_do_update(
    index_elements=["study_id", "match_number"],
    set_={name: NEW_PURCHASE.excluded[name] for name in TAKEN},
)
KEPT = ("number", "id", "begun")
"""What a match keeps when its row is replaced."""
NEW = insert(schema.matches)
REPLACE = NEW.on_conflict_do_update(
    index_elements=["id"], set_={c.name: c for c in NEW.excluded if c.name not in KEPT}
)
JOIN = insert(schema.members).on_conflict_do_nothing()


PLAYED = tuple(one.name for one in fields(Ended))
played = attrgetter(*PLAYED)


def _row(match: NewMatch) -> dict[str, Any]:
    row = match._asdict()
    end = row.pop("ended")
    row.update(zip(PLAYED, played(end), strict=True))
    row["status"] = end.status.value
    return row


matches, members = schema.matches, schema.members
NEW_MEMBER = insert(members)


PLANNED = sa.Table(
    "planned", sa.MetaData(), sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("id", Words, nullable=False), prefixes=["TEMPORARY"],
)  # fmt: skip

NEW_PLANNED = sa.insert(PLANNED)


class Adopted(NamedTuple):
    """What there was of matches in a store.

    Attributes:
        left: the places, in order, of those that are not in the store or have not ended.
        set_aside: how many others of the study were set aside.
        forfeited: how many of those that have ended were forfeited.
    """

    left: Sequence[int]
    set_aside: int
    forfeited: int


def adopt(store: Store, study_id: int, ids: Iterable[str], *, only: bool = False) -> Adopted:
    """Count matches that are in the store already as matches of a study.

    Args:
        ids: of different matches; what is not in the store is passed over.
        only: set the study's other matches aside.
    """
    with store.transaction() as connection:
        PLANNED.create(connection)
        count = 0
        for some in chunks(enumerate(ids)):
            write_rows(connection, NEW_PLANNED, [{"place": n, "id": id_} for n, id_ in some])
            count += len(some)
        left, unknown, fresh = _unsettled(connection, study_id)
        if fresh:
            _count_in(connection, study_id)
        leaving = _set_others_aside(connection, study_id, count - unknown) if only else 0
        forfeited = _forfeited(connection) if len(left) < count else 0
        PLANNED.drop(connection)
    return Adopted(left, leaving, forfeited)


STORED = sa.select(matches.c.number).join(PLANNED, PLANNED.c.id == matches.c.id)
"""The numbers of planned matches that are in the store."""


def _counted(study_id: int) -> sa.ColumnElement[bool]:
    """Whether a membership is that of a match that the study counts."""
    return sa.and_(members.c.study_id == study_id, members.c.current)


def _unsettled(connection: sa.Connection, study_id: int) -> tuple[list[int], int, int]:
    """The places of planned matches that are not in the store or have not ended, how many are not
    in it, and how many are but do not count as the study's."""
    ended = matches.c.status.in_([status.value for status in SETTLED])
    member = sa.and_(_counted(study_id), members.c.match_number == matches.c.number)
    absent, strange = matches.c.number.is_(None), members.c.match_number.is_(None)
    query = (
        sa.select(PLANNED.c.place, absent, ended, strange)
        .join(matches, matches.c.id == PLANNED.c.id, isouter=True)
        .join(members, member, isouter=True)
        .where(sa.or_(absent, sa.not_(ended), strange))
        .order_by(PLANNED.c.place)
    )
    left: list[int] = []
    unknown = fresh = 0
    for place, away, settled, apart in connection.execute(query):
        unknown += away
        fresh += apart and not away
        if away or not settled:
            left.append(place)
    return left, unknown, fresh


def _forfeited(connection: sa.Connection) -> int:
    """How many planned matches are in the store as forfeited."""
    query = (
        sa.select(sa.func.count()).select_from(PLANNED)
        .join(matches, matches.c.id == PLANNED.c.id)
        .where(matches.c.status == Status.FORFEITED.value)
    )  # fmt: skip
    return connection.scalar(query) or 0


def _count_in(connection: sa.Connection, study_id: int) -> None:
    """Count planned matches that are in the store as the study's, where they do not yet."""
    fresh = STORED.except_(sa.select(members.c.match_number).where(_counted(study_id))).subquery()
    row = sa.select(sa.literal(study_id), fresh.c.number, sa.true()).where(sa.true())
    new = NEW_MEMBER.from_select(["study_id", "match_number", "current"], row)
    connection.execute(new.on_conflict_do_update(
        index_elements=["study_id", "match_number"], set_={"current": sa.true()}
    ))  # fmt: skip


def _set_others_aside(connection: sa.Connection, study_id: int, stored: int) -> int:
    """Set the study's matches aside that are not planned; how many there were.

    Args:
        stored: how many of the planned ones are in the store, and so count as the study's.
    """
    mine = _counted(study_id)
    counted = connection.scalar(sa.select(sa.func.count()).select_from(members).where(mine))
    if counted == stored:
        return 0
    past = sa.select(members.c.match_number).where(mine).except_(STORED)
    setting = sa.update(members).where(mine, members.c.match_number.in_(past))
    return connection.execute(setting.values(current=False)).rowcount


def set_aside(store: StoreReader, study: str) -> frozenset[str]:
    """The matches of a study that it no longer plans."""
    past = members_of(study, past=True).where(sa.not_(members.c.current))
    query = sa.select(matches.c.id).where(matches.c.number.in_(past))
    with store.reading() as connection:
        return frozenset(connection.scalars(query))


studies = schema.studies


def note_run(
    store: Store, study_id: int, planned: int, halted: str | None, *, to_come: int = 0
) -> None:
    """Note how many matches a study's plan has, how many the store is to contain, and why its run
    stopped.

    Args:
        halted: None where it did not, or one is just beginning.
        to_come: matches that the run is going to add. Until it ends, a copy that lacks them is
            recognized by :meth:`.StoreReader.shortfalls`.
    """
    stored = sa.select(sa.func.count()).where(members.c.study_id == study_id).scalar_subquery()
    with store.transaction() as connection:
        ours = sa.update(studies).where(studies.c.id == study_id)
        values = {"planned": planned, "halted": halted, "expected": stored + to_come}
        connection.execute(ours.values(values))


def expect_what_is_stored(connection: sa.Connection) -> None:
    """Note that matches which studies lack are not missing, in the caller's transaction."""
    stored = sa.select(sa.func.count()).where(members.c.study_id == studies.c.id).scalar_subquery()
    fewer = sa.update(studies).where(studies.c.expected > stored)
    connection.execute(fewer.values(expected=stored))
