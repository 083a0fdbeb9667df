"""Accounts of a laboratory, their roles and login sessions."""

import hashlib
import secrets
from collections.abc import Sequence
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, Session, mapped_column

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.drafts import Missing, Taken
from cheaptalk.web.laboratory.sqlite_file import Record, SqliteFile

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


class Account(Record):
    """An account of a laboratory.

    ``password`` is a hash, which is ``one_time`` if its owner must change it at login. ``disabled``
    is the time since when the account is disabled; times are in seconds since 1970.
    """

    __tablename__ = "accounts"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    name: Mapped[str] = mapped_column(sa.String(collation="NOCASE"), unique=True)
    password: Mapped[str]
    one_time: Mapped[bool]
    role: Mapped[Role] = mapped_column(
        sa.Enum(Role, native_enum=False, values_callable=lambda roles: [*map(str, roles)])
    )
    made: Mapped[float]
    disabled: Mapped[float | None] = mapped_column(default=None)


class Login(Record):
    """A login session; ``seen`` is the time of the last use, to the minute."""

    __tablename__ = "logins"

    token_digest: Mapped[str] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(sa.ForeignKey("accounts.id"), index=True)
    made: Mapped[float]
    seen: Mapped[float]
    expires: Mapped[float]


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
        with self.file.reading() as session:
            return _any(session)

    def all(self) -> Sequence[Account]:
        with self.file.reading() as session:
            return session.scalars(sa.select(Account).order_by(Account.name)).all()

    def account(self, key: int | str) -> Account:
        with self.file.reading() as session:
            return _select(session, key)

    def create_owner(self, name: str, password: str) -> Account:
        """Create the owner, as the first account; raise :class:`.Taken` if any account exists."""
        with self.file.writing() as session:
            if _any(session):
                raise Taken("this laboratory already has an owner; log in instead")
            account = Account(name, password, False, Role.OWNER, self.audit.now())
            return self._add(session, account, by=name)

    def invite(self, name: str, password: str, role: Role, by: str) -> Account:
        try:
            with self.file.writing() as session:
                account = Account(name, password, True, role, self.audit.now())
                return self._add(session, account, by)
        except sa.exc.IntegrityError:
            raise Taken(f"an account named {name} already exists; choose another name") from None

    def _add(self, session: Session, account: Account, by: str) -> Account:
        session.add(account)
        self.audit.within(session, by, "account created", name=account.name, role=account.role)
        return account

    def set_role(self, key: int, role: Role, by: str) -> Account:
        with self.file.writing() as session:
            account = _select(session, key)
            if role is not Role.OWNER:
                _keep_an_owner(session, account)
            account.role = role
            self.audit.within(session, by, "role changed", name=account.name, role=role)
            return account

    def disable(self, key: int, by: str) -> Account:
        with self.file.writing() as session:
            account = _select(session, key)
            _keep_an_owner(session, account)
            account.disabled = self.audit.now()
            _end_sessions(session, account)
            self.audit.within(session, by, "account disabled", name=account.name)
            return account

    def enable(self, key: int, by: str) -> Account:
        with self.file.writing() as session:
            account = _select(session, key)
            account.disabled = None
            self.audit.within(session, by, "account enabled", name=account.name)
            return account

    def set_password(self, key: int, password: str, by: str, *, one_time: bool) -> Account:
        """Change the password of an account, and end its sessions."""
        with self.file.writing() as session:
            account = _select(session, key)
            account.password, account.one_time = password, one_time
            _end_sessions(session, account)
            deed = "password reset" if one_time else "password changed"
            self.audit.within(session, by, deed, name=account.name)
            return account

    def rehash(self, before: Account, password: str) -> None:
        """Update the stored hash of a password, unless the password has changed since."""
        with self.file.writing() as session:
            account = _select(session, before.id)
            if account.password == before.password:
                account.password = password

    def log_in(self, key: int) -> str:
        """Start a login session of an account, and return its token."""
        now, token = self.audit.now(), new_token()
        with self.file.writing() as session:
            session.execute(sa.delete(Login).where(Login.expires <= now))
            session.add(Login(digest(token), key, now, now, now + SESSION_SECONDS))
        return token

    def log_out(self, account: Account, token: str) -> None:
        with self.file.writing() as session:
            session.execute(sa.delete(Login).where(Login.token_digest == digest(token)))
            self.audit.within(session, account.name, "logged out")

    def login(self, token: str) -> Account | None:
        """Extend the login session of a token, and return its account; None for other tokens."""
        now, is_login = self.audit.now(), Login.token_digest == digest(token)
        valid = is_login & (Login.expires > now) & (Login.seen > now - IDLE_SECONDS)
        query = sa.select(Account, Login.seen).join(Login, Login.account_id == Account.id)
        with self.file.reading() as session:
            row = session.execute(query.where(valid, Account.disabled.is_(None))).first()
        if row is None:
            return None
        account, seen = row
        if now - seen >= MINUTE:
            with self.file.writing() as session:
                session.execute(sa.update(Login).where(is_login).values(seen=now))
        return account


def new_token() -> str:
    """Return a random session token."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """Return the digest under which a session token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def _any(session: Session) -> bool:
    return session.scalar(sa.select(Account.id).limit(1)) is not None


def _select(session: Session, key: int | str) -> Account:
    column = Account.id if isinstance(key, int) else Account.name
    account = session.scalar(sa.select(Account).where(column == key))
    if account is None:
        raise Missing(f"the account {key} does not exist")
    return account


def _end_sessions(session: Session, account: Account) -> None:
    session.execute(sa.delete(Login).where(Login.account_id == account.id))


def _keep_an_owner(session: Session, account: Account) -> None:
    other_owners = sa.select(Account.id).where(
        Account.role == Role.OWNER, Account.disabled.is_(None), Account.id != account.id
    )
    if account.role is Role.OWNER and session.scalar(other_owners.limit(1)) is None:
        raise LastOwner
