"""Database errors as sentences that name the cause and the cure."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from cheaptalk.rules import CheaptalkError


class StoreError(CheaptalkError):
    """The store cannot be used; the message names the cause and the cure."""


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn database errors into sentences that name the cause and the cure."""
    try:
        yield
    except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
        text = str(getattr(error, "orig", None) or error)
        if "locked" in text or "busy" in text:
            cure = "another program is writing to it; wait for it to end, or stop it"
        elif "full" in text:
            cure = "the disk is full; nothing recorded is lost: free some space and resume"
        elif "not a database" in text or "malformed" in text or "disk image" in text:
            cure = "it is damaged or no store; restore a copy, or name another file with --store"
        elif "readonly" in text or "unable to open" in text:
            cure = "it cannot be written; check the folder and its permissions"
        else:
            cure = "see the cause above"
        raise StoreError(f"{path}: {text}: {cure}") from error
