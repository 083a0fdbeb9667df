"""The log of deeds: who did what to which study, and when. It only grows."""

import re
import time
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.web.laboratory.sqlite_file import SqliteFile
from cheaptalk.web.laboratory.tables import audit

PAGE = 50
"""Entries that are read at once."""
STRUCK = "[erased]"
"""Stands where a participant's code stood."""

Detail: TypeAlias = "str | float | bool | list[Detail] | dict[str, Detail] | None"
"""What may stand in an entry."""


class Entry(NamedTuple):
    """A deed.

    Attributes:
        id: its number; later deeds have greater ones.
        at: when, in seconds since 1970.
        account: the name of who did it; empty where nobody known did.
        study: the name of the study it concerns; empty where it concerns none.
        deed: what was done, in a word or two.
        details: what more is to be known.
    """

    id: int
    at: float
    account: str
    study: str
    deed: str
    details: dict[str, Detail]


class Audit:
    """The log in a laboratory's file.

    Args:
        now: the time, in seconds since 1970.
    """

    def __init__(self, file: SqliteFile, now: Callable[[], float] = time.time) -> None:
        self.file = file
        self.now = now

    def enter(self, account: str, deed: str, study: str = "", **details: Detail) -> None:
        """Write down a deed."""
        with self.file.writing() as connection:
            self.within(connection, account, deed, study, **details)

    def within(
        self, connection: sa.Connection, account: str, deed: str, study: str = "", **details: Detail
    ) -> None:
        """Write down a deed in the transaction that does it: both stay, or neither."""
        connection.execute(
            sa.insert(audit).values(
                at=self.now(), account=account, study=study, deed=deed, details=details
            )
        )

    def page(self, study: str | None = None, before: int | None = None) -> list[Entry]:
        """A page of the log, newest first; the next is that before its last entry.

        Args:
            study: only of this study.
            before: only entries with lesser numbers.
        """
        wanted = sa.select(audit).order_by(audit.c.id.desc()).limit(PAGE)
        if study is not None:
            wanted = wanted.where(audit.c.study == study)
        if before is not None:
            wanted = wanted.where(audit.c.id < before)
        with self.file.reading() as connection:
            return [Entry(**row) for row in connection.execute(wanted).mappings()]

    def forget(self, code: str) -> int:
        """Strike a participant's code out of all entries' details, and off the disk.

        Returns:
            how many entries held it.
        """
        whole = re.compile(rf"(?<!\w){re.escape(code)}(?!\w)")
        struck = 0
        with self.file.writing() as connection:
            for row in connection.execute(sa.select(audit.c.id, audit.c.details)).all():
                rest = _without(row.details, whole)
                if rest != row.details:
                    struck += 1
                    changed = sa.update(audit).where(audit.c.id == row.id)
                    connection.execute(changed.values(details=rest))
        self.file.clean()
        return struck


def _without(value: Detail, code: re.Pattern[str]) -> Detail:
    """A detail with a code struck out, wherever it stands as a whole word."""
    match value:
        case str():
            return code.sub(STRUCK, value)
        case list():
            return [_without(one, code) for one in value]
        case dict():
            return {code.sub(STRUCK, key): _without(one, code) for key, one in value.items()}
        case _:
            return value
