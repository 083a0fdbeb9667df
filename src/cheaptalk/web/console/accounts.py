"""Accounts: who may log in, by which password, and for how long."""

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

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.drafts import Missing
from cheaptalk.web.laboratory.staff import Account, Login, Role
from cheaptalk.web.rooms.links import CODE_LETTERS
from cheaptalk.web.tries import Tries

Given = ParamSpec("Given")
Result = TypeVar("Result")

SHORTEST = 10
"""Characters of a password."""
LONGEST = 1_000
LONGEST_NAME = 64
IDLE = 12 * 3600.0
"""Seconds without use after which a session ends."""
LASTS = 7 * 24 * 3600.0
"""Seconds after which a session ends at the latest."""
WHILE = 15 * 60.0
"""Seconds for which wrong passwords count."""
MOST_OF_ACCOUNT = 10
"""Wrong passwords for one account within the while."""
MOST_OF_ADDRESS = 50
"""Wrong passwords from one address within the while."""
AT_ONCE = 2
"""Passwords that are hashed at the same time: each takes 64 MiB and a processor."""


class BadAccount(CheaptalkError):
    """A name or a password that no account can have."""


class WrongPassword(CheaptalkError):
    """A password that is not that of the account, or an account that is not there."""


class TooManyTries(CheaptalkError):
    """Too many wrong passwords.

    Attributes:
        wait: seconds until the next may be tried.
    """

    def __init__(self, wait: float) -> None:
        minutes = ceil(wait / 60)
        super().__init__(
            "there were too many wrong passwords; try again in "
            + ("a minute" if minutes == 1 else f"{minutes} minutes")
        )
        self.wait = wait


class Accounts:
    """The accounts of a laboratory, at the door of its console.

    What hashes passwords takes long: pages call it by ``aside``.

    Args:
        code: what whoever sets up the laboratory must know; empty where nobody may.
        hasher: of passwords.
    """

    def __init__(self, database: LaboratoryDatabase, code: str, hasher: PasswordHasher) -> None:
        self.database = database
        self.staff = database.staff
        self.code = code
        self.hasher = hasher
        self.of_account = Tries(MOST_OF_ACCOUNT, WHILE, database.audit.now)
        self.of_address = Tries(MOST_OF_ADDRESS, WHILE, database.audit.now)
        self._nobody = hasher.hash(secrets.token_urlsafe())
        self._counting = threading.Lock()
        self._hashing = asyncio.Semaphore(AT_ONCE)

    async def aside(
        self, work: Callable[Given, Result], *args: Given.args, **named: Given.kwargs
    ) -> Result:
        """Do what hashes passwords, in a thread and few at a time, so that no page waits for it."""
        async with self._hashing:
            return await asyncio.to_thread(work, *args, **named)

    def found(self, code: str, name: str, password: str, address: str) -> Account:
        """Set the laboratory up: make its owner.

        Raises:
            TooManyTries: the address tried too often.
            WrongPassword: the code is another.
            BadAccount: name or password will not do.
            Taken: there is an owner already.
        """
        self._count(address)
        if not self.code or not same(_letters(code), _letters(self.code)):
            self.database.audit.enter("", "set-up refused", address=address)
            raise WrongPassword("this is not the code that the server printed when it started")
        self.of_address.take_back(address)
        name, password = _name(name), _password(name, password)
        return self.staff.found(name, self.hasher.hash(password))

    def log_in(self, name: str, password: str, address: str) -> str:
        """Open a session; its token.

        Raises:
            TooManyTries: too many wrong passwords before, even if this one is right.
            WrongPassword: nobody can log in by this name and password.
        """
        account = self._checked(_plain(name), password, address)
        self.database.audit.enter(account.name, "logged in", address=address)
        return self._session(account)

    def change_password(self, account: Account, old: str, new: str, address: str) -> str:
        """Give somebody the password that they want, and end their sessions; a new one's token.

        Raises:
            TooManyTries: too many wrong passwords before.
            WrongPassword: the old one is another.
            BadAccount: the new one will not do.
        """
        self._checked(account.name, old, address)
        new = _password(account.name, new)
        if same(new, _plain(old)):
            raise BadAccount("the new password is the old one; choose another")
        self.staff.set_password(account.id, self.hasher.hash(new), account.name, one_time=False)
        return self._session(account)

    def invite(self, name: str, role: Role, by: str) -> str:
        """Make an account; its one-time password, which is kept nowhere.

        Raises:
            BadAccount: the name will not do.
            Taken: there is an account of this name.
        """
        password = new_code(16)
        self.staff.invite(_name(name), self.hasher.hash(password), role, by)
        return password

    def reset(self, key: int, by: str) -> tuple[str, str]:
        """Give somebody a one-time password, and end their sessions.

        Returns:
            their name, and the password, which is kept nowhere.

        Raises:
            Missing: there is no such account.
        """
        password = new_code(16)
        after = self.staff.set_password(key, self.hasher.hash(password), by, one_time=True)
        self.of_account.forgive(_key(after.name))
        return after.name, password

    def login(self, token: str) -> Login | None:
        """The session of a token, which is thereby used; None where there is none, or no longer."""
        return self.staff.login(token, IDLE)

    def log_out(self, account: Account, token: str) -> None:
        """End a session."""
        self.staff.log_out(token)
        self.database.audit.enter(account.name, "logged out")

    def _session(self, account: Account) -> str:
        token = new_token()
        self.staff.log_in(account.id, token, self.database.audit.now() + LASTS)
        return token

    def _checked(self, name: str, password: str, address: str) -> Account:
        """The account of a name and its password; it takes as long where there is none.

        Raises:
            TooManyTries, WrongPassword: as for ``log_in``.
        """
        self._count(address, name)
        try:
            account: Account | None = self.staff.account(name)
        except Missing:
            account = None
        password = _plain(password)
        right = self._is(account.password if account else self._nobody, password)
        if account is None or account.disabled is not None or not right:
            known = account.name if account else ""
            self.database.audit.enter(known, "wrong password", address=address)
            raise WrongPassword("name or password is wrong")
        self.of_account.forgive(_key(name))
        self.of_address.take_back(address)
        if self.hasher.check_needs_rehash(account.password):
            self.staff.rehash(account, self.hasher.hash(password))
        return account

    def _count(self, address: str, name: str | None = None) -> None:
        """Count a try before its password is looked at, so that many at once are no more.

        Raises:
            TooManyTries: there were too many; this one does not count.
        """
        with self._counting:
            wait = self.of_address.wait(address)
            if name is not None:
                wait = max(wait, self.of_account.wait(_key(name)))
            if wait:
                raise TooManyTries(wait)
            self.of_address.count(address)
            if name is not None:
                self.of_account.count(_key(name))

    def _is(self, hashed: str, password: str) -> bool:
        try:
            return self.hasher.verify(hashed, password[:LONGEST])
        except (VerificationError, InvalidHashError):
            return False


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def _letters(code: str) -> str:
    """A code without what parts its letters, however it was typed."""
    return "".join(filter(str.isalnum, code)).upper()


def new_code(letters: int) -> str:
    """A secret that people type, in groups of four letters: each is worth five bits."""
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(letters))
    return "-".join(code[at : at + 4] for at in range(0, letters, 4))


def same(one: str, other: str) -> bool:
    """Whether two texts are the same; how long it takes does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


def _plain(text: str) -> str:
    """A text whose letters are written one way, whichever keyboard they come from."""
    return unicodedata.normalize("NFC", text)


def _key(name: str) -> str:
    """By what wrong passwords for a name are counted."""
    return name.strip().casefold()[:LONGEST_NAME]


def _name(text: str) -> str:
    """A name as an account has it.

    Raises:
        BadAccount: it is none.
    """
    name = _plain(text).strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadAccount(f"a name has 1 to {LONGEST_NAME} letters that can be seen")
    return name


def _password(name: str, text: str) -> str:
    """A password as an account of a name has it.

    Raises:
        BadAccount: it is too short, too long, or the name.
    """
    password = _plain(text)
    if not SHORTEST <= len(password) <= LONGEST:
        raise BadAccount(f"a password has {SHORTEST} to {LONGEST:,} characters; choose another")
    if _key(password) == _key(_plain(name)):
        raise BadAccount("the password is the name; choose another")
    return password
