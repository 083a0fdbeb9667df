"""Database errors as sentences that name the cause and the cure."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
