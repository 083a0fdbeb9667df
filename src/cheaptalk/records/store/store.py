"""The store: one database with all plans, requests, answers and matches.

If a study is changed and run again, matches that are no longer in its plan are superseded: they
remain in the store and its exports, but reports exclude them.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import BaseModel

from cheaptalk import __version__
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.identity import Configuration, roster_digest, study_digest
from cheaptalk.records.metrics import Measured
from cheaptalk.records.record import ENDED_COLUMNS, SETTLED, MatchEnd, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import (
    Backend,
    Shares,
    StoreError,
    StoreLocked,
    open_backend,
    write_rows,
)
from cheaptalk.records.store.column_types import Words
from cheaptalk.records.store.reader import StoreReader, chunks, members_of, seats_people
from cheaptalk.records.store.schema import insert, upsert
from cheaptalk.rules import Game
from cheaptalk.rules.arguments import checked
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import shown

PAUSE = 0.05
"""Seconds between two checks whether another process has created or migrated the store."""
MIGRATION_WAIT = 10.0
"""Seconds to wait for another process that is creating or migrating the store."""


class NewMatch(NamedTuple):
    """A match to store: its definition and its result."""

    id: str
    configuration_id: int
    instance: str
    repeat: int
    seats: dict[str, int]
    ended: MatchEnd


class Store(StoreReader):
    """A store with read and write operations.

    Each method commits before it returns. One process writes at a time (:meth:`writing`); any
    number may read at the same time.

    >>> with ct.Store.open("new.sqlite", create=True) as store:
    ...     _ = ct.run("examples/studies/haggling.yaml", store)
    ...     store.studies()
    [<StudySummary: haggling, 128 finished>]
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    @checked
    def open(cls, location: Path | str, *, create: bool = False) -> "Store":
        """Open a store and migrate it to the newest schema; create it if ``create`` is set.

        An older store that is read-only is migrated in a temporary copy.

        Args:
            location: a file, or a URL of a kind in
                :data:`~cheaptalk.records.store.backend.BACKENDS`.

        Raises:
            StoreError: the store is missing, damaged, locked, or of a pre-release or newer version.
        """
        store = cls(open_backend(location, create))
        try:
            with store.backend.explaining():
                store._migrate()
        except BaseException as error:
            store.__exit__(type(error))
            raise
        return store

    @classmethod
    @contextmanager
    def opened(cls, location: "Store | Path | str", *, create: bool = False) -> Iterator["Store"]:
        """Yield a given store, or open the store at a path or URL and close it at the end.

        Raises:
            StoreError: the store cannot be opened, or ``location`` has another type.
        """
        if isinstance(location, Store):
            yield location
        elif isinstance(location, Path | str):
            with cls.open(location, create=create) as store:
                yield store
        else:
            raise StoreError(f"expected a store, its file or its URL, not {shown(location)}")

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
            except StoreLocked:  # another process may be creating or migrating it
                if time.monotonic() > until:
                    raise
                time.sleep(PAUSE)

    def _set_up(self) -> None:
        if not self._is_ready():
            migration = import_module("cheaptalk.records.store.migration")  # slow and rarely needed
            self.backend.prepare()
            with self.transaction() as connection:
                migration.upgrade(connection)

    def _is_ready(self) -> bool:
        """Return whether the database has the newest schema."""
        with self.backend.engine.connect() as connection:
            revision = self._revision(connection)
            prepared = self.backend.prepared(connection)
        if revision is not None and revision < schema.BASELINE:
            raise StoreError(
                f"{self.name} was written by a pre-release cheaptalk (schema {revision}; this "
                f"version supports {schema.BASELINE} or later) and can't be migrated; run its "
                "studies again in a new store"
            )
        if revision is not None and revision > schema.REVISION:
            raise StoreError(
                f"{self.name} was written by a newer cheaptalk (schema {revision}; this version "
                f"supports up to {schema.REVISION}); upgrade cheaptalk"
            )
        return revision == schema.REVISION and prepared

    def _revision(self, connection: sa.Connection) -> str | None:
        """Return the schema version of the store; None before it is created."""
        tables = set(sa.inspect(connection).get_table_names()) - self.backend.own_tables
        if {"alembic_version", "studies", "matches"} <= tables:
            revision = connection.scalar(sa.text("select version_num from alembic_version"))
            if not re.fullmatch(r"\d{4}", str(revision)):
                raise StoreError(
                    f"{self.name} is damaged (its schema has no version); restore a copy"
                )
            return str(revision)
        if tables:
            raise StoreError(f"{self.name} is a database, but not a store; name another one")
        return None

    def writing(self, wait: float = 0) -> AbstractContextManager[None]:
        """Lock the store exclusively for writing; see :meth:`.Backend.holding`."""
        return self.backend.holding(wait)

    @contextmanager
    def sharing(self, work: str | None) -> Iterator[Shares]:
        """Lock the store for writing, exclusively or together with other runs of the same work."""
        if work is not None:
            with self.backend.sharing(work) as shares:
                yield shares
        else:
            with self.writing():
                yield Shares()

    def transaction(self) -> AbstractContextManager[sa.Connection]:
        """See :meth:`.Backend.transaction`."""
        return self.backend.transaction()

    # Studies, configurations, players

    def register_study(self, name: str, spec: Mapping[str, Any]) -> int:
        """Store a study's definition, replacing an earlier one of the same name; return its id."""
        values = {
            "name": name,
            "spec": dict(spec),
            "package": __version__,
            "created": time.time(),
            "digest": study_digest(name, spec),
        }
        with self.transaction() as connection:
            connection.execute(REGISTER_STUDY, values)
            query = sa.select(schema.studies.c.id).where(schema.studies.c.name == name)
            return int(connection.execute(query).scalar_one())

    def register_configurations(
        self, configurations: Mapping[str, tuple[str, int, Mapping[str, Any]]]
    ) -> dict[str, int]:
        """Store configurations (game, rules version, parameters) by digest; return their ids."""
        rows = [
            {
                "digest": key,
                "game": game,
                "version": version,
                "parameters": dict(parameters),
                "roles": dict(Configuration(game, version, dict(parameters)).roles) or None,
            }
            for key, (game, version, parameters) in configurations.items()
        ]
        return self._register(schema.configurations, rows)

    def register_players(self, specs: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Store players' settings by digest; return their ids."""
        rows = [{"digest": key, "spec": dict(spec)} for key, spec in specs.items()]
        return self._register(schema.players, rows)

    def _register(self, table: sa.Table, rows: list[dict[str, Any]]) -> dict[str, int]:
        with self.transaction() as connection:
            if rows:
                connection.execute(insert(table).on_conflict_do_nothing(), rows)
            return dict(connection.execute(sa.select(table.c.digest, table.c.id)).all())

    def register_roster(self, study_id: int, labels: Mapping[int, str]) -> None:
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
            connection.execute(REGISTER_LABEL, rows)

    # Matches

    def add(
        self,
        study_id: int,
        matches: Sequence[NewMatch],
        write_also: Callable[[sa.Connection], None] = lambda _: None,
    ) -> None:
        """Store ended matches in one transaction, and delete their answered calls from the ledger.

        ``write_also`` performs further writes in the same transaction.
        """
        if not matches:
            return

        def write(connection: sa.Connection) -> None:
            write_matches(connection, study_id, matches)
            write_also(connection)

        self.backend.commit(write)


class StudyRows:
    """The ids of a study, of its configurations and of its players, both by digest."""

    def __init__(self, store: Store, name: str, spec: Mapping[str, Any]) -> None:
        self.store = store
        self.name = name
        self.id = store.register_study(name, spec)
        self.configurations: dict[str, int] = {}
        self.players: dict[str, int] = {}

    def add(self, games: Mapping[str, Game], players: Mapping[str, tuple[str, BaseModel]]) -> None:
        """Store games and labelled players by digest, keeping rows that already exist."""
        configurations = {
            key: (game.name, game.version, game.model_dump(mode="json"))
            for key, game in games.items()
        }
        self.configurations |= self.store.register_configurations(configurations)
        specs = {key: spec.model_dump(mode="json") for key, (_, spec) in players.items()}
        self.players |= self.store.register_players(specs)
        labels = {self.players[key]: label for key, (label, _) in players.items()}
        self.store.register_roster(self.id, labels)


def write_matches(connection: sa.Connection, study_id: int, matches: Sequence[NewMatch]) -> None:
    """Write ended matches in the caller's transaction, replacing rows of live or failed matches.

    The cost of their calls is charged to the study, except for calls that other studies bought.
    """
    table, calls = schema.matches, schema.calls
    existing = dict(
        connection.execute(
            sa.select(table.c.id, table.c.number).where(table.c.id.in_([m.id for m in matches]))
        ).all()
    )
    last = connection.scalar(sa.select(schema.LAST_NUMBER)) or 0
    rows, numbers = [], []
    for match in matches:
        number = existing.get(match.id)
        if number is None:
            number = last = last + 1
        numbers.append({"study_id": study_id, "match_number": number})
        rows.append({"number": number} | _row(match))
    write_rows(connection, REPLACE, rows)
    write_rows(connection, JOIN, numbers)
    measured = {row["number"]: m.ended.metrics for row, m in zip(rows, matches, strict=True)}
    write_metrics(connection, {n: metrics for n, metrics in measured.items() if metrics})
    settled = [m.id for m in matches if m.ended.status is not Status.FAILED]
    purchases = [
        purchase
        for row in rows
        if row["calls"] and row["id"] in settled
        for purchase in purchases_of(connection, study_id, row)
    ]
    write_rows(connection, PURCHASE, purchases)
    if existing:
        connection.execute(
            sa.delete(calls).where(calls.c.match_id.in_(settled), calls.c.state == "answered")
        )


def write_metrics(connection: sa.Connection, measured: Mapping[int, Measured]) -> None:
    """Write the metrics of matches, by match number, replacing earlier ones."""
    rows = [{"match_number": number, **item._asdict()} for number, item in measured.items()]
    write_rows(connection, MEASURE, rows)


def purchases_of(
    connection: sa.Connection, study_id: int, row: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the cost of a match's calls, one row for each study that paid for calls."""
    calls = schema.calls
    query = sa.select(calls.c.study_id, calls.c.reply).where(
        calls.c.match_id == row["id"],
        calls.c.state == "answered",
        calls.c.study_id != study_id,
        calls.c.call["model"].as_string().is_not(None),
    )
    costs: dict[int, Cost] = {}
    for buyer, reply in connection.execute(query):
        costs[buyer] = costs.get(buyer, Cost()) + cost_of(reply)
    remaining = {name: row[name] for name in COST_COLUMNS}
    for buyer, cost in costs.items():
        amounts = cost.columns
        remaining = {name: remaining[name] - amounts[name] for name in COST_COLUMNS}
        yield {"study_id": buyer, "match_number": row["number"]} | amounts
    yield {"study_id": study_id, "match_number": row["number"]} | remaining


COST_COLUMNS = [c.name for c in schema.purchases.c if not c.primary_key]
PURCHASE = upsert(schema.purchases, ["study_id", "match_number"], COST_COLUMNS)
PRESERVED = ("number", "id", "begun")
"""Columns that keep their values when a match's row is replaced."""
REPLACED = [c.name for c in schema.matches.c if c.name not in PRESERVED]
REPLACE = upsert(schema.matches, ["id"], REPLACED)
MEASURE = upsert(schema.metrics, ["match_number"], Measured._fields)
REGISTER_STUDY = upsert(schema.studies, ["name"], ["spec", "package", "digest"])
REGISTER_LABEL = upsert(schema.rosters, ["study_id", "player_id"], ["label", "digest"])
JOIN = insert(schema.members).on_conflict_do_nothing()


ended_values = attrgetter(*ENDED_COLUMNS)


def _row(match: NewMatch) -> dict[str, Any]:
    row = match._asdict()
    ended = row.pop("ended")
    row.update(zip(ENDED_COLUMNS, ended_values(ended), strict=True))
    row["status"] = ended.status.value
    return row


matches, members = schema.matches, schema.members
NEW_MEMBER = insert(members)


PLANNED = sa.Table(
    "planned",
    sa.MetaData(),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("id", Words, nullable=False),
    prefixes=["TEMPORARY"],
)

NEW_PLANNED = sa.insert(PLANNED)


class Adopted(NamedTuple):
    """The result of adding planned matches that are already in the store to a study.

    ``left`` are positions of matches that are missing or have not ended, in order. ``set_aside``
    matches were superseded; ``forfeited`` matches are among those that ended.
    """

    left: Sequence[int]
    set_aside: int
    forfeited: int


def adopt(store: Store, study_id: int, ids: Iterable[str], *, only: bool = False) -> Adopted:
    """Add matches that are already in the store to a study, skipping ids that are not.

    ``ids`` are distinct. With ``only``, the study's other matches are marked as superseded, except
    those in which people played.
    """
    with store.transaction() as connection:
        PLANNED.create(connection)
        count = 0
        for chunk in chunks(enumerate(ids)):
            rows = [{"position": position, "id": id_} for position, id_ in chunk]
            write_rows(connection, NEW_PLANNED, rows)
            count += len(rows)
        pending, unknown, new = _unsettled(connection, study_id)
        if new:
            _count_in(connection, study_id)
        superseded = _set_others_aside(connection, study_id, count - unknown) if only else 0
        forfeited = _forfeited(connection) if len(pending) < count else 0
        PLANNED.drop(connection)
    return Adopted(pending, superseded, forfeited)


STORED = sa.select(matches.c.number).join(PLANNED, PLANNED.c.id == matches.c.id)
"""Numbers of planned matches that are in the store."""


def _counted(study_id: int) -> sa.ColumnElement[bool]:
    """Return the SQL condition that a match currently belongs to the study."""
    return sa.and_(members.c.study_id == study_id, members.c.current)


def _unsettled(connection: sa.Connection, study_id: int) -> tuple[list[int], int, int]:
    """Find pending planned matches, and count those missing from the store or new to the study."""
    ended = matches.c.status.in_([status.value for status in SETTLED])
    member = sa.and_(_counted(study_id), members.c.match_number == matches.c.number)
    absent, uncounted = matches.c.number.is_(None), members.c.match_number.is_(None)
    query = (
        sa.select(PLANNED.c.position, absent, ended, uncounted)
        .join(matches, matches.c.id == PLANNED.c.id, isouter=True)
        .join(members, member, isouter=True)
        .where(sa.or_(absent, sa.not_(ended), uncounted))
        .order_by(PLANNED.c.position)
    )
    pending: list[int] = []
    unknown = new = 0
    for position, is_absent, settled, is_new in connection.execute(query):
        unknown += is_absent
        new += is_new and not is_absent
        if is_absent or not settled:
            pending.append(position)
    return pending, unknown, new


def _forfeited(connection: sa.Connection) -> int:
    query = (
        sa.select(sa.func.count())
        .select_from(PLANNED)
        .join(matches, matches.c.id == PLANNED.c.id)
        .where(matches.c.status == Status.FORFEITED.value)
    )
    return connection.scalar(query) or 0


def _count_in(connection: sa.Connection, study_id: int) -> None:
    """Add the planned matches that are in the store to the study's current matches."""
    current = sa.select(members.c.match_number).where(_counted(study_id))
    uncounted = STORED.except_(current).subquery()
    row = sa.select(sa.literal(study_id), uncounted.c.number, sa.true()).where(sa.true())
    new = NEW_MEMBER.from_select(["study_id", "match_number", "current"], row)
    keys = ["study_id", "match_number"]
    connection.execute(new.on_conflict_do_update(index_elements=keys, set_={"current": sa.true()}))


def _set_others_aside(connection: sa.Connection, study_id: int, stored: int) -> int:
    """Mark the study's unplanned matches without people as superseded; return their number."""
    is_counted = _counted(study_id)
    counted = connection.scalar(sa.select(sa.func.count()).select_from(members).where(is_counted))
    if counted == stored:
        return 0
    name = connection.scalar(
        sa.select(schema.studies.c.name).where(schema.studies.c.id == study_id)
    )
    played = sa.select(matches.c.number).where(seats_people(connection, str(name)))
    kept = members.c.match_number.in_(played)
    superseded = sa.select(members.c.match_number).where(is_counted, ~kept).except_(STORED)
    update = sa.update(members).where(is_counted, members.c.match_number.in_(superseded))
    return connection.execute(update.values(current=False)).rowcount


def set_aside(store: StoreReader, study: str) -> frozenset[str]:
    """Return the ids of a study's superseded matches."""
    numbers = members_of(study, past=True).where(sa.not_(members.c.current))
    query = sa.select(matches.c.id).where(matches.c.number.in_(numbers))
    return frozenset(store.scalars(query))


studies = schema.studies


def note_run(
    store: Store, study_id: int, planned: int, halted: str | None, *, to_come: int = 0
) -> None:
    """Record a study's planned and expected numbers of matches, and why its run stopped early.

    ``to_come`` is the number of matches that the run will add. Until the run ends,
    :meth:`.StoreReader.shortfalls` detects copies that lack them.
    """
    stored = sa.select(sa.func.count()).where(members.c.study_id == study_id).scalar_subquery()
    with store.transaction() as connection:
        update = sa.update(studies).where(studies.c.id == study_id)
        values = {"planned": planned, "halted": halted, "expected": stored + to_come}
        connection.execute(update.values(values))


def expect_what_is_stored(connection: sa.Connection) -> None:
    """Lower each study's expected number of matches to the number of stored matches."""
    stored = sa.select(sa.func.count()).where(members.c.study_id == studies.c.id).scalar_subquery()
    update = sa.update(studies).where(studies.c.expected > stored)
    connection.execute(update.values(expected=stored))
