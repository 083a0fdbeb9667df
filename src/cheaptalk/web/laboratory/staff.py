"""Accounts of a laboratory, their roles and login sessions."""

import hashlib
import secrets
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.drafts import Missing, Taken
from cheaptalk.web.laboratory.sqlite_file import SqliteFile, accounts, logins

MINUTE = 60.0
IDLE_SECONDS = 12 * 3600.0
"""A session ends after this many seconds without a request."""
SESSION_SECONDS = 7 * 24 * 3600.0
"""A session ends after this many seconds in any case."""


class Role(StrEnum):
    """An account's role; each role has the permissions of all lower roles."""

    VIEWER = "viewer"
    RESEARCHER = "researcher"
    OWNER = "owner"

    def may(self, minimum: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(minimum)


class LastOwner(CheaptalkError):
    """Raised if an action would leave the laboratory without an active owner."""

    status_code = 409

    def __init__(self) -> None:
        super().__init__("this is the only active owner; make another account an owner first")


class Account(NamedTuple):
    """An account of a laboratory; ``password`` is a hash, and times are in seconds since 1970."""

    id: int
    name: str
    password: str
    one_time: bool
    role: Role
    made: float
    disabled: float | None


class Login(NamedTuple):
    """A login session; ``seen`` is the time of the last use, to the minute."""

    account: Account
    seen: float
    expires: float


class Staff:
    """The accounts in a laboratory's database. Every change is logged.

    Passwords are passed as hashes, and only digests of session tokens are stored. Methods raise
    :class:`.Missing` if an account does not exist, :class:`.Taken` if its name is in use, ignoring
    case, and :class:`LastOwner` if no active owner would remain.
    """

    def __init__(self, file: SqliteFile, audit: Audit) -> None:
        self.file = file
        self.audit = audit

    def any(self) -> bool:
        with self.file.reading() as connection:
            return _any(connection)

    def all(self) -> Sequence[Account]:
        with self.file.reading() as connection:
            rows = connection.execute(sa.select(accounts).order_by(accounts.c.name))
            return [_account(row) for row in rows]

    def account(self, key: int | str) -> Account:
        with self.file.reading() as connection:
            return _select(connection, key)

    def create_owner(self, name: str, password: str) -> Account:
        """Create the owner, as the first account; raise :class:`.Taken` if any account exists."""
        with self.file.writing() as connection:
            if _any(connection):
                raise Taken("this laboratory already has an owner; log in instead")
            return self._insert(connection, name, password, Role.OWNER, name, one_time=False)

    def invite(self, name: str, password: str, role: Role, by: str) -> Account:
        try:
            with self.file.writing() as connection:
                return self._insert(connection, name, password, role, by, one_time=True)
        except sa.exc.IntegrityError:
            raise Taken(f"an account named {name} already exists; choose another name") from None

    def _insert(
        self,
        connection: sa.Connection,
        name: str,
        password: str,
        role: Role,
        by: str,
        *,
        one_time: bool,
    ) -> Account:
        values = {"name": name, "password": password, "one_time": one_time, "role": role.value}
        connection.execute(sa.insert(accounts).values(**values, made=self.audit.now()))
        self.audit.within(connection, by, "account created", name=name, role=role.value)
        return _select(connection, name)

    def set_role(self, key: int, role: Role, by: str) -> Account:
        with self.file.writing() as connection:
            before = _select(connection, key)
            if role is not Role.OWNER:
                _keep_an_owner(connection, before)
            _change(connection, key, role=role.value)
            self.audit.within(connection, by, "role changed", name=before.name, role=role.value)
            return _select(connection, key)

    def disable(self, key: int, by: str) -> Account:
        with self.file.writing() as connection:
            before = _select(connection, key)
            _keep_an_owner(connection, before)
            _change(connection, key, disabled=self.audit.now())
            _end(connection, key)
            self.audit.within(connection, by, "account disabled", name=before.name)
            return _select(connection, key)

    def enable(self, key: int, by: str) -> Account:
        with self.file.writing() as connection:
            _change(connection, key, disabled=None)
            after = _select(connection, key)
            self.audit.within(connection, by, "account enabled", name=after.name)
            return after

    def set_password(self, key: int, password: str, by: str, *, one_time: bool) -> Account:
        """Change the password of an account, and end its sessions."""
        with self.file.writing() as connection:
            before = _select(connection, key)
            _change(connection, key, password=password, one_time=one_time)
            _end(connection, key)
            deed = "password reset" if one_time else "password changed"
            self.audit.within(connection, by, deed, name=before.name)
            return _select(connection, key)

    def rehash(self, before: Account, password: str) -> None:
        """Update the stored hash of a password, unless the password has changed since."""
        with self.file.writing() as connection:
            same = (accounts.c.id == before.id) & (accounts.c.password == before.password)
            connection.execute(sa.update(accounts).where(same).values(password=password))

    def log_in(self, key: int) -> str:
        """Start a login session of an account, and return its token."""
        now, token = self.audit.now(), new_token()
        with self.file.writing() as connection:
            connection.execute(sa.delete(logins).where(logins.c.expires <= now))
            values = {"token_digest": digest(token), "account_id": key}
            times = {"made": now, "seen": now, "expires": now + SESSION_SECONDS}
            connection.execute(sa.insert(logins).values(values | times))
        return token

    def log_out(self, account: Account, token: str) -> None:
        with self.file.writing() as connection:
            connection.execute(sa.delete(logins).where(logins.c.token_digest == digest(token)))
            self.audit.within(connection, account.name, "logged out")

    def login(self, token: str) -> Login | None:
        """Extend and return the login session of a valid token; None for any other token."""
        now, is_login = self.audit.now(), logins.c.token_digest == digest(token)
        with self.file.reading() as connection:
            row = connection.execute(
                sa.select(logins.c.seen, logins.c.expires, accounts)
                .join(accounts, accounts.c.id == logins.c.account_id)
                .where(is_login, logins.c.expires > now, logins.c.seen > now - IDLE_SECONDS)
                .where(accounts.c.disabled.is_(None))
            ).first()
        if row is None:
            return None
        if now - row.seen >= MINUTE:
            with self.file.writing() as connection:
                connection.execute(sa.update(logins).where(is_login).values(seen=now))
        return Login(_account(row), row.seen, row.expires)


def new_token() -> str:
    """Return a random session token."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """Return the digest under which a session token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def _any(connection: sa.Connection) -> bool:
    return connection.scalar(sa.select(accounts.c.id).limit(1)) is not None


def _account(row: sa.Row[tuple[object, ...]]) -> Account:
    values = {name: row._mapping[name] for name in Account._fields}
    return Account(**values | {"role": Role(values["role"])})


def _select(connection: sa.Connection, key: int | str) -> Account:
    column = accounts.c.id if isinstance(key, int) else accounts.c.name
    row = connection.execute(sa.select(accounts).where(column == key)).first()
    if row is None:
        raise Missing(f"the account {key} does not exist")
    return _account(row)


def _change(connection: sa.Connection, key: int, **values: str | float | None) -> None:
    connection.execute(sa.update(accounts).where(accounts.c.id == key).values(values))


def _end(connection: sa.Connection, key: int) -> None:
    connection.execute(sa.delete(logins).where(logins.c.account_id == key))


def _keep_an_owner(connection: sa.Connection, account: Account) -> None:
    other_owners = sa.select(accounts.c.id).where(
        accounts.c.role == Role.OWNER.value,
        accounts.c.disabled.is_(None),
        accounts.c.id != account.id,
    )
    if account.role is Role.OWNER and connection.scalar(other_owners.limit(1)) is None:
        raise LastOwner
