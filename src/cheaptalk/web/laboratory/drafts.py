"""Drafts of studies: the study file as researchers write it, several of them at a time."""

import re
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.sqlite_file import SqliteFile
from cheaptalk.web.laboratory.tables import drafts

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
"""Names of studies in a laboratory, which stand in addresses and name files."""
PAGE = 50
"""Drafts that are listed at once."""


class BadName(CheaptalkError):
    """A name that no study of a laboratory can have."""


class Taken(CheaptalkError):
    """A name that something else has already."""


class Missing(CheaptalkError):
    """Something that is not there, or no longer."""


class Draft(NamedTuple):
    """A study as it is written.

    Attributes:
        text: the study file.
        version: 1 at first, and one more with each change.
        made_by, changed_by: names of accounts.
        made, changed: seconds since 1970.
    """

    name: str
    text: str
    version: int
    made_by: str
    changed_by: str
    made: float
    changed: float


class Conflict(CheaptalkError):
    """Somebody else has changed a draft since it was read; both texts are here.

    Attributes:
        mine: the text that was to be kept.
        theirs: the draft as it now is.
    """

    def __init__(self, mine: str, theirs: Draft) -> None:
        super().__init__(
            f"since you opened it, {theirs.changed_by} has changed {theirs.name}; choose a text"
        )
        self.mine = mine
        self.theirs = theirs


class Drafts:
    """The drafts in a laboratory's file. Each change is in the log."""

    def __init__(self, file: SqliteFile, audit: Audit) -> None:
        self.file = file
        self.audit = audit

    def create(self, name: str, text: str, by: str) -> Draft:
        """Keep a new draft.

        Raises:
            BadName: it cannot be called so.
            Taken: there is one of this name, in whatever case.
        """
        if not NAME.fullmatch(name):
            raise BadName(
                "a study's name has up to 80 letters (a to z), digits, dots, dashes and "
                "underscores, and begins with a letter, a digit or an underscore"
            )
        now = self.audit.now()
        made = Draft(name, text, 1, by, by, now, now)
        try:
            with self.file.writing() as connection:
                connection.execute(sa.insert(drafts).values(made._asdict()))
                self.audit.within(connection, by, "study begun", name)
        except sa.exc.IntegrityError:
            raise Taken(f"there is a study called {name} already; choose another name") from None
        return made

    def read(self, name: str) -> Draft:
        """The draft of a name, in whatever case.

        Raises:
            Missing: there is none.
        """
        with self.file.reading() as connection:
            return _found(connection, name)

    def replace(self, name: str, text: str, expected: int, by: str) -> Draft:
        """Give a draft another text; the same text changes nothing.

        Args:
            expected: the version that the text was made of.

        Raises:
            Missing: there is no such draft.
            Conflict: it has another version by now.
        """
        with self.file.writing() as connection:
            before = _found(connection, name)
            if before.text == text:
                return before
            if before.version != expected:
                raise Conflict(text, before)
            after = before._replace(
                text=text, version=expected + 1, changed_by=by, changed=self.audit.now()
            )
            chosen = sa.update(drafts).where(drafts.c.name == name)
            connection.execute(chosen.values(after._asdict()))
            self.audit.within(connection, by, "design changed", after.name, version=after.version)
            return after

    def delete(self, name: str, expected: int, by: str) -> None:
        """Remove a draft, and its text from the disk.

        Args:
            expected: the version that is to go.

        Raises:
            Missing: there is no such draft.
            Conflict: it has another version by now.
        """
        with self.file.writing() as connection:
            before = _found(connection, name)
            if before.version != expected:
                raise Conflict("", before)
            connection.execute(sa.delete(drafts).where(drafts.c.name == name))
            self.audit.within(connection, by, "study deleted", before.name, version=expected)
        self.file.clean()

    def page(self, words: str = "", after: int = 0) -> list[Draft]:
        """Drafts, those changed last first; at most ``PAGE``.

        Args:
            words: only those that have all of them in their names or texts.
            after: how many to leave out at the beginning.
        """
        wanted = sa.select(drafts).order_by(drafts.c.changed.desc(), drafts.c.name)
        for word in words.split():
            wanted = wanted.where(
                drafts.c.name.icontains(word, autoescape=True)
                | drafts.c.text.icontains(word, autoescape=True)
            )
        with self.file.reading() as connection:
            found = connection.execute(wanted.offset(after).limit(PAGE)).mappings()
            return [Draft(**row) for row in found]


def _found(connection: sa.Connection, name: str) -> Draft:
    row = connection.execute(sa.select(drafts).where(drafts.c.name == name)).mappings().first()
    if row is None:
        raise Missing("there is no study of this name; it may have been deleted")
    return Draft(**row)
