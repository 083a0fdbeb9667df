"""Reading the YAML that people write."""

from collections import Counter
from collections.abc import Hashable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

CORRECTIONS = {
    "found character '\\t'": "a tab; indent with spaces",
    "mapping values are not allowed here": "a colon that does not belong here; indent alike, or "
    "put text that holds one in quotes",
    "but got '<stream end>'": "it ends before a bracket or a quote is closed",
    "but found another document": "a second document begins; write one in each file",
    "found unexpected end of stream": "it ends before a bracket or a quote is closed",
}
"""What is wrong and how to mend it, by what the parser says of it."""


class _Loader(yaml.SafeLoader):
    """Reads YAML, and refuses a mapping in which one key stands twice: one would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key for key, _ in node.value if not key.tag.endswith(":merge")]
        counts = Counter(str(key.value) for key in keys)
        twice = [key for key in keys if counts[str(key.value)] > 1]
        if twice:
            second = next(key for key in twice[1:] if str(key.value) == str(twice[0].value))
            raise yaml.constructor.ConstructorError(
                None, None, f'the key "{second.value}" stands twice', second.start_mark
            )
        return super().construct_mapping(node, deep)


def parse_yaml(text: str) -> Any:
    """What YAML says.

    >>> parse_yaml("{share: 0.5}")
    {'share': 0.5}

    Raises:
        ValueError: it is none, or a key stands twice; the message says in which line.
    """
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = error.problem or error.context or "no YAML"
        found = (words for part, words in CORRECTIONS.items() if part in problem)
        raise ValueError(f"{where}{next(found, problem)}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def read_yaml(source: Path | Traversable) -> Any:
    """The content of a YAML file.

    Raises:
        ValueError: it is not there, or cannot be read; the message begins with its name.
    """
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{source}: there is no such file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{source}: cannot be read as text; save it as UTF-8") from None
    except OSError as error:
        raise ValueError(f"{source}: cannot be read: {error.strerror}") from None
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"{source}: cannot be read as YAML: {error}") from None


def yaml_files(folder: Path) -> dict[str, Path]:
    """The YAML files of a folder by their names, without the ending."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}
