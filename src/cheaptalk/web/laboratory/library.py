"""The library of a laboratory: images and templates that researchers uploaded for participants.

A file's path contains a digest of its content, so that a design that names the path always has the
same content. Designs of several studies can share a file. The library also has the last file of
each name: a design that uses a name gets its path when it is saved.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from cheaptalk.atomic_files import whole_path
from cheaptalk.rules.errors import shown
from cheaptalk.studies.people.page_texts.files import (
    TEMPLATE,
    content_of,
    named_files,
    suffix_of,
)
from cheaptalk.studies.study import StudyError
from cheaptalk.yaml_files import as_block, as_yaml, parse_yaml

FOLDER = "files"
PATH = re.compile(rf"{FOLDER}/[0-9a-f]{{32}}\.[a-z]+")
"""Matches the paths of files in the library, relative to the laboratory's folder."""
LAST = "last"
"""Subfolder with the last file of each name."""
Data = dict[str, Any]


def add_to_library(laboratory: Path, name: str, data: bytes) -> str:
    """Store an uploaded file, and return its path relative to the laboratory's folder.

    Raises:
        ValueError: the file is too large, or neither an image nor a template.
    """
    content_of(name, data)
    path = _path_of(name, data)
    for target in (path, *([f"{FOLDER}/{LAST}/{name}"] if "/" not in name else [])):
        with whole_path(laboratory / target) as partial:
            partial.write_bytes(data)
    return path


def _path_of(name: str, data: bytes) -> str:
    return f"{FOLDER}/{sha256(data).hexdigest()[:32]}{suffix_of(name)}"


def last_files(laboratory: Path) -> dict[str, bytes]:
    """Return the last file of each name in the library, in the order of the names."""
    folder = laboratory / FOLDER / LAST
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {file.name: file.read_bytes() for file in files}


def remove_last(laboratory: Path, name: str) -> bool:
    """Remove a name from the library, and return whether it was there; designs keep the file."""
    if name not in last_files(laboratory):
        return False
    (laboratory / FOLDER / LAST / name).unlink()
    return True


def with_paths(text: str, laboratory: Path) -> str:
    """Return a design in YAML with the paths of the library's files that it uses by name only."""
    try:
        missing = _missing(_people_of(text), laboratory)
    except ValueError:
        return text
    for name, path in missing.items():
        text = with_file(text, name, path)
    return text


def _missing(people: Mapping[str, Any], laboratory: Path) -> dict[str, str]:
    """Return the paths of the library's files that a protocol uses without a path, by name."""
    files, paths = people.get("files") or {}, {}
    for name in dict.fromkeys(named_files(people)):
        file = laboratory / FOLDER / LAST / name
        if name not in files and "/" not in name and file.is_file():
            paths[name] = _path_of(name, file.read_bytes())
    return paths


def with_contents(design: Mapping[str, Any], laboratory: Path | None) -> Data:
    """Return a design with the contents of the library's files that it names.

    Raises:
        StudyError: the design names another file, or the file is missing.
    """
    people = design.get("people")
    files = (people.get("files") or {}) if isinstance(people, Mapping) else None
    if laboratory is None or not isinstance(people, Mapping) or not isinstance(files, Mapping):
        return dict(design)
    files = {**files, **_missing(people, laboratory)}
    if not files:
        return dict(design)
    contents = {}
    for name, path in files.items():
        if not PATH.fullmatch(str(path)) or not (laboratory / str(path)).is_file():
            raise StudyError.at(
                ("people", "files", str(name)),
                f"{shown(path)} is not a file of this laboratory; upload {name} on the page Files",
            )
        data = (laboratory / str(path)).read_bytes()
        try:
            contents[str(name)] = content_of(str(name), data)
        except ValueError as error:
            raise StudyError.at(("people", "files", str(name)), str(error)) from None
    return {**design, "people": {**people, "files": contents}}


def files_of(text: str) -> dict[str, str]:
    """Return the paths of the files that a design names, by name; empty if it is not valid."""
    try:
        people = _people_of(text)
    except ValueError:
        return {}
    files = people.get("files")
    return {str(name): str(path) for name, path in files.items()} if files else {}


def with_file(text: str, name: str, path: str | None) -> str:
    """Return a design in YAML that names a file; without the file if ``path`` is None.

    The rest of the text stays as it is, if the file can be named in a line of its own.

    Raises:
        ValueError: the design is not valid YAML, or has no settings of participants.
    """
    data, people = parse_yaml(text), _people_of(text)
    files = {key: value for key, value in (people.get("files") or {}).items() if key != name}
    files |= {} if path is None else {name: path}
    others = {key: value for key, value in people.items() if key != "files"}
    expected = data | {"people": others | ({"files": files} if files else {})}
    edited = _edited(text, name, path, keeps_files=bool(files))
    try:
        return edited if parse_yaml(edited) == expected else as_block(expected)
    except ValueError:
        return as_block(expected)


def _edited(text: str, name: str, path: str | None, *, keeps_files: bool) -> str:
    """Return a design in which the lines of a file were changed, if it is written as usual."""
    key = as_yaml(name)
    lines = [
        line
        for line in text.splitlines()
        if not re.fullmatch(rf"\s+{re.escape(key)}: {FOLDER}/\S+", line)
    ]
    header = next((at for at, line in enumerate(lines) if re.fullmatch(r" +files:", line)), None)
    if header is None and path is not None:
        people = next((at for at, line in enumerate(lines) if re.match("people:", line)), 0)
        header = people + 1
        lines.insert(header, "  files:")
    if header is not None and path is not None:
        indent = lines[header].index("f") + 2
        lines.insert(header + 1, f"{' ' * indent}{key}: {path}")
    elif header is not None and not keeps_files:
        del lines[header]
    return "\n".join(lines) + "\n"


def _people_of(text: str) -> Data:
    data = parse_yaml(text)
    people = data.get("people") if isinstance(data, dict) else None
    if not isinstance(people, dict):
        raise ValueError("the design has no participants; add people with a path first")
    return people


def preview_of(name: str, data: bytes) -> str:
    """Return the address at which a browser shows an image; empty for a template."""
    return "" if suffix_of(name) == TEMPLATE else content_of(name, data)
