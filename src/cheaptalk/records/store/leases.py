"""Leases, which permit processes to write to a store in PostgreSQL and to claim shares of work.

Each writing process has a row, which it renews with every write and every few seconds in between.
The next process that connects deletes expired rows, and their shares become available. A process
that lost its row can't write. Times are the server's, so clocks of machines don't matter; no lease
expires while the server is unavailable.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from cheaptalk import __version__
from cheaptalk.records.store.backend import Backend, Share, Shares, StoreError, StoreLocked, held_by

T = TypeVar("T")

LEASE = 60.0
"""Seconds without renewal after which a lease expires."""
BEAT = 5.0
"""Seconds between two renewals by a process that is not writing."""
PAUSE = 0.1
"""Seconds between two attempts to lock a store."""
HOLDING, TRANSACTION = 20_260, 20_261
"""Keys of the two kinds of advisory locks; the second key identifies the lease or the schema."""

lease_metadata = sa.MetaData()
leases = sa.Table(
    "leases",
    lease_metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("work", sa.Text, comment="shared work; null for an exclusive lease"),
    sa.Column("version", sa.Text, nullable=False, comment="cheaptalk version"),
    sa.Column("server", sa.DateTime(timezone=True), nullable=False, comment="its start time"),
    sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    sa.Column("halted", sa.Text, comment="reason to stop"),
)
shares = sa.Table(
    "shares",
    lease_metadata,
    sa.Column("work", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("start", sa.BigInteger, primary_key=True),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("matches", sa.BigInteger, nullable=False),
    sa.Column("lease", sa.Integer, sa.ForeignKey(leases.c.number, ondelete="SET NULL")),
    sa.Column("done", sa.Boolean, nullable=False, server_default=sa.false()),
)
marks = sa.Table(
    "marks",
    lease_metadata,
    sa.Column("lease", sa.ForeignKey(leases.c.number, ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, comment="number of the transaction"),
)

SERVER = sa.func.greatest(
    sa.func.pg_postmaster_start_time(), sa.func.pg_stat_get_bgwriter_stat_reset_time()
)
"""Start of the server or its last crash, which ends all connections and resets the statistics."""
NOW = sa.func.clock_timestamp()


def _later(moment: sa.ColumnElement[Any], seconds: Any) -> sa.ColumnElement[Any]:
    return moment + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


UNTIL = _later(NOW, sa.bindparam("seconds"))


def _key(number: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    return sa.func.hashtext(sa.func.concat(sa.func.current_schema(), "/", number))


WAIT = sa.select(
    sa.func.pg_advisory_xact_lock(TRANSACTION, sa.func.hashtext(sa.func.current_schema()))
)
GONE = sa.or_(
    sa.func.greatest(leases.c.until, _later(SERVER, sa.bindparam("seconds"))) < NOW,
    sa.and_(  # the connection is closed, and the server has not restarted
        leases.c.server == SERVER,
        sa.func.pg_try_advisory_xact_lock_shared(HOLDING, _key(leases.c.number)),
    ),
)
"""Expired leases; several processes may check this condition at the same time."""
LOST = sa.delete(leases).where(GONE)
LOCKED = sa.func.pg_try_advisory_lock(HOLDING, _key(leases.c.number))
HOLD = (
    sa.update(leases)
    .where(leases.c.number == sa.bindparam("lease"))
    .values(server=sa.case((LOCKED, SERVER), else_=NOW))
)
"""Lock a lease; its time is used only if the server still has a broken connection."""
RENEW = (
    sa.update(leases)
    .where(leases.c.number == sa.bindparam("lease"))
    .values(until=UNTIL)
    .returning(leases.c.halted)
)


class Holder(NamedTuple):
    """A process that holds a lease, and the work that it shares with others, if any."""

    holder: str
    work: str | None


def holders(connection: sa.Connection) -> list[Holder]:
    """Return the current holders of leases, oldest first."""
    query = sa.select(leases.c.holder, leases.c.work).where(~GONE).order_by(leases.c.number)
    return [Holder(*row) for row in connection.execute(query, {"seconds": LEASE})]


class Lease(Shares):
    """A process's permission to write to the store, valid while it is renewed.

    ``work`` is the work to share; None for an exclusive lease. StoreLocked is raised if another
    process is writing after ``wait`` seconds.
    """

    def __init__(self, backend: Backend, work: str | None, wait: float) -> None:
        self.name = backend.name
        self.work = work
        self.halted: str | None = None
        self._backend = backend
        self._engine = backend.engine.execution_options(isolation_level="READ COMMITTED")
        self._in_hand: set[tuple[str, int]] = set()
        self._numbers = count(1)
        self._confirmed: list[int] = []
        self._over = Event()
        self._connection: sa.Connection | None = None
        self.number = self._taken(wait)
        self._thread = Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Release the lock on the store and the claimed shares."""
        self._over.set()
        self._thread.join()
        own_lease = leases.c.number == self.number
        with suppress(sa.exc.SQLAlchemyError), self._engine.begin() as connection:
            connection.execute(WAIT)  # for processes that are connecting and check the shares
            connection.execute(sa.delete(leases).where(own_lease))
            no_lease = ~sa.exists(sa.select(leases.c.number))
            connection.execute(sa.delete(shares).where(no_lease))
        self._drop()

    def _taken(self, wait: float) -> int:
        until = time.monotonic() + wait
        while True:
            self.first = True
            self._connection = connection = self._engine.connect()
            try:
                with connection.begin():
                    connection.execute(WAIT)
                    connection.execute(LOST, {"seconds": LEASE})
                    refusal = self._refusal(connection)
                    if refusal is None:
                        return self._begun(connection)
            except BaseException:
                self._drop()
                raise
            self._drop()
            if time.monotonic() >= until:
                raise refusal
            time.sleep(PAUSE)

    def _refusal(self, connection: sa.Connection) -> StoreLocked | None:
        """Return the error if the store can't be locked yet; raise it if waiting can't help."""
        for lease in connection.execute(sa.select(leases).order_by(leases.c.number)):
            self.first = False
            refusal = StoreLocked(f"{self.name}: {held_by(lease.holder)}")
            if self.work is None or lease.work is None:
                return refusal
            if lease.work != self.work:
                raise refusal
            if lease.version != __version__:
                raise StoreError(
                    f"{self.name}: {lease.holder} runs the study with cheaptalk {lease.version}, "
                    f"but this is {__version__}; install the same version everywhere"
                )
        return None

    def _begun(self, connection: sa.Connection) -> int:
        holder = f"process {os.getpid()} on {socket.gethostname()}"
        new = sa.insert(leases).values(
            holder=holder, work=self.work, version=__version__, server=NOW, until=UNTIL
        )
        number: int = connection.scalar(new.returning(leases.c.number), {"seconds": LEASE})
        connection.execute(HOLD, {"lease": number})
        if self.first:
            connection.execute(sa.delete(shares))
        return number

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            try:
                self._renew()
            except sa.exc.SQLAlchemyError:  # the server is unavailable: retry
                self._drop()
            except StoreError:  # the lease is lost; the next write reports it
                return

    def _renew(self) -> None:
        reconnected = self._connection is None
        self._connection = connection = self._connection or self._engine.connect()
        with connection.begin():
            self.renew(connection)
            if reconnected:
                connection.execute(HOLD, {"lease": self.number})

    def _drop(self) -> None:
        """Close the connection instead of returning it to the pool, to release its locks."""
        if self._connection is not None:
            with suppress(sa.exc.SQLAlchemyError):
                self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def mark(self, connection: sa.Connection) -> int:
        """Insert a marker that proves whether a transaction was committed, and return its number.

        PostgreSQL may reuse a transaction id after a crash, so it can't serve as a mark.
        """
        number = next(self._numbers)
        confirmed, self._confirmed = self._confirmed, []
        if confirmed:
            condition = marks.c.lease == self.number, marks.c.number.in_(confirmed)
            connection.execute(sa.delete(marks).where(*condition))
        connection.execute(sa.insert(marks).values(lease=self.number, number=number))
        return number

    def kept(self, number: int, connection: sa.Connection) -> bool:
        """Return whether the transaction that inserted a marker was committed.

        ``connection`` is in a later write transaction, which has waited for that one to end.
        """
        condition = marks.c.lease == self.number, marks.c.number == number
        return connection.execute(sa.select(marks).where(*condition)).first() is not None

    def forget(self, number: int) -> None:
        """Schedule a marker for deletion with the next write."""
        self._confirmed.append(number)

    def renew(self, connection: sa.Connection) -> None:
        """Renew the lease in a transaction that blocks other writers; StoreError if it is lost."""
        row = connection.execute(RENEW, {"lease": self.number, "seconds": LEASE}).one_or_none()
        if row is None:
            raise StoreError(
                f"{self.name}: the lease of this process expired, so another process may be "
                "writing; committed data is kept: resume the run"
            )
        self.halted = self.halted or row[0]

    def leads(self) -> bool:
        """Return whether this is the oldest current lease."""
        with self._backend.explaining(), self._engine.begin() as connection:
            return self._leads(connection)

    def _do(self, work: Callable[[sa.Connection], T]) -> T:
        """Call a function in a transaction, and retry if the server was unavailable."""

        def once() -> T:
            with self._backend.explaining(), self._engine.begin() as connection:
                return work(connection)

        return self._backend.patiently(once)

    def _leads(self, connection: sa.Connection) -> bool:
        connection.execute(LOST, {"seconds": LEASE})
        first: int | None = connection.scalar(sa.select(sa.func.min(leases.c.number)))
        return first == self.number

    def halt(self, reason: str) -> None:
        self.halted = reason
        self._do(lambda connection: connection.execute(sa.update(leases).values(halted=reason)))

    def offer(self, kind: str, make_shares: Callable[[], Iterable[Share]]) -> None:
        existing = sa.select(shares.c.kind).where(self._of(kind))

        def insert_shares(connection: sa.Connection) -> None:
            connection.execute(WAIT)
            rows = [] if connection.execute(existing).first() else list(make_shares())
            if rows:
                values = [share._asdict() | {"work": self.work} for share in rows]
                connection.execute(sa.insert(shares), values)

        self._do(insert_shares)

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        in_hand = [start for share_kind, start in self._in_hand if share_kind == kind]
        unconfirmed = shares.c.lease == self.number, shares.c.start.not_in(in_hand)
        # A claim may have been committed although the server went away before confirming it.
        available = shares.c.lease.is_(None) | sa.and_(*unconfirmed)
        first_available = (
            sa.select(shares.c.start)
            .where(self._of(kind), ~shares.c.done, available)
            .order_by(shares.c.start)
            .limit(1)
        )
        first_start = first_available.with_for_update(skip_locked=True).scalar_subquery()
        taking = sa.update(shares).where(self._of(kind), shares.c.start == first_start)
        columns = shares.c.kind, shares.c.start, shares.c.stop, shares.c.matches

        def claim(connection: sa.Connection) -> Any:
            if not self._leads(connection) and alone:
                return None
            result = connection.execute(taking.values(lease=self.number).returning(*columns))
            return result.one_or_none()

        row = self._do(claim)
        if row is None:
            return None
        share = Share(*row)
        self._in_hand.add((kind, share.start))
        return share

    def done(self, share: Share, connection: sa.Connection) -> None:
        own_share = shares.c.start == share.start, shares.c.lease == self.number
        condition = (self._of(share.kind), *own_share)
        if not connection.execute(sa.update(shares).where(*condition).values(done=True)).rowcount:
            raise StoreError(f"{self.name}: another run took over this run's matches; resume it")
        self._in_hand.discard((share.kind, share.start))

    def waits(self, kind: str) -> bool:
        unfinished = sa.select(shares.c.kind).where(self._of(kind), ~shares.c.done)
        return self._do(lambda connection: connection.execute(unfinished).first()) is not None

    def elsewhere(self) -> int:
        by_others = (shares.c.lease == self.number).is_not(sa.true())
        done = shares.c.work == self.work, shares.c.done, by_others
        played = sa.select(sa.func.sum(shares.c.matches)).where(*done)
        return int(self._do(lambda connection: connection.scalar(played)) or 0)

    def _of(self, kind: str) -> sa.ColumnElement[bool]:
        return sa.and_(shares.c.work == self.work, shares.c.kind == kind)
