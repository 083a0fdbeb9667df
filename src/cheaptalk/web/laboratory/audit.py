"""The audit log of researchers' actions, from which no entry is ever removed."""

import re
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, Session, mapped_column

from cheaptalk.web.laboratory.sqlite_file import Record, SqliteFile

PAGE = 50
"""Number of entries per page."""
STRUCK = "[erased]"
"""Replacement for the code of a deleted participant."""

Detail: TypeAlias = "str | float | bool | list[Detail] | dict[str, Detail] | None"
"""A value in the details of an entry."""


class Entry(Record):
    """An entry of the audit log; ``account`` and ``study`` are empty if there is none.

    ``at`` is in seconds since 1970.
    """

    __tablename__ = "audit"
    __table_args__ = {"sqlite_autoincrement": True}  # noqa: RUF012 - as SQLAlchemy expects

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    at: Mapped[float]
    account: Mapped[str]
    study: Mapped[str] = mapped_column(sa.String(collation="NOCASE"), index=True)
    deed: Mapped[str]
    details: Mapped[dict[str, Detail]] = mapped_column(sa.JSON)


class Audit:
    """The audit log in a laboratory's database; ``now`` is a clock in seconds since 1970."""

    def __init__(self, file: SqliteFile, now: Callable[[], float] = time.time) -> None:
        self.file = file
        self.now = now

    def enter(self, account: str, deed: str, study: str = "", **details: Detail) -> None:
        with self.file.writing() as session:
            self.within(session, account, deed, study, **details)

    def within(
        self, session: Session, account: str, deed: str, study: str = "", **details: Detail
    ) -> None:
        """Add a log entry in the same database transaction as the logged action."""
        session.add(Entry(self.now(), account, study, deed, details))

    def page(self, study: str | None = None, before: int | None = None) -> list[Entry]:
        """Return log entries, newest first, optionally of one study or before a given entry."""
        query = sa.select(Entry).order_by(Entry.id.desc()).limit(PAGE)
        if study is not None:
            query = query.where(Entry.study == study)
        if before is not None:
            query = query.where(Entry.id < before)
        with self.file.reading() as session:
            return [*session.scalars(query)]

    def forget(self, code: str) -> int:
        """Erase a participant's code from the log and the disk; return how many entries changed."""
        pattern = re.compile(rf"(?<!\w){re.escape(code)}(?!\w)")
        struck = 0
        with self.file.writing() as session:
            for entry in session.scalars(sa.select(Entry)).all():
                details: Any = _without(entry.details, pattern)
                if details != entry.details:
                    struck += 1
                    entry.details = details
        self.file.clean()
        return struck


def _without(value: Detail, code: re.Pattern[str]) -> Detail:
    match value:
        case str():
            return code.sub(STRUCK, value)
        case list():
            return [_without(item, code) for item in value]
        case dict():
            return {code.sub(STRUCK, key): _without(item, code) for key, item in value.items()}
        case _:
            return value
