"""Reading other systems' folders: whatever is wrong with a file is said, never raised as is."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cheaptalk.records.imports.intake import Skipped, Unfit
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import shown
from cheaptalk.whole_files import read_whole


def walk(root: Path, closed: list[Skipped]) -> Iterator[tuple[Path, list[str]]]:
    """The folders at and below a root with the names of their files, all in order.

    Args:
        closed: takes up the folders that cannot be read.

    Raises:
        CheaptalkError: the root is no folder.
    """
    if not root.is_dir():
        what = "is a file; name its folder" if root.exists() else "there is no such folder"
        raise CheaptalkError(f"{root}: {what}")

    def note(error: OSError) -> None:
        place = place_name(root, Path(error.filename))
        closed.append(Skipped(place, f"cannot be read: {error.strerror}"))

    for here, inner, files in os.walk(root, onerror=note):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield Path(here), sorted(name for name in files if not name.startswith("."))


def place_name(root: Path, folder: Path) -> str:
    """A folder's place below the root (the root's own name for itself) as printable text."""
    place = folder.relative_to(root).as_posix()
    return os.fsencode(folder.resolve().name if place == "." else place).decode(errors="replace")


def read_text(path: Path) -> str:
    """A file's text, without a byte order mark.

    Raises:
        Unfit: it is missing, cannot be read, is not UTF-8, or is no file: a pipe may never end.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise Unfit(f"{path.name}: is a pipe or a device, and no file")
        return read_whole(path)
    except FileNotFoundError:
        raise Unfit(f"{path.name}: is missing") from None
    except OSError as error:
        raise Unfit(f"{path.name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unfit(f"{path.name}: is not UTF-8 text (byte {error.start})") from None


def read_json(path: Path) -> Any:
    """What a JSON file holds.

    Raises:
        Unfit: it cannot be read, or is not JSON.
    """
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise Unfit(f"{path.name}: is not JSON: {error}") from None


def faults(error: ValidationError) -> str:
    """What is wrong with a file's data, in one line: each field and why.

    Of entries of a list that lack the same, the first is named, and how many more there are.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for problem in error.errors(include_url=False):
        field = ".".join(map(str, problem["loc"])) or problem["type"]
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if problem["type"] == "extra_forbidden":
            message = "is a setting that the importer does not know"
        elif problem["type"] == "missing":
            message = "is missing"
        elif problem["type"] == "literal_error":
            message += f", not {shown(problem['input'])}"
        kind = ".".join("" if isinstance(part, int) else part for part in problem["loc"])
        alike.setdefault((kind, message), []).append(f'"{field}"')
    return "; ".join(
        f"{first}{f' and {len(more):,} more' if more else ''}: {message}"
        for (_, message), (first, *more) in alike.items()
    )
