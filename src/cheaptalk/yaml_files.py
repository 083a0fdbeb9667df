"""Reading of YAML files that users write, and formatting of values as YAML."""

import math
from collections import Counter
from collections.abc import Hashable
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from cheaptalk.atomic_files import is_store, read_whole
from cheaptalk.rules import Horizon
from cheaptalk.rules.errors import WrongValue, shown

CORRECTIONS = {
    "found character '\\t'": "found a tab; indent with spaces",
    "mapping values are not allowed here": "unexpected colon; indent consistently, or "
    "put text with a colon in quotes",
    "but got '?'": "unexpected question mark; put text with one in quotes, "
    'as in {en: "Was it fair?"}',
    "but got '<stream end>'": "a bracket or quote is not closed",
    "but found another document": "found a second document; write one per file",
    "found unexpected end of stream": "a bracket or quote is not closed",
}
"""Error messages by a part of the parser's message."""
MAX_CHARACTERS = 1_000_000
"""Maximum characters of a file."""
MAX_VALUES = 1_000_000
"""Maximum values in a file, with all anchors expanded."""
MAX_DIGITS = 100
"""Maximum characters of a number."""
SHORT = 80
"""Maximum characters of a list or a mapping on one line."""
WRITTEN: dict[str, Any] = {"sort_keys": False, "width": math.inf, "allow_unicode": True}
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Loader(yaml.SafeLoader):
    """A YAML loader that rejects duplicate keys and content of implausible size.

    Nested anchors can expand a few lines to millions of values, or to an infinite structure.
    """

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            self._size(node, {})
        return node

    def _size(self, node: yaml.Node, sizes: dict[int, int | None]) -> int:
        """Return the number of values in a node, with anchors expanded."""
        if id(node) in sizes:
            size = sizes[id(node)]
            if size is None:
                raise _refused("an anchor contains itself; replace the alias with content", node)
            return size
        sizes[id(node)] = None
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            inner = node.value
        elif isinstance(node, yaml.MappingNode):
            inner = list(chain.from_iterable(node.value))
        size = sizes[id(node)] = 1 + sum(self._size(child, sizes) for child in inner)
        if size > MAX_VALUES:
            problem = f"more than {MAX_VALUES:,} values with expanded anchors; write fewer values"
            raise _refused(problem, node)
        return size

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in NUMBERS and len(node.value) > MAX_DIGITS:
            raise _refused(f"a number has {len(node.value):,} characters; shorten it", node)
        try:
            value = super().construct_object(node, deep)
        except (AttributeError, LookupError, ValueError) as error:
            problem = f"{shown(node.value)} cannot be read ({error}); put it in quotes"
            raise _refused(problem, node) from None
        return _joined(value, node) if isinstance(value, str) else value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key for key, _ in node.value if not key.tag.endswith(":merge")]
        counts = Counter(str(key.value) for key in keys)
        duplicates = [key for key in keys if counts[str(key.value)] > 1]
        if duplicates:
            first, *others = duplicates
            second = next(key for key in others if str(key.value) == str(first.value))
            raise _refused(f'duplicate key "{second.value}"; remove one of the entries', second)
        return super().construct_mapping(node, deep)


def _joined(text: str, node: yaml.Node) -> str:
    r"""Join the surrogate pairs of a text, such as the escapes \ud83d\ude00 of an emoji."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        lone = next(character for character in text if "\ud800" <= character <= "\udfff")
        problem = f"{ascii(lone)[1:-1]} is half of a surrogate pair; write the character itself"
        raise _refused(problem, node) from None


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes short values on one line and long texts as blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def text(self, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def several(self, data: list[Any] | dict[Any, Any]) -> yaml.Node:
        inner = data if isinstance(data, list) else data.values()
        plain = not any(isinstance(value, list | dict) or "\n" in str(value) for value in inner)
        flow = bool(self.represented_objects) and plain and len(str(data)) <= SHORT
        if isinstance(data, list):
            return self.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=flow)
        return self.represent_mapping("tag:yaml.org,2002:map", data, flow_style=flow)


_Dumper.add_representer(str, _Dumper.text)
_Dumper.add_representer(list, _Dumper.several)
_Dumper.add_representer(dict, _Dumper.several)


def _refused(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def parse_yaml(text: str) -> Any:
    """Parse YAML text; ValueError, with the line number, if it is invalid or too large.

    >>> parse_yaml("{share: 0.5}")
    {'share': 0.5}
    """
    if len(text) > MAX_CHARACTERS:
        raise WrongValue(f"{len(text):,} characters exceed the maximum of {MAX_CHARACTERS:,}")
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        location = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        problem = error.problem or error.context or "invalid YAML"
        corrections = (correction for part, correction in CORRECTIONS.items() if part in problem)
        raise WrongValue(f"{location}{next(corrections, problem)}") from None
    except yaml.YAMLError as error:
        raise WrongValue(" ".join(str(error).split())) from None
    except RecursionError:
        raise WrongValue("values are nested too deeply; use fewer levels") from None


def read_yaml(source: Path | Traversable) -> Any:
    """Return the content of a YAML file; ValueError, with its name, if it can't be read."""
    try:
        text = read_whole(source, 4 * MAX_CHARACTERS)
    except FileNotFoundError:
        raise WrongValue(f"{source}: file not found") from None
    except UnicodeDecodeError:
        kind = "not text in UTF-8; save it as UTF-8"
        if isinstance(source, Path) and is_store(source):
            kind = "a store, not a YAML file; name a study file, or a study in the store"
        raise WrongValue(f"{source}: {kind}") from None
    except OSError as error:
        raise WrongValue(f"{source}: cannot be read: {error.strerror}") from None
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise WrongValue(f"{source}: cannot be read as YAML: {error}") from None


def yaml_files(module: str, folder: str) -> dict[str, Path]:
    """Return the YAML files of a folder next to a module, by name without suffix."""
    return {path.stem: path for path in sorted(Path(module).parent.glob(f"{folder}/*.yaml"))}


def plain_data(value: Any, **how: Any) -> Any:
    """Convert a value to plain Python data; keyword arguments are Pydantic's dump options."""
    return TypeAdapter[Any](Any).dump_python(value, **how)


def as_yaml(value: Any) -> str:
    """Format a value on one line, as in a study file.

    >>> as_yaml(Horizon(rounds=12)), as_yaml(Horizon(rounds=99, hidden=True))
    ('12', '{rounds: 99, hidden: true}')
    >>> as_yaml((0.9, 0.9)), as_yaml(True), as_yaml({})
    ('[0.9, 0.9]', 'true', '{}')
    """
    if isinstance(value, Horizon) and not value.hidden:
        value = value.rounds
    plain = plain_data(value, mode="json", exclude_defaults=True)
    text: str = yaml.safe_dump(plain, default_flow_style=True, **WRITTEN)
    return text.strip().removesuffix("\n...")


def default_text(field: FieldInfo) -> str:
    """Format a field's default as in a study file."""
    if field.is_required():
        return "required"
    return as_yaml(field.get_default(call_default_factory=True))


def as_block(data: Any, width: float = math.inf) -> str:
    """Format plain data as YAML, with a line per field and short values on one line.

    ``width`` is the number of characters after which longer texts continue on the next line.

    >>> print(as_block({"url": "https://gpu/v1", "text": "First.\\n\\nSecond."}))
    url: https://gpu/v1
    text: |-
      First.
    <BLANKLINE>
      Second.
    """
    return str(yaml.dump(data, Dumper=_Dumper, **WRITTEN | {"width": width})).strip()
