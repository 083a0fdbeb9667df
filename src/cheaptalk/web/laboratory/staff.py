"""The staff of a laboratory: accounts with their roles, and who is logged in."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.drafts import Missing, Taken
from cheaptalk.web.laboratory.sqlite_file import SqliteFile
from cheaptalk.web.laboratory.tables import accounts, logins

MINUTE = 60.0


class Role(StrEnum):
    """What somebody may do; each may do all that those before may."""

    VIEWER = "viewer"
    RESEARCHER = "researcher"
    OWNER = "owner"

    def may(self, least: "Role") -> bool:
        """Whether this role suffices where another is the least."""
        order = list(Role)
        return order.index(self) >= order.index(least)


class LastOwner(CheaptalkError):
    """A deed that would leave a laboratory without an owner who can log in."""

    def __init__(self) -> None:
        super().__init__("this is the last owner; make somebody else an owner first")


class Account(NamedTuple):
    """Somebody who can log in.

    Attributes:
        password: its hash.
        one_time: whether the password must be changed before anything else.
        made: seconds since 1970.
        disabled: since when it cannot log in; None while it can.
    """

    id: int
    name: str
    password: str
    one_time: bool
    role: Role
    made: float
    disabled: float | None


class Login(NamedTuple):
    """A session of somebody who is logged in, as of now.

    Attributes:
        seen: when it was last used, to the minute, in seconds since 1970.
        expires: when it ends at the latest.
    """

    account: Account
    seen: float
    expires: float


class Staff:
    """The accounts in a laboratory's file. Each change is in the log.

    Passwords come as hashes, tokens of logins as they are; only digests of these are kept.
    """

    def __init__(self, file: SqliteFile, audit: Audit) -> None:
        self.file = file
        self.audit = audit

    def any(self) -> bool:
        """Whether there is an account."""
        with self.file.reading() as connection:
            return _any(connection)

    def all(self) -> Sequence[Account]:
        """All accounts, by name."""
        with self.file.reading() as connection:
            rows = connection.execute(sa.select(accounts).order_by(accounts.c.name))
            return [_account(row) for row in rows]

    def account(self, key: int | str) -> Account:
        """The account with a number, or of a name in whatever case.

        Raises:
            Missing: there is none.
        """
        with self.file.reading() as connection:
            return _found(connection, key)

    def found(self, name: str, password: str) -> Account:
        """Make the first account, an owner.

        Raises:
            Taken: there is an account.
        """
        with self.file.writing() as connection:
            if _any(connection):
                raise Taken("this laboratory has an owner already; log in")
            return self._made(connection, name, password, Role.OWNER, name, one_time=False)

    def invite(self, name: str, password: str, role: Role, by: str) -> Account:
        """Make an account whose password must be changed at once.

        Raises:
            Taken: there is one of this name, in whatever case.
        """
        try:
            with self.file.writing() as connection:
                return self._made(connection, name, password, role, by, one_time=True)
        except sa.exc.IntegrityError:
            raise Taken(f"there is an account called {name} already; choose another name") from None

    def _made(
        self, connection: sa.Connection, name: str, password: str, role: Role, by: str, *,
        one_time: bool,
    ) -> Account:  # fmt: skip
        values = {
            "name": name, "password": password, "one_time": one_time, "role": role.value,
            "made": self.audit.now(), "disabled": None,
        }  # fmt: skip
        connection.execute(sa.insert(accounts).values(values))
        self.audit.within(connection, by, "account made", name=name, role=role.value)
        return _found(connection, name)

    def set_role(self, key: int, role: Role, by: str) -> Account:
        """Give somebody another role.

        Raises:
            Missing: there is no such account.
            LastOwner: nobody else could then look after accounts.
        """
        with self.file.writing() as connection:
            before = _found(connection, key)
            if role is not Role.OWNER:
                _keep_an_owner(connection, before)
            _change(connection, key, role=role.value)
            self.audit.within(connection, by, "role changed", name=before.name, role=role.value)
            return _found(connection, key)

    def disable(self, key: int, by: str) -> Account:
        """Let somebody no longer log in, and log them out.

        Raises:
            Missing: there is no such account.
            LastOwner: nobody else could then look after accounts.
        """
        with self.file.writing() as connection:
            before = _found(connection, key)
            _keep_an_owner(connection, before)
            _change(connection, key, disabled=self.audit.now())
            _end(connection, key)
            self.audit.within(connection, by, "account disabled", name=before.name)
            return _found(connection, key)

    def enable(self, key: int, by: str) -> Account:
        """Let somebody log in again.

        Raises:
            Missing: there is no such account.
        """
        with self.file.writing() as connection:
            _change(connection, key, disabled=None)
            after = _found(connection, key)
            self.audit.within(connection, by, "account enabled", name=after.name)
            return after

    def set_password(self, key: int, password: str, by: str, *, one_time: bool) -> Account:
        """Give somebody another password, and log them out everywhere.

        Raises:
            Missing: there is no such account.
        """
        with self.file.writing() as connection:
            before = _found(connection, key)
            _change(connection, key, password=password, one_time=one_time)
            _end(connection, key)
            deed = "password reset" if one_time else "password changed"
            self.audit.within(connection, by, deed, name=before.name)
            return _found(connection, key)

    def rehash(self, before: Account, password: str) -> None:
        """Keep the same password under another hash, unless it was changed meanwhile."""
        with self.file.writing() as connection:
            same = (accounts.c.id == before.id) & (accounts.c.password == before.password)
            connection.execute(sa.update(accounts).where(same).values(password=password))

    def log_in(self, key: int, token: str, expires: float) -> None:
        """Open a session, and forget those whose time is over."""
        now = self.audit.now()
        with self.file.writing() as connection:
            connection.execute(sa.delete(logins).where(logins.c.expires <= now))
            values = {
                "token_digest": digest(token), "account_id": key, "made": now, "seen": now,
                "expires": expires,
            }  # fmt: skip
            connection.execute(sa.insert(logins).values(values))

    def log_out(self, token: str) -> None:
        """End a session."""
        with self.file.writing() as connection:
            connection.execute(sa.delete(logins).where(logins.c.token_digest == digest(token)))

    def login(self, token: str, idle: float) -> Login | None:
        """The session of a token, which is thereby used; None where there is none, or no longer.

        Args:
            idle: seconds without use after which a session ends.
        """
        now, mine = self.audit.now(), logins.c.token_digest == digest(token)
        with self.file.reading() as connection:
            row = connection.execute(
                sa.select(logins.c.seen, logins.c.expires, accounts)
                .join(accounts, accounts.c.id == logins.c.account_id)
                .where(mine, logins.c.expires > now, logins.c.seen > now - idle)
                .where(accounts.c.disabled.is_(None))
            ).first()
        if row is None:
            return None
        if now - row.seen >= MINUTE:
            with self.file.writing() as connection:
                connection.execute(sa.update(logins).where(mine).values(seen=now))
        return Login(_account(row), row.seen, row.expires)


def digest(token: str) -> str:
    """What is kept of a token: it can be looked up by it, and not be made of it."""
    return hashlib.sha256(token.encode()).hexdigest()


def _any(connection: sa.Connection) -> bool:
    return connection.scalar(sa.select(accounts.c.id).limit(1)) is not None


def _account(row: sa.Row[tuple[object, ...]]) -> Account:
    held = row._mapping
    values = {name: held[name] for name in Account._fields}
    return Account(**values | {"role": Role(held["role"])})


def _found(connection: sa.Connection, key: int | str) -> Account:
    column = accounts.c.id if isinstance(key, int) else accounts.c.name
    row = connection.execute(sa.select(accounts).where(column == key)).first()
    if row is None:
        raise Missing("there is no such account")
    return _account(row)


def _change(connection: sa.Connection, key: int, **values: str | float | None) -> None:
    connection.execute(sa.update(accounts).where(accounts.c.id == key).values(values))


def _end(connection: sa.Connection, key: int) -> None:
    """End all sessions of an account."""
    connection.execute(sa.delete(logins).where(logins.c.account_id == key))


def _keep_an_owner(connection: sa.Connection, one: Account) -> None:
    """Refuse to lose the last owner who can log in."""
    others = sa.select(accounts.c.id).where(
        accounts.c.role == Role.OWNER.value, accounts.c.disabled.is_(None), accounts.c.id != one.id
    )
    if one.role is Role.OWNER and connection.scalar(others.limit(1)) is None:
        raise LastOwner
