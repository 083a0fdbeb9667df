"""Atomic writing of files and folders, and reading of entire files."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TextIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LONGEST = 2**28
"""Default maximum size of a file to read, in bytes; devices have no end."""
STORE = b"SQLite format 3\0"
"""The first bytes of a store in a file."""


def is_store(path: Path) -> bool:
    """Return whether a path is an SQLite database, such as a store."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(STORE)) == STORE


@contextmanager
def whole_file(path: Path, *, new: bool = False) -> Iterator[TextIO]:
    """Open a text file that replaces an existing file when it is complete.

    Pipes and devices are written directly. Line endings are unchanged. Missing parent folders are
    created. FileExistsError is raised if the file is a store, or exists although ``new`` is set;
    after any OSError, no partial file remains.
    """
    if new and path.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    if is_store(path):
        raise FileExistsError(errno.EEXIST, "the file is a store; choose another name", str(path))
    with whole_path(path) as partial, partial.open("x", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path for a file that replaces an existing file when it is complete.

    Missing parent folders are created. After an OSError, no partial file remains.
    """
    with _temporary(path) as partial:
        yield partial
        partial.replace(path)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to ``path`` when it is complete.

    FileExistsError is raised if the path is a file or a non-empty folder.
    """
    path = path.absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(errno.EEXIST, "the folder already exists", str(path))
    with _temporary(path) as partial:
        partial.mkdir()
        yield partial
        if path.exists():
            path.rmdir()
        partial.rename(path)


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """Yield a path on the same disk, in a hidden folder that is locked and finally removed.

    A killed process leaves its folder behind, without a lock; the next use of the path removes it.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{escape(path.name)}.*.part"):
        with suppress(OSError), _locked(leftover, wait=False):
            shutil.rmtree(leftover)
    hidden = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with ExitStack() as stack:
        try:
            hidden.mkdir()
            stack.callback(shutil.rmtree, hidden, ignore_errors=True)
            with suppress(OSError):  # not on every disk
                stack.enter_context(_locked(hidden))
            hidden.mkdir(exist_ok=True)  # another process removed it before it was locked
            yield hidden / path.name
        except OSError as error:
            if error.filename in (str(hidden), str(hidden / path.name)):
                error.filename = str(path)
            raise


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Lock a folder until the process ends; raise OSError if that is impossible."""
    descriptor = os.open(folder, os.O_RDONLY)  # impossible on Windows
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def read_whole(path: Path | Traversable, max_bytes: int = LONGEST) -> str:
    """Return the text of a file in UTF-8, without a byte order mark.

    Raises UnicodeDecodeError for other text, and OSError also for more than ``max_bytes``.
    """
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data.decode("utf-8-sig")


def configured_file(configured: str | None, default: Path | str) -> Path | None:
    """Return a user's configuration file; None if there is none.

    ``configured`` is the value of an environment variable: "" for no file, None if it is not set.
    ``default`` is a path in the user's configuration folder.
    """
    if configured is not None:
        return Path(configured) if configured else None
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - Path's own fails where there is no home
    path = Path(folder) / default
    return path if path.is_file() else None
