"""Identities: by which ids participants came, in a file apart from what they did.

The store knows a participant by a code alone. Whoever gives a store away gives no id away, and
to delete this file is to make all records anonymous.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from cheaptalk.records.exports.sheets import bare_csv
from cheaptalk.records.store.backend import StoreError

TABLE = """
create table if not exists identities (
    study text not null, source text not null, known_by text not null, code text not null unique,
    more text not null, noted real not null, primary key (study, source, known_by)
) without rowid
"""


class Identity(NamedTuple):
    """By which id a participant came.

    Attributes:
        source: where from, such as prolific.
        known_by: the id there.
        code: the participant's code in the store.
        more: what else stood in their link, as a URL's query.
    """

    source: str
    known_by: str
    code: str
    more: str


def identities_file(identities: Iterable[Identity], shown: Mapping[str, str]) -> str:
    """Identities as a table: participants by their codes, and the ids by which they came.

    Args:
        shown: the code that each was shown in the end, by participant; those of several visits are
            parted by spaces. Who has not ended has none.
    """
    ordered = sorted(identities, key=lambda one: one.code)
    links = [dict(parse_qsl(one.more)) for one in ordered]
    names = list(dict.fromkeys(name for link in links for name in link))
    rows = [
        (one.code, one.source, one.known_by, *(link.get(name, "") for name in names),
         shown.get(one.code, ""))
        for one, link in zip(ordered, links, strict=True)
    ]  # fmt: skip
    return bare_csv([("participant", "source", "id", *names, "completion_code"), *rows])


class Identities:
    """Reads and writes the file; what is deleted is overwritten.

    Args:
        path: the file, which only its owner can read; made where there is none.

    Raises:
        StoreError: it cannot be opened, or is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as connection:
            connection.execute(TABLE)
        path.chmod(0o600)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=10)) as connection:
                connection.execute("pragma secure_delete=on")
                with connection:
                    yield connection
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} keeps no identities: {error}") from error

    def note(self, study: str, source: str, known_by: str, code: str, more: str = "") -> str:
        """Note by which id somebody came; the code of whoever came by it first."""
        with self._open() as connection:
            connection.execute(
                "insert into identities values (?, ?, ?, ?, ?, ?) on conflict do nothing",
                (study, source, known_by, code, more, time.time()),
            )
            found = connection.execute(
                "select code from identities where study = ? and source = ? and known_by = ?",
                (study, source, known_by),
            )
            return str(found.fetchone()[0])

    def code_of(self, study: str, source: str, known_by: str) -> str | None:
        """The code of whoever came by an id; None where nobody did."""
        with self._open() as connection:
            row = connection.execute(
                "select code from identities where study = ? and source = ? and known_by = ?",
                (study, source, known_by),
            ).fetchone()
            return None if row is None else str(row[0])

    def of_study(self, study: str) -> dict[str, Identity]:
        """The identities of a study's participants, by their codes."""
        with self._open() as connection:
            rows = connection.execute(
                "select source, known_by, code, more from identities where study = ?", (study,)
            )
            return {one.code: one for one in map(Identity._make, rows)}

    def find(self, code: str) -> Identity | None:
        """The identity of a participant; None where none is known."""
        with self._open() as connection:
            row = connection.execute(
                "select source, known_by, code, more from identities where code = ?", (code,)
            ).fetchone()
            return None if row is None else Identity(*row)

    def forget(self, code: str) -> None:
        """Delete a participant's identity."""
        with self._open() as connection:
            connection.execute("delete from identities where code = ?", (code,))
