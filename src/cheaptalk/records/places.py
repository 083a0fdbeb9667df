"""Where a store lies, and whether it can be written there."""

import os
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa


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
