"""The audit log of researchers' actions, from which no entry is ever removed."""

import re
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.web.laboratory.sqlite_file import SqliteFile, audit

PAGE = 50
"""Number of entries per page."""
STRUCK = "[erased]"
"""Replacement for the code of a deleted participant."""

Detail: TypeAlias = "str | float | bool | list[Detail] | dict[str, Detail] | None"
"""A value in the details of an entry."""


class Entry(NamedTuple):
    """An entry of the audit log; ``account`` and ``study`` are empty if there is none."""

    id: int
    at: float
    account: str
    study: str
    deed: str
    details: dict[str, Detail]


class Audit:
    """The audit log in a laboratory's database; ``now`` is a clock in seconds since 1970."""

    def __init__(self, file: SqliteFile, now: Callable[[], float] = time.time) -> None:
        self.file = file
        self.now = now

    def enter(self, account: str, deed: str, study: str = "", **details: Detail) -> None:
        with self.file.writing() as connection:
            self.within(connection, account, deed, study, **details)

    def within(
        self, connection: sa.Connection, account: str, deed: str, study: str = "", **details: Detail
    ) -> None:
        """Add a log entry in the same database transaction as the logged action."""
        connection.execute(
            sa.insert(audit).values(
                at=self.now(), account=account, study=study, deed=deed, details=details
            )
        )

    def page(self, study: str | None = None, before: int | None = None) -> list[Entry]:
        """Return log entries, newest first, optionally of one study or before a given entry."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(PAGE)
        if study is not None:
            query = query.where(audit.c.study == study)
        if before is not None:
            query = query.where(audit.c.id < before)
        with self.file.reading() as connection:
            return [Entry(**row) for row in connection.execute(query).mappings()]

    def forget(self, code: str) -> int:
        """Erase a participant's code from the log and the disk; return how many entries changed."""
        pattern = re.compile(rf"(?<!\w){re.escape(code)}(?!\w)")
        struck = 0
        with self.file.writing() as connection:
            for row in connection.execute(sa.select(audit.c.id, audit.c.details)).all():
                details = _without(row.details, pattern)
                if details != row.details:
                    struck += 1
                    changed = sa.update(audit).where(audit.c.id == row.id)
                    connection.execute(changed.values(details=details))
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
