"""Leases: who may write to a store in PostgreSQL, for how long, and what they have taken.

A process that writes has a row, which it renews with all it writes and every few seconds beside.
Nobody lets it go: a row that is not renewed is deleted by whoever comes next, and with it go its
shares of the work. Whoever lost its row writes nothing more. Times are the server's, whatever the
clocks of machines say; while the server is away no lease ends.
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
from cheaptalk.records.store.backend import Backend, StoreError, StoreHeld, held_by
from cheaptalk.records.store.shares import Share

T = TypeVar("T")

LEASE = 60.0
"""Seconds after which a process is taken for lost that has not renewed its lease."""
BEAT = 5.0
"""Seconds between two renewals by a process that writes nothing."""
PAUSE = 0.1
"""Seconds between two looks whether a store has been let go."""
HOLDING, TRANSACTION = 20_260, 20_261
"""Numbers of our two kinds of locks; their second number tells leases, or schemas, apart."""

own = sa.MetaData()
leases = sa.Table(
    "leases",
    own,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("work", sa.Text, comment="what several share; null for who is alone"),
    sa.Column("version", sa.Text, nullable=False, comment="of cheaptalk"),
    sa.Column("server", sa.DateTime(timezone=True), nullable=False, comment="when it began"),
    sa.Column("until", sa.DateTime(timezone=True), nullable=False),
    sa.Column("halted", sa.Text, comment="why it is to stop"),
)
shares = sa.Table(
    "shares",
    own,
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
    own,
    sa.Column("lease", sa.ForeignKey(leases.c.number, ondelete="CASCADE"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, comment="of what was written"),
)

SERVER = sa.func.greatest(
    sa.func.pg_postmaster_start_time(), sa.func.pg_stat_get_bgwriter_stat_reset_time()
)
"""When the server began, or one of its processes crashed, which ends all others and counts anew."""
NOW = sa.func.clock_timestamp()


def _later(moment: sa.ColumnElement[Any], seconds: Any) -> sa.ColumnElement[Any]:
    return moment + sa.func.make_interval(0, 0, 0, 0, 0, 0, seconds)


UNTIL = _later(NOW, sa.bindparam("seconds"))


def _key(number: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """The second number of a lease's lock."""
    return sa.func.hashtext(sa.func.concat(sa.func.current_schema(), "/", number))


WAIT = sa.select(sa.func.pg_advisory_xact_lock(TRANSACTION, sa.func.hashtext(
    sa.func.current_schema()
)))  # fmt: skip
GONE = sa.or_(
    sa.func.greatest(leases.c.until, _later(SERVER, sa.bindparam("seconds"))) < NOW,
    sa.and_(  # the connection is gone, and not with its server
        leases.c.server == SERVER,
        sa.func.pg_try_advisory_xact_lock_shared(HOLDING, _key(leases.c.number)),
    ),
)
"""Leases of who is not heard of any more; several may look at once."""
LOST = sa.delete(leases).where(GONE)
LOCKED = sa.func.pg_try_advisory_lock(HOLDING, _key(leases.c.number))
HOLD = (
    sa.update(leases)
    .where(leases.c.number == sa.bindparam("lease"))
    .values(server=sa.case((LOCKED, SERVER), else_=NOW))
)
"""Hold a lease by a connection; by time alone where one that broke is still there to the server."""
RENEW = (
    sa.update(leases)
    .where(leases.c.number == sa.bindparam("lease"))
    .values(until=UNTIL)
    .returning(leases.c.halted)
)


class Holder(NamedTuple):
    """Who has a lease, and what is shared; None for who is alone."""

    holder: str
    work: str | None


def holders(connection: sa.Connection) -> list[Holder]:
    """Who has a lease now, the oldest first."""
    there = sa.select(leases.c.holder, leases.c.work).where(~GONE).order_by(leases.c.number)
    return [Holder(*row) for row in connection.execute(there, {"seconds": LEASE})]


class Lease:
    """One process's leave to write, as long as it renews it.

    Args:
        backend: the store's.
        work: what is shared with others of the same words; None to be alone.
        wait: seconds to wait until the store is let go.

    Attributes:
        first: whether nobody else was there when it began.
        halted: why all who share the work are to stop, once they are.

    Raises:
        StoreHeld: others write to the store.
    """

    def __init__(self, backend: Backend, work: str | None, wait: float) -> None:
        self.name = backend.name
        self.work = work
        self.halted: str | None = None
        self._backend = backend
        self._engine = backend.engine.execution_options(isolation_level="READ COMMITTED")
        self._in_hand: set[tuple[str, int]] = set()
        self._numbers = count(1)
        self._told: list[int] = []
        self._over = Event()
        self._connection: sa.Connection | None = None
        self.number = self._taken(wait)
        self._thread = Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Let the store go, and what was taken of the work."""
        self._over.set()
        self._thread.join()
        mine = leases.c.number == self.number
        with suppress(sa.exc.SQLAlchemyError), self._engine.begin() as connection:
            connection.execute(WAIT)  # for who is just coming, and reckons with the shares
            connection.execute(sa.delete(leases).where(mine))
            nobody = ~sa.exists(sa.select(leases.c.number))
            connection.execute(sa.delete(shares).where(nobody))
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

    def _refusal(self, connection: sa.Connection) -> StoreHeld | None:
        """Why the store cannot be taken now, if it cannot and may be soon.

        Raises:
            StoreHeld: others share other work, which takes its time.
            StoreError: others share the work and are of another version.
        """
        for other in connection.execute(sa.select(leases).order_by(leases.c.number)):
            self.first = False
            held = StoreHeld(f"{self.name}: {held_by(other.holder)}")
            if self.work is None or other.work is None:
                return held
            if other.work != self.work:
                raise held
            if other.version != __version__:
                raise StoreError(
                    f"{self.name}: {other.holder} plays the same with cheaptalk {other.version}, "
                    f"and this is {__version__}; install the same version everywhere"
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
            except sa.exc.SQLAlchemyError:  # the server is away: look again
                self._drop()
            except StoreError:  # the lease is lost, as whoever writes next is told
                return

    def _renew(self) -> None:
        again = self._connection is None
        self._connection = connection = self._connection or self._engine.connect()
        with connection.begin():
            self.renew(connection)
            if again:
                connection.execute(HOLD, {"lease": self.number})

    def _drop(self) -> None:
        """Close the connection itself, so that no lock stays with it."""
        if self._connection is not None:
            with suppress(sa.exc.SQLAlchemyError):
                self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def mark(self, connection: sa.Connection) -> int:
        """Mark a transaction, so that one can ask whether it was kept; the mark's number.

        A transaction's own id would not do: a server that crashed gives it to another one.
        """
        number = next(self._numbers)
        told, self._told = self._told, []
        if told:
            mine = marks.c.lease == self.number, marks.c.number.in_(told)
            connection.execute(sa.delete(marks).where(*mine))
        connection.execute(sa.insert(marks).values(lease=self.number, number=number))
        return number

    def kept(self, number: int, connection: sa.Connection) -> bool:
        """Whether a transaction with this mark was kept.

        Args:
            connection: in a transaction that writes, and so has waited for that one to end.
        """
        mine = marks.c.lease == self.number, marks.c.number == number
        return connection.execute(sa.select(marks).where(*mine)).first() is not None

    def forget(self, number: int) -> None:
        """Ask no more for a mark; what is known to be kept needs none."""
        self._told.append(number)

    def renew(self, connection: sa.Connection) -> None:
        """Renew the lease in a transaction, which others then wait for.

        Raises:
            StoreError: the lease is lost.
        """
        found = connection.execute(RENEW, {"lease": self.number, "seconds": LEASE}).one_or_none()
        if found is None:
            raise StoreError(
                f"{self.name}: nothing was heard of this process for so long that another may "
                "write to it now; what was committed stays: resume"
            )
        self.halted = self.halted or found[0]

    def leads(self) -> bool:
        """Whether it came first of those that are there."""
        with self._backend.explaining(), self._engine.begin() as connection:
            return self._leads(connection)

    def _do(self, work: Callable[[sa.Connection], T]) -> T:
        """Do something in a transaction; again where the server was away meanwhile."""

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

    def offer(self, kind: str, made: Callable[[], Iterable[Share]]) -> None:
        there = sa.select(shares.c.kind).where(self._of(kind))

        def lay_out(connection: sa.Connection) -> None:
            connection.execute(WAIT)
            rows = [] if connection.execute(there).first() else list(made())
            if rows:
                values = [one._asdict() | {"work": self.work} for one in rows]
                connection.execute(sa.insert(shares), values)

        self._do(lay_out)

    def take(self, kind: str, *, alone: bool = False) -> Share | None:
        in_hand = [start for of, start in self._in_hand if of == kind]
        unheard = shares.c.lease == self.number, shares.c.start.not_in(in_hand)
        free = shares.c.lease.is_(None) | sa.and_(*unheard)  # the server may have gone after a take
        one = (
            sa.select(shares.c.start)
            .where(self._of(kind), ~shares.c.done, free)
            .order_by(shares.c.start)
            .limit(1)
        )
        chosen = one.with_for_update(skip_locked=True).scalar_subquery()
        taking = sa.update(shares).where(self._of(kind), shares.c.start == chosen)
        columns = shares.c.kind, shares.c.start, shares.c.stop, shares.c.matches

        def taken(connection: sa.Connection) -> Any:
            if not self._leads(connection) and alone:
                return None
            found = connection.execute(taking.values(lease=self.number).returning(*columns))
            return found.one_or_none()

        row = self._do(taken)
        if row is None:
            return None
        share = Share(*row)
        self._in_hand.add((kind, share.start))
        return share

    def done(self, share: Share, connection: sa.Connection) -> None:
        mine = self._of(share.kind), shares.c.start == share.start, shares.c.lease == self.number
        if not connection.execute(sa.update(shares).where(*mine).values(done=True)).rowcount:
            raise StoreError(
                f"{self.name}: another run has taken over what this one played; resume"
            )
        self._in_hand.discard((share.kind, share.start))

    def waits(self, kind: str) -> bool:
        left = sa.select(shares.c.kind).where(self._of(kind), ~shares.c.done)
        return self._do(lambda connection: connection.execute(left).first()) is not None

    def elsewhere(self) -> int:
        mine = shares.c.lease == self.number
        theirs = sa.and_(shares.c.work == self.work, shares.c.done, mine.is_not(sa.true()))
        played = sa.select(sa.func.sum(shares.c.matches)).where(theirs)
        return int(self._do(lambda connection: connection.scalar(played)) or 0)

    def _of(self, kind: str) -> sa.ColumnElement[bool]:
        return sa.and_(shares.c.work == self.work, shares.c.kind == kind)
