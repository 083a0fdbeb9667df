"""Accounts: logins, passwords and sessions."""

import asyncio
import hmac
import secrets
import threading
import unicodedata
from collections.abc import Callable
from math import ceil
from typing import ParamSpec, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.drafts import Missing
from cheaptalk.web.laboratory.staff import Account, Role
from cheaptalk.web.posted import LoginThrottle
from cheaptalk.web.rooms.links import CODE_LETTERS

Params = ParamSpec("Params")
Result = TypeVar("Result")

MIN_PASSWORD_LENGTH = 10
MAX_PASSWORD_LENGTH = 1_000
MAX_NAME_LENGTH = 64
THROTTLE_SECONDS = 15 * 60.0
"""Time window for counting wrong passwords."""
MAX_FAILURES_PER_ACCOUNT = 10
MAX_FAILURES_PER_ADDRESS = 50
MAX_CONCURRENT_HASHES = 2
"""Each hash takes 64 MiB and a processor core."""


class BadAccount(CheaptalkError):
    """Raised for an invalid account name or new password."""


class WrongPassword(CheaptalkError):
    """Raised for a wrong password or set-up code, or an unknown or disabled account."""

    status_code = 403


class TooManyLogins(CheaptalkError):
    """Raised after too many failed logins; ``wait`` is in seconds."""

    status_code = 429

    def __init__(self, wait: float) -> None:
        minutes = counted(ceil(wait / 60), "minute")
        super().__init__(f"too many wrong passwords; try again in {minutes}")
        self.wait = wait


class Accounts:
    """The accounts of a laboratory; the set-up code is empty if it is already set up.

    Hashing a password takes long, so pages call such methods through ``in_thread``. They raise
    :class:`WrongPassword` for a wrong password or code, or a disabled account,
    :class:`TooManyLogins` after too many such attempts, and :class:`BadAccount` for an invalid new
    name or password.
    """

    def __init__(self, database: LaboratoryDatabase, code: str, hasher: PasswordHasher) -> None:
        self.database = database
        self.staff = database.staff
        self.code = code
        self.hasher = hasher
        self.account_throttle, self.address_throttle = (
            LoginThrottle(maximum, THROTTLE_SECONDS, database.audit.now)
            for maximum in (MAX_FAILURES_PER_ACCOUNT, MAX_FAILURES_PER_ADDRESS)
        )
        self._dummy_hash = hasher.hash(secrets.token_urlsafe())
        self._throttle_lock = threading.Lock()
        self._hash_slots = asyncio.Semaphore(MAX_CONCURRENT_HASHES)

    async def in_thread(
        self, work: Callable[Params, Result], *args: Params.args, **named: Params.kwargs
    ) -> Result:
        """Run a password-hashing function in a small thread pool, to keep pages responsive."""
        async with self._hash_slots:
            return await asyncio.to_thread(work, *args, **named)

    def create_owner(self, code: str, name: str, password: str, address: str) -> Account:
        """Create the owner account; raise :class:`.Taken` if the laboratory has an owner."""
        self._count_attempt(address)
        if not self.code or not equal_texts(_normalized_code(code), _normalized_code(self.code)):
            self.database.audit.enter("", "rejected set-up", address=address)
            raise WrongPassword(
                "the code is wrong; enter the code that the server printed when it started"
            )
        self.address_throttle.undo(address)
        name, password = _checked_name(name), _checked_password(name, password)
        return self.staff.create_owner(name, self.hasher.hash(password))

    def log_in(self, name: str, password: str, address: str) -> str:
        account = self._authenticate(_normalized(name), password, address)
        self.database.audit.enter(account.name, "logged in", address=address)
        return self.staff.log_in(account.id)

    def change_password(self, account: Account, old: str, new: str, address: str) -> str:
        """Change a password, end the account's sessions, and return a new session's token."""
        self._authenticate(account.name, old, address)
        new = _checked_password(account.name, new)
        if equal_texts(new, _normalized(old)):
            raise BadAccount(
                "the new password must differ from the current one; choose another one"
            )
        self.staff.set_password(account.id, self.hasher.hash(new), account.name, one_time=False)
        return self.staff.log_in(account.id)

    def invite(self, name: str, role: Role, by: str) -> str:
        """Create an account and return its one-time password, which is not stored."""
        password = new_code(16)
        self.staff.invite(_checked_name(name), self.hasher.hash(password), role, by)
        return password

    def reset(self, key: int, by: str) -> tuple[str, str]:
        """Reset an account's password, end its sessions, and return name and new password."""
        password = new_code(16)
        after = self.staff.set_password(key, self.hasher.hash(password), by, one_time=True)
        self.account_throttle.clear(_throttle_key(after.name))
        return after.name, password

    def _authenticate(self, name: str, password: str, address: str) -> Account:
        """Return the account if the password is correct; checking an unknown name takes as long."""
        self._count_attempt(address, name)
        try:
            account: Account | None = self.staff.account(name)
        except Missing:
            account = None
        password = _normalized(password)
        is_valid = self._matches(account.password if account else self._dummy_hash, password)
        if account is None or account.disabled is not None or not is_valid:
            name_in_log = account.name if account else ""
            self.database.audit.enter(name_in_log, "wrong password", address=address)
            raise WrongPassword("the name or password is wrong")
        self.account_throttle.clear(_throttle_key(name))
        self.address_throttle.undo(address)
        if self.hasher.check_needs_rehash(account.password):
            self.staff.rehash(account, self.hasher.hash(password))
        return account

    def _count_attempt(self, address: str, name: str | None = None) -> None:
        """Count a login attempt before checking it, so that parallel attempts are also limited."""
        with self._throttle_lock:
            wait = self.address_throttle.wait(address)
            if name is not None:
                wait = max(wait, self.account_throttle.wait(_throttle_key(name)))
            if wait:
                raise TooManyLogins(wait)
            self.address_throttle.count(address)
            if name is not None:
                self.account_throttle.count(_throttle_key(name))

    def _matches(self, hashed: str, password: str) -> bool:
        try:
            return self.hasher.verify(hashed, password[:MAX_PASSWORD_LENGTH])
        except (VerificationError, InvalidHashError):
            return False


def _normalized_code(code: str) -> str:
    return "".join(filter(str.isalnum, code)).upper()


def new_code(letters: int) -> str:
    """Return a random code in groups of four letters, with five random bits per letter."""
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(letters))
    return "-".join(code[start : start + 4] for start in range(0, letters, 4))


def equal_texts(first: str, second: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(first.encode(), second.encode())


def _normalized(text: str) -> str:
    """Normalise a text to Unicode form C, so that it doesn't depend on the keyboard."""
    return unicodedata.normalize("NFC", text)


def _throttle_key(name: str) -> str:
    return name.strip().casefold()[:MAX_NAME_LENGTH]


def _checked_name(text: str) -> str:
    name = _normalized(text).strip()
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise BadAccount(f"a name must have 1 to {MAX_NAME_LENGTH} printable characters")
    return name


def _checked_password(name: str, text: str) -> str:
    password = _normalized(text)
    if not MIN_PASSWORD_LENGTH <= len(password) <= MAX_PASSWORD_LENGTH:
        raise BadAccount(
            f"a password must have {MIN_PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH:,} characters"
        )
    if _throttle_key(password) == _throttle_key(_normalized(name)):
        raise BadAccount("the password must differ from the name; choose another one")
    return password
