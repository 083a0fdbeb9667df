"""Reading of files from other systems, with errors for unreadable or invalid files."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cheaptalk.atomic_files import read_whole
from cheaptalk.records.imports.importing import ImportFailed, Skipped
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.errors import shown


def walk(root: Path, unreadable: list[Skipped]) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders at and below a root with the names of their files, sorted.

    ``unreadable`` receives the folders that can't be read. If the root is not a folder,
    CheaptalkError is raised.
    """
    if not root.is_dir():
        problem = "is a file; name its folder" if root.exists() else "folder does not exist"
        raise CheaptalkError(f"{root}: {problem}")

    def note(error: OSError) -> None:
        location = path_name(root, Path(error.filename))
        unreadable.append(Skipped(location, f"cannot be read: {error.strerror}"))

    for folder, subfolders, files in os.walk(root, onerror=note):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield Path(folder), sorted(name for name in files if not name.startswith("."))


def files_in(root: Path, ending: str, unreadable: list[Skipped], ignored: list[str]) -> list[Path]:
    """Return the files with an ending in a folder and its subfolders; ``ignored`` gets the others.

    See :func:`walk` for unreadable folders and errors.
    """
    files = []
    for folder, names in walk(root, unreadable):
        files += [folder / name for name in names if name.endswith(ending)]
        ignored += [path_name(root, folder / name) for name in names if not name.endswith(ending)]
    return files


def path_name(root: Path, folder: Path) -> str:
    """Return a folder's path below the root as printable text; for the root itself, its name."""
    location = folder.relative_to(root).as_posix()
    return os.fsencode(folder.resolve().name if location == "." else location).decode(
        errors="replace"
    )


def read_text(path: Path) -> str:
    """Return a file's text without a byte order mark; raise ImportFailed if it is not UTF-8."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ImportFailed(f"{path.name}: is a pipe or device, not a file")
        return read_whole(path)
    except FileNotFoundError:
        raise ImportFailed(f"{path.name}: is missing") from None
    except OSError as error:
        raise ImportFailed(f"{path.name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ImportFailed(f"{path.name}: is not UTF-8 text (byte {error.start})") from None


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file; raise :class:`ImportFailed` if it is invalid."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"{path.name}: is not JSON: {error}") from None


def faults(error: ValidationError) -> str:
    """Describe all problems with a file's data in one line, equal problems of list entries once."""
    grouped: dict[tuple[str, str], list[str]] = {}
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
        grouped.setdefault((kind, message), []).append(f'"{field}"')
    return "; ".join(
        f"{first}{f' and {len(others):,} more' if others else ''}: {message}"
        for (_, message), (first, *others) in grouped.items()
    )
