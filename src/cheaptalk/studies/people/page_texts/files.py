"""Files of a study for its participants: images, and templates of pages.

A study file refers to a file by its path. When the study is loaded, the contents of the files
become part of the study, so that its store, archives and copies contain them, too: an image as a
``data:`` URL, and a template as its text.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.rules.errors import WrongValue, shown
from cheaptalk.studies.people.page_texts.markdown import images_in

MEDIA_TYPES: Mapping[str, tuple[str, bytes]] = {
    ".gif": ("image/gif", rb"GIF8"),
    ".jpeg": ("image/jpeg", rb"\xff\xd8\xff"),
    ".jpg": ("image/jpeg", rb"\xff\xd8\xff"),
    ".png": ("image/png", rb"\x89PNG"),
    ".svg": ("image/svg+xml", rb"\s*(<\?xml.*?\?>\s*)?(<!--.*?-->\s*|<!DOCTYPE[^>]*>\s*)*<svg\b"),
    ".webp": ("image/webp", rb"RIFF....WEBP"),
}
"""Media types of images, and patterns of their first bytes, by suffix."""
TEMPLATE = ".jinja"
"""Suffix of templates of pages."""
SUFFIXES = (*MEDIA_TYPES, TEMPLATE)
MAX_BYTES = 1_000_000
"""Maximum size of an image."""
MAX_TEMPLATE = 100_000
"""Maximum size of a template."""
MAX_TOTAL = 8_000_000
"""Maximum characters of all contents."""
DATA_URL = re.compile(r"data:([a-z+/]+);base64,([A-Za-z0-9+/=\s]*)")
SAFE_NAME = re.compile(r"[\w][\w .()/-]{0,199}")


class Image(NamedTuple):
    """An image with its media type; ``path`` is its name on the server, by its content."""

    path: str
    media_type: str
    content: bytes


def suffix_of(name: str) -> str:
    """Return the suffix of a file's name, such as .png."""
    return Path(name).suffix.lower()


def check_name(name: str) -> None:
    """Raise a ValueError if a name is not that of an image or template."""
    if not is_path(name):
        raise ValueError(
            f"{shown(name)} is not the name of an image or template; use letters, digits, dots, "
            f"dashes and underscores, and one of the endings {', '.join(SUFFIXES)}"
        )


def is_path(text: str) -> bool:
    """Return whether a text is the path of an image or template, not the content of a file."""
    return bool(SAFE_NAME.fullmatch(text)) and ".." not in text and suffix_of(text) in SUFFIXES


def content_of(name: str, data: bytes) -> str:
    """Return the content of a file as it is stored in the study.

    Raises:
        ValueError: the file is too large, or not of the kind that its name says.
    """
    check_name(name)
    if suffix_of(name) == TEMPLATE:
        if len(data) > MAX_TEMPLATE:
            raise ValueError(f"{name} is larger than {MAX_TEMPLATE:,} bytes; shorten it")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{name} is not text in UTF-8; save it as UTF-8") from None
    media_type, start = MEDIA_TYPES[suffix_of(name)]
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES:,} bytes; reduce the image's size")
    if not re.match(start, data, re.DOTALL | re.IGNORECASE):
        raise ValueError(f"{name} is not an image of type {media_type}; convert or rename it")
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def check_contents(files: Mapping[str, str]) -> None:
    """Raise a ValueError unless the contents of a study's files are valid."""
    for name, content in files.items():
        check_name(name)
        if suffix_of(name) == TEMPLATE:
            content_of(name, content.encode())
        elif (match := DATA_URL.fullmatch(content)) is None:
            raise ValueError(
                f"{name}: {shown(content)} is not the content of an image; load the study from a "
                "file that refers to the image, or write a data: URL"
            )
        else:
            content_of(name, _decoded(name, match[2]))
    if sum(map(len, files.values())) > MAX_TOTAL:
        raise ValueError(
            f"the study's files have more than {MAX_TOTAL:,} characters in total; reduce the "
            "images' sizes"
        )


def _decoded(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=False)
    except binascii.Error:
        raise ValueError(f"{name} is not valid base64; encode the image again") from None


def template_text(template: str, files: Mapping[str, str]) -> str | None:
    """Return the text of a template, which may also be a file's name; None if it is missing."""
    if not is_path(template):
        return template
    return files.get(template) if suffix_of(template) == TEMPLATE else None


def image_of(name: str, content: str) -> Image:
    """Return an image of a study."""
    data = _decoded(name, content.partition(",")[2])
    media_type, _ = MEDIA_TYPES[suffix_of(name)]
    return Image(f"{sha256(data).hexdigest()[:32]}{suffix_of(name)}", media_type, data)


def with_files(people: Any, folder: Path) -> Any:
    """Return a protocol, as in a study file, with the contents of the files that it uses.

    Files are read if the protocol names them, by paths relative to the folder: under ``files``, as
    images in its texts, as logo or as templates of pages.

    Raises:
        WrongValue: a file cannot be read, or is not an image or template.
    """
    if not isinstance(people, Mapping):
        return people
    written = people.get("files") or {}
    if not isinstance(written, Mapping):
        return people
    paths = {name: name for name in named_files(people)}
    paths |= {str(name): path for name, path in written.items()}
    files = {name: _content(name, path, folder) for name, path in paths.items()}
    return {**people, "files": files} if files else people


def _content(name: str, path: object, folder: Path) -> str:
    if not isinstance(path, str) or not is_path(path):
        return str(path)
    try:
        check_name(name)
        return content_of(name, _bytes_of(folder / path))
    except FileNotFoundError:
        raise WrongValue(
            f"people.files: {path} not found; put the file into the folder of the study file"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongValue(f"people.files: {path}: {reason}") from None


def _bytes_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def named_files(people: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the files that a protocol, as in a study file, uses."""
    yield from filter(is_path, _named(people))


def _named(people: Mapping[str, Any]) -> Iterator[str]:
    for key, value in people.items():
        match value:
            case str() if key in ("logo", "template"):
                yield value
            case Mapping() if key == "template":
                yield from (name for name in value.values() if isinstance(name, str))
            case str():
                yield from images_in(value) if "![" in value else ()
                if key == "page":
                    yield value
            case Mapping():
                if key != "files":
                    yield from _named(value)
            case list():
                yield from _named({str(number): member for number, member in enumerate(value)})
