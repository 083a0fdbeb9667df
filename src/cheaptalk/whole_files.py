"""Files that are written, and read, whole or not at all."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TextIO

LONGEST = 2**28
"""Bytes of the longest file that is read at once; devices have no end."""


STORE = b"SQLite format 3\0"
"""How stores begin that are files."""


def is_store(path: Path) -> bool:
    """Whether a file that is there is a store, or another database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(STORE)) == STORE


@contextmanager
def whole_file(path: Path, *, new: bool = False) -> Iterator[TextIO]:
    """A text file that takes its place once all is written; until then what was there stays.

    What is no file, such as a pipe or a device, is written as it is. Line ends stay as written.
    A folder that is missing on the way is made.

    Args:
        new: whether no such file may be there.

    Raises:
        FileExistsError: it is there, and was to be new, or is a store, which no text replaces.
        OSError: it cannot be written; nothing is left of it.
    """
    if new and path.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    if is_store(path):
        raise FileExistsError(errno.EEXIST, "it is a store of matches", str(path))
    with whole_path(path) as half, half.open("x", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of another once all is written.

    A folder that is missing on the way is made.

    Raises:
        OSError: it cannot be written; nothing is left of it.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        yield half
        half.replace(path)
    except OSError as error:
        if error.filename == str(half):
            error.filename = str(path)
        raise
    finally:
        if half.exists():
            half.unlink()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write in, which takes the place of a new or empty one once all is written.

    Raises:
        FileExistsError: something is there.
        OSError: it cannot be written; nothing is left of it.
    """
    path = path.absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(errno.EEXIST, "it is there already", str(path))
    half = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        half.mkdir(parents=True)
        yield half
        if path.exists():
            path.rmdir()
        half.rename(path)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def read_whole(path: Path | Traversable, most: int = LONGEST) -> str:
    """A file's text, in UTF-8, without a byte order mark.

    Args:
        most: bytes that it may have.

    Raises:
        OSError: it cannot be read, or is longer.
        UnicodeDecodeError: it is no text.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data.decode("utf-8-sig")


def configured_file(named: str | None, usual: Path | str) -> Path | None:
    """A user's own file; None where there is none.

    Args:
        named: what an environment variable names; empty for none, None where it is not set.
        usual: where it lies in the folder of settings, which it is looked for in if not named.
    """
    if named is not None:
        return Path(named) if named else None
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - Path's own fails where there is no home
    path = Path(folder) / usual
    return path if path.is_file() else None
