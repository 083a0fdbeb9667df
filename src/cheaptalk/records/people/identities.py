"""Participants' external ids, in a separate file.

The store identifies participants only by codes. A store therefore contains no external ids, and
deleting the file of identities makes all records anonymous.
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
INVITATIONS = """
create table if not exists invitations (
    study text not null, address text not null, code text not null, columns text not null,
    made real not null, primary key (study, address), unique (study, code)
) without rowid
"""
SELECT = "select source, known_by, code, more from identities"
CODE = "select code from identities where study = ? and source = ? and known_by = ?"


class Identity(NamedTuple):
    """A participant's platform, id on the platform (``known_by``), and code in the store.

    ``more`` are further parameters of the participant's link, as a URL query.
    """

    source: str
    known_by: str
    code: str
    more: str


def identities_file(identities: Iterable[Identity], shown: Mapping[str, str]) -> str:
    """Return a CSV table of participants' codes and external ids.

    ``shown`` are completion codes by participant, separated by spaces after several visits.
    Participants who have not ended are missing.
    """
    ordered = sorted(identities, key=lambda identity: identity.code)
    links = [dict(parse_qsl(identity.more)) for identity in ordered]
    names = list(dict.fromkeys(name for link in links for name in link))
    rows = [
        (
            identity.code,
            identity.source,
            identity.known_by,
            *(link.get(name, "") for name in names),
            shown.get(identity.code, ""),
        )
        for identity, link in zip(ordered, links, strict=True)
    ]
    return bare_csv([("participant", "source", "id", *names, "completion_code"), *rows])


class Identities:
    """A file of participants' external ids, in which deleted data is overwritten.

    The file is readable only by its owner, and created if missing; StoreError if that is
    impossible.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self.opened() as connection:
            connection.execute(TABLE)
            connection.execute(INVITATIONS)
        path.chmod(0o600)

    @contextmanager
    def opened(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to the file, and commit at the end."""
        try:
            with closing(sqlite3.connect(self.path, timeout=10)) as connection:
                connection.execute("pragma secure_delete=on")
                with connection:
                    yield connection
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} is not a file of identities: {error}") from error

    def note(self, study: str, source: str, known_by: str, code: str, more: str = "") -> str:
        """Record an external id, and return the code of the participant who first used it."""
        with self.opened() as connection:
            connection.execute(
                "insert into identities values (?, ?, ?, ?, ?, ?) on conflict do nothing",
                (study, source, known_by, code, more, time.time()),
            )
            return str(connection.execute(CODE, (study, source, known_by)).fetchone()[0])

    def code_of(self, study: str, source: str, known_by: str) -> str | None:
        with self.opened() as connection:
            row = connection.execute(CODE, (study, source, known_by)).fetchone()
            return None if row is None else str(row[0])

    def of_study(self, study: str) -> dict[str, Identity]:
        """Return the external ids of a study's participants, by participant code."""
        with self.opened() as connection:
            rows = connection.execute(f"{SELECT} where study = ?", (study,))
            return {identity.code: identity for identity in map(Identity._make, rows)}

    def find(self, code: str) -> Identity | None:
        with self.opened() as connection:
            row = connection.execute(f"{SELECT} where code = ?", (code,)).fetchone()
            return None if row is None else Identity(*row)

    def forget(self, code: str) -> None:
        """Delete the external id of a participant, and their invitation."""
        with self.opened() as connection:
            connection.execute(
                "delete from invitations where (study, code) in "
                "(select study, known_by from identities where code = ?)",
                (code,),
            )
            connection.execute("delete from identities where code = ?", (code,))
