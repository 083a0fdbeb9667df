"""Drafts: study files that several researchers can edit."""

import re
from typing import NamedTuple

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.sqlite_file import SqliteFile, drafts

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
"""Valid study names, which appear in URLs and file names."""
PAGE = 50
"""Number of drafts per page."""


class BadName(CheaptalkError):
    """An invalid study name."""


class Taken(CheaptalkError):
    """A name that is already in use."""

    status_code = 409


class Missing(CheaptalkError):
    """A study or account that does not exist."""

    status_code = 404


class Draft(NamedTuple):
    """A study file that is being edited; ``version`` is the number of changes plus 1."""

    name: str
    text: str
    version: int
    made_by: str
    changed_by: str
    made: float
    changed: float


class Conflict(CheaptalkError):
    """Raised with the unsaved text if another researcher has changed a draft meanwhile."""

    status_code = 409

    def __init__(self, submitted: str, current: Draft) -> None:
        super().__init__(
            f"{current.changed_by} changed {current.name} after you opened it; choose a version"
        )
        self.submitted = submitted
        self.current = current


class Drafts:
    """The drafts in a laboratory's database. Every change is logged.

    Methods raise :class:`Missing` if a draft does not exist, and :class:`Conflict` if another
    researcher has changed the draft since the ``expected`` version.
    """

    def __init__(self, file: SqliteFile, audit: Audit) -> None:
        self.file = file
        self.audit = audit

    def create(self, name: str, text: str, by: str) -> Draft:
        """Create a draft of a new study, whose name must be valid and new, ignoring case."""
        if not NAME.fullmatch(name):
            raise BadName(
                f'"{name}" is not a valid study name; use up to 80 letters (a to z), digits, dots, '
                "dashes and underscores, starting with a letter, digit or underscore"
            )
        now = self.audit.now()
        draft = Draft(name, text, 1, by, by, now, now)
        try:
            with self.file.writing() as connection:
                connection.execute(sa.insert(drafts).values(draft._asdict()))
                self.audit.within(connection, by, "study created", name)
        except sa.exc.IntegrityError:
            raise Taken(f"a study named {name} already exists; choose another name") from None
        return draft

    def read(self, name: str) -> Draft:
        with self.file.reading() as connection:
            return _select(connection, name)

    def replace(self, name: str, text: str, expected: int, by: str) -> Draft:
        with self.file.writing() as connection:
            before = _select(connection, name)
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
        """Delete a draft, and erase its text from the disk."""
        with self.file.writing() as connection:
            before = _select(connection, name)
            if before.version != expected:
                raise Conflict("", before)
            connection.execute(sa.delete(drafts).where(drafts.c.name == name))
            self.audit.within(connection, by, "study deleted", before.name, version=expected)
        self.file.clean()

    def page(self, words: str = "", after: int = 0) -> list[Draft]:
        """Return the drafts that contain all words, most recently changed first."""
        query = sa.select(drafts).order_by(drafts.c.changed.desc(), drafts.c.name)
        for word in words.split():
            query = query.where(
                drafts.c.name.icontains(word, autoescape=True)
                | drafts.c.text.icontains(word, autoescape=True)
            )
        with self.file.reading() as connection:
            rows = connection.execute(query.offset(after).limit(PAGE)).mappings()
            return [Draft(**row) for row in rows]


def _select(connection: sa.Connection, name: str) -> Draft:
    row = connection.execute(sa.select(drafts).where(drafts.c.name == name)).mappings().first()
    if row is None:
        raise Missing(f"no study is named {name}; it may have been deleted")
    return Draft(**row)
