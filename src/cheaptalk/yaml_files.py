"""Reading the YAML that people write, and writing values as they do."""

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

from cheaptalk.rules import Horizon
from cheaptalk.rules.errors import shown
from cheaptalk.whole_files import read_whole

CORRECTIONS = {
    "found character '\\t'": "a tab; indent with spaces",
    "mapping values are not allowed here": "a colon that does not belong here; indent alike, or "
    "put text that holds one in quotes",
    "but got '?'": "a question mark that does not belong here; put text that holds one in quotes, "
    'as in {en: "Was it fair?"}',
    "but got '<stream end>'": "it ends before a bracket or a quote is closed",
    "but found another document": "a second document begins; write one in each file",
    "found unexpected end of stream": "it ends before a bracket or a quote is closed",
}
"""What is wrong and how to mend it, by what the parser says of it."""


MOST_CHARACTERS = 1_000_000
"""Characters of a file."""
MOST_VALUES = 1_000_000
"""Values that a file may hold, with all that its anchors stand for."""
MOST_DIGITS = 100
"""Characters that a number may have."""
SHORT = 80
"""Characters up to which a list or a mapping stands in one line."""
WRITTEN: dict[str, Any] = {"sort_keys": False, "width": math.inf, "allow_unicode": True}
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Loader(yaml.SafeLoader):
    """Reads YAML, and refuses what would be lost, or be more than anybody writes.

    A mapping in which one key stands twice would lose one. Anchors that stand for one another can
    make millions of values of a few lines, or values without an end.
    """

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            self._size(node, {})
        return node

    def _size(self, node: yaml.Node, known: dict[int, int | None]) -> int:
        """How many values a node stands for."""
        if id(node) in known:
            size = known[id(node)]
            if size is None:
                raise _refused("an anchor stands for itself; write out what is meant", node)
            return size
        known[id(node)] = None
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            inner = node.value
        elif isinstance(node, yaml.MappingNode):
            inner = list(chain.from_iterable(node.value))
        size = known[id(node)] = 1 + sum(self._size(one, known) for one in inner)
        if size > MOST_VALUES:
            raise _refused(
                f"more than {MOST_VALUES:,} values, anchors written out; write fewer", node
            )
        return size

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value; what cannot be of the type that it has, or is said to have, is refused."""
        if node.tag in NUMBERS and len(node.value) > MOST_DIGITS:
            raise _refused(f"a number of {len(node.value):,} characters; write a shorter one", node)
        try:
            value = super().construct_object(node, deep)
        except (AttributeError, LookupError, ValueError) as error:
            problem = f"{shown(node.value)} cannot be read ({error}); put it in quotes"
            raise _refused(problem, node) from None
        return _joined(value, node) if isinstance(value, str) else value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key for key, _ in node.value if not key.tag.endswith(":merge")]
        counts = Counter(str(key.value) for key in keys)
        twice = [key for key in keys if counts[str(key.value)] > 1]
        if twice:
            second = next(key for key in twice[1:] if str(key.value) == str(twice[0].value))
            raise _refused(f'the key "{second.value}" stands twice', second)
        return super().construct_mapping(node, deep)


def _joined(text: str, node: yaml.Node) -> str:
    r"""Join the surrogate pairs of a text: JSON writes an emoji as two escapes, \ud83d\ude00."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        lone = next(character for character in text if "\ud800" <= character <= "\udfff")
        raise _refused(
            f"{ascii(lone)[1:-1]} is half of a character; write the character itself, or both "
            "halves",
            node,
        ) from None


class _Dumper(yaml.SafeDumper):
    """Writes values as people do: what is short in one line, long texts as they are read."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def text(self, data: str) -> yaml.ScalarNode:
        style = "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    def several(self, data: list[Any] | dict[Any, Any]) -> yaml.Node:
        inner = data if isinstance(data, list) else data.values()
        plain = not any(isinstance(one, list | dict) or "\n" in str(one) for one in inner)
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
    """What YAML says.

    >>> parse_yaml("{share: 0.5}")
    {'share': 0.5}

    Raises:
        ValueError: it is none, too much, or a key stands twice; the message says in which line.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters, more than {MOST_CHARACTERS:,}")
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
    except RecursionError:
        raise ValueError("it is nested too deeply; write it with fewer levels") from None


def read_yaml(source: Path | Traversable) -> Any:
    """The content of a YAML file.

    Raises:
        ValueError: it is not there, or cannot be read; the message begins with its name.
    """
    try:
        text = read_whole(source, 4 * MOST_CHARACTERS)
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


def yaml_files(module: str, folder: str) -> dict[str, Path]:
    """The YAML files of a folder beside a module's file, by their names without the ending."""
    return {path.stem: path for path in sorted(Path(module).parent.glob(f"{folder}/*.yaml"))}


def plain_data(value: Any, **how: Any) -> Any:
    """A value without classes of its own: what is a model of pydantic's is a dictionary.

    Args:
        how: as :meth:`pydantic.TypeAdapter.dump_python` takes it.
    """
    return TypeAdapter[Any](Any).dump_python(value, **how)


def as_yaml(value: Any) -> str:
    """A value in one line, as people write it in a study file.

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
    """A field's default as one writes it in a study file."""
    if field.is_required():
        return "required"
    return as_yaml(field.get_default(call_default_factory=True))


def as_block(data: Any) -> str:
    """Plain data as YAML in the order it has, a field in each line but what is short.

    >>> print(as_block({"url": "https://gpu/v1", "text": "First.\\n\\nSecond."}))
    url: https://gpu/v1
    text: |-
      First.
    <BLANKLINE>
      Second.
    """
    return str(yaml.dump(data, Dumper=_Dumper, **WRITTEN)).strip()
