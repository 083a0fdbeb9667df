"""Database errors as sentences that name the cause and the cure.

Where a store lies, and whether it can be written there.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError


class StoreError(CheaptalkError):
    """The store cannot be used; the message names the cause and the cure."""


BUSY = "another program is writing to it; wait for it to end, or stop it"
HELD = (
    "another cheaptalk is writing to it; wait for it to end, or stop it (look after a run with: "
    "cheaptalk ctl STUDY)"
)
DAMAGED = "it is damaged or no store; restore a copy, or name another file with --store"
LOCKED_OUT = "it cannot be written; check the file, its folder and their permissions"
CURES = {
    "locked": BUSY,
    "busy": BUSY,
    "full": "nothing recorded is lost: free some space and resume",
    "not a database": DAMAGED,
    "malformed": DAMAGED,
    "decode": DAMAGED,
    "readonly": LOCKED_OUT,
    "unable to open": LOCKED_OUT,
    "I/O error": "the disk or its connection failed; what was committed stays",
}
"""Cures by words of SQLite's messages."""


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn database errors into sentences that name the cause and the cure."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise StoreError(f"{path}: a value is broken off: {DAMAGED}") from error
    except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
        text = str(getattr(error, "orig", None) or error)
        cure = next((cure for words, cure in CURES.items() if words in text), "")
        raise StoreError(f"{path}: {text}{cure and ': '}{cure}") from error


def is_writable(path: Path) -> bool:
    """Whether a store can be written here; SQLite also writes files beside it."""
    folder = os.access(path.absolute().parent, os.W_OK)
    return folder and (not path.exists() or os.access(path, os.W_OK))


def address(path: Path) -> sa.URL:
    """Where SQLAlchemy finds a store; one that cannot be written is opened for reading only."""
    if is_writable(path):
        return sa.URL.create("sqlite", database=str(path))
    log = Path(f"{path}-wal")
    frozen = {} if log.exists() and log.stat().st_size else {"immutable": "1"}
    place = f"file:{quote(str(path.absolute()))}"
    return sa.URL.create("sqlite", database=place, query={"mode": "ro", "uri": "true", **frozen})
