"""Drafts: study files that several researchers can edit."""

import re
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, Session, mapped_column

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import Audit
from cheaptalk.web.laboratory.library import with_paths
from cheaptalk.web.laboratory.sqlite_file import Record, SqliteFile

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


class Draft(Record):
    """A study file that is being edited; ``version`` is the number of changes plus 1.

    Authors are names of accounts, and times are in seconds since 1970.
    """

    __tablename__ = "drafts"

    name: Mapped[str] = mapped_column(sa.String(collation="NOCASE"), primary_key=True)
    text: Mapped[str] = mapped_column(sa.Text)
    version: Mapped[int]
    made_by: Mapped[str]
    changed_by: Mapped[str]
    made: Mapped[float]
    changed: Mapped[float] = mapped_column(index=True)


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

    A draft that uses files of the laboratory's library by name gets their paths when it is saved.
    Methods raise :class:`Missing` if a draft does not exist, and :class:`Conflict` if another
    researcher has changed the draft since the ``expected`` version.
    """

    def __init__(self, file: SqliteFile, audit: Audit, laboratory: Path) -> None:
        self.file = file
        self.audit = audit
        self.laboratory = laboratory

    def create(self, name: str, text: str, by: str) -> Draft:
        """Create a draft of a new study, whose name must be valid and new, ignoring case."""
        if not NAME.fullmatch(name):
            raise BadName(
                f'"{name}" is not a valid study name; use up to 80 letters (a to z), digits, dots, '
                "dashes and underscores, starting with a letter, digit or underscore"
            )
        now, text = self.audit.now(), with_paths(text, self.laboratory)
        draft = Draft(name, text, 1, by, by, now, now)
        try:
            with self.file.writing() as session:
                session.add(draft)
                self.audit.within(session, by, "study created", name)
        except sa.exc.IntegrityError:
            raise Taken(f"a study named {name} already exists; choose another name") from None
        return draft

    def read(self, name: str) -> Draft:
        with self.file.reading() as session:
            return _select(session, name)

    def replace(self, name: str, text: str, expected: int, by: str) -> Draft:
        text = with_paths(text, self.laboratory)
        with self.file.writing() as session:
            draft = _select(session, name)
            if draft.text == text:
                return draft
            _expect(session, draft, expected, text)
            draft.text, draft.version = text, expected + 1
            draft.changed_by, draft.changed = by, self.audit.now()
            self.audit.within(session, by, "design changed", draft.name, version=draft.version)
            return draft

    def delete(self, name: str, expected: int, by: str) -> None:
        """Delete a draft, and erase its text from the disk."""
        with self.file.writing() as session:
            draft = _select(session, name)
            _expect(session, draft, expected, "")
            session.delete(draft)
            self.audit.within(session, by, "study deleted", draft.name, version=expected)
        self.file.clean()

    def page(self, words: str = "", after: int = 0) -> list[Draft]:
        """Return the drafts that contain all words, most recently changed first."""
        query = sa.select(Draft).order_by(Draft.changed.desc(), Draft.name)
        for word in words.split():
            query = query.where(
                Draft.name.icontains(word, autoescape=True)
                | Draft.text.icontains(word, autoescape=True)
            )
        with self.file.reading() as session:
            return [*session.scalars(query.offset(after).limit(PAGE))]


def _select(session: Session, name: str) -> Draft:
    draft = session.scalar(sa.select(Draft).where(Draft.name == name))
    if draft is None:
        raise Missing(f"no study is named {name}; it may have been deleted")
    return draft


def _expect(session: Session, draft: Draft, version: int, submitted: str) -> None:
    """Raise Conflict if a draft has another version."""
    if draft.version != version:
        session.expunge(draft)  # keeps its values after the rollback
        raise Conflict(submitted, draft)
