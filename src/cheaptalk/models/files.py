"""Reading the YAML that people write."""

from collections import Counter
from collections.abc import Hashable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Reads YAML, and refuses a mapping in which one key stands twice: one would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if not key.tag.endswith(":merge")]
        twice = [key for key, count in Counter(map(str, keys)).items() if count > 1]
        if twice:
            raise yaml.constructor.ConstructorError(
                None, None, f'the key "{twice[0]}" stands twice', node.start_mark
            )
        return super().construct_mapping(node, deep)


def read_yaml(source: Path | Traversable) -> Any:
    """The content of a YAML file.

    Raises:
        ValueError: it is not there, or cannot be read; the message begins with its name.
    """
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{source}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{source}: cannot be read: {error}") from None
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise ValueError(f"{source}: cannot be read as YAML: {problem}") from None
