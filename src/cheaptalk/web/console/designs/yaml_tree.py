"""The values of a YAML text with their places in the text, and notations of new values."""

import math
import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import yaml

from cheaptalk.rules.errors import Location
from cheaptalk.yaml_files import as_block, parse_yaml

WIDTH = 100
"""Maximum characters of a line in folded texts."""
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*(?:&\S+)?")
"""Matches the anchor and tag in front of a value."""
ANCHOR = re.compile(r"&\S+")
WRITTEN: dict[str, Any] = {"sort_keys": False, "width": math.inf, "allow_unicode": True}


@dataclass
class Node:
    """A value in a YAML text, between the characters ``start`` and ``end``.

    Attributes:
        style: quotes or indicator of a text; empty if it is plain.
        column: column of the keys or dashes of a collection in block style.
        keys, items: the keys and values of a mapping, or the items of a sequence.
        anchor: the anchor, with its ampersand; empty if there is none.
        starts: places after the colons or dashes in front of the items.
    """

    kind: Literal["scalar", "alias", "sequence", "mapping"]
    start: int
    end: int
    flow: bool = False
    style: str = ""
    value: str = ""
    anchor: str = ""
    column: int = 0
    keys: list["Node"] = field(default_factory=list)
    items: list["Node"] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def find(self, location: Location) -> "Node | None":
        """Return the node at a location; None if it is missing, or within an alias."""
        if not location:
            return self
        key = location[0]
        if self.kind == "sequence" and isinstance(key, int) and key < len(self.items):
            return self.items[key].find(location[1:])
        for name, item in zip(self.keys, self.items, strict=False):
            if name.value == str(key) or _is_key(name.value, key):
                return item.find(location[1:])
        return None

    def value_start(self, node: "Node") -> int:
        """Return the place after the colon or dash in front of an item."""
        return next(at for at, item in zip(self.starts, self.items, strict=True) if item is node)

    def dash(self, text: str, node: "Node") -> int:
        """Return the place of the dash in front of an item of a block sequence."""
        return self.value_start(node) - 1


def _is_key(written: str, key: object) -> bool:
    try:
        return type(key) is not str and bool(parse_yaml(written) == key)
    except ValueError:
        return False


class _Loader(yaml.SafeLoader):
    """A loader that notes the places of dashes and colons."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.dashes: list[int] = []
        self.colons: list[int] = []

    def get_token(self) -> Any:
        token: Any = super().get_token()  # type: ignore[no-untyped-call]
        if isinstance(token, yaml.BlockEntryToken):
            self.dashes.append(token.start_mark.index)
        elif isinstance(token, yaml.ValueToken):
            self.colons.append(token.start_mark.index)
        return token


@lru_cache(16)
def tree_of(text: str) -> Node:
    """Return the root of a valid YAML text; callers must not change it.

    >>> tree_of("a: [1, two]").find(("a", 1)).start
    7
    """
    loader = _Loader(text)
    events = []
    while loader.check_event():
        events.append(loader.get_event())  # type: ignore[no-untyped-call]
    stream = iter(events)
    for event in stream:
        if isinstance(event, yaml.NodeEvent | yaml.CollectionStartEvent):
            return _node(text, event, stream, loader)
    return Node("scalar", len(text), len(text))


def _node(text: str, event: Any, stream: Iterator[Any], loader: _Loader) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, yaml.AliasEvent):
        return Node("alias", start, end)
    anchor = f"&{event.anchor}" if event.anchor else ""
    if isinstance(event, yaml.ScalarEvent):
        end = start + len(text[start:end].rstrip("\n "))
        style = event.style or ""
        return Node("scalar", start, max(start, end), False, style, event.value, anchor)
    is_mapping = isinstance(event, yaml.MappingStartEvent)
    node = Node("mapping" if is_mapping else "sequence", start, end, bool(event.flow_style))
    node.anchor = anchor
    for inner in stream:
        if isinstance(inner, yaml.CollectionEndEvent):
            assert inner.end_mark is not None
            node.end = inner.end_mark.index
            break
        member = _node(text, inner, stream, loader)
        (node.keys if is_mapping and len(node.keys) == len(node.items) else node.items).append(
            member
        )
    _place(text, node, loader)
    return node


def _place(text: str, node: Node, loader: _Loader) -> None:
    """Note where a collection's items begin, and where a collection in block style ends."""
    if node.kind == "mapping":
        for key in node.keys:
            at = bisect_left(loader.colons, key.end)
            is_set = at < len(loader.colons)
            node.starts.append(loader.colons[at] + 1 if is_set else key.end)
    elif node.flow:
        node.starts = [item.start for item in node.items]
    else:
        for item in node.items:
            node.starts.append(loader.dashes[bisect_left(loader.dashes, item.start) - 1] + 1)
    if not node.flow and node.items:
        first = node.keys[0].start if node.keys else node.starts[0] - 1
        node.column = first - (text.rfind("\n", 0, first) + 1)
        node.end = max(node.items[-1].end, node.starts[-1])


def styled(value: Any, node: Node, parent: Node) -> Iterator[str]:
    """Yield notations of a value in place of a node, with the space in front of it."""
    anchor = f"{node.anchor} " if node.anchor else ""
    if parent.flow:
        lead = "" if parent.kind == "sequence" else " "
        if isinstance(value, str) and node.style in ("'", '"'):
            yield f"{lead}{anchor}{_quoted(value, node.style)}"
        yield f"{lead}{anchor}{inline(value)}"
        return
    column = parent.column
    if isinstance(value, str):
        if node.style == ">":
            yield f" {anchor}{_folded(value, column + 2)}"
        if node.style == "|" or "\n" in value:
            yield f" {anchor}{_literal(value, column + 2)}"
        elif node.style in ("'", '"'):
            yield f" {anchor}{_quoted(value, node.style)}"
    elif node.flow:
        yield f" {anchor}{inline(value)}"
    block = as_block({"k": value}).removeprefix("k:")
    lines = block.split("\n")
    shifted = [" " * column + line if line else line for line in lines[1:]]
    yield "\n".join([f" {node.anchor}{lines[0]}" if node.anchor else lines[0], *shifted])
    yield f" {anchor}{inline(value)}"


class _Inline(yaml.SafeDumper):
    """A dumper that writes values on one line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: _Inline, text: str) -> yaml.ScalarNode:
    style = '"' if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Inline.add_representer(str, _represent)


def inline(value: Any) -> str:
    r"""Format a value on one line.

    >>> inline({"a": ["b", "c\n\nd"]})
    '{a: [b, "c\\n\\nd"]}'
    """
    text: str = yaml.dump(value, Dumper=_Inline, default_flow_style=True, **WRITTEN)
    return text.strip().removesuffix("\n...")


def _quoted(value: str, style: str) -> str:
    style = '"' if "\n" in value else style
    text: str = yaml.dump(value, Dumper=yaml.SafeDumper, default_style=style, **WRITTEN)
    return text.strip()


def _literal(value: str, indent: int) -> str:
    body = value.rstrip("\n")
    breaks = len(value) - len(body)
    chomping = ("-", "")[breaks] if breaks < 2 else "+"
    first = next((line for line in body.split("\n") if line), "")
    indicator = "2" if first.startswith(" ") or body.startswith("\n") else ""
    lines = [" " * indent + line if line else "" for line in body.split("\n")]
    return "\n".join([f"|{indicator}{chomping}", *lines]) + "\n" * max(0, breaks - 1)


def _folded(value: str, indent: int) -> str:
    body = value.rstrip("\n")
    chomping = "-" if body == value else ""
    lines: list[str] = []
    for number, paragraph in enumerate(body.split("\n")):
        wrapped = textwrap.wrap(
            paragraph, WIDTH - indent, break_long_words=False, break_on_hyphens=False
        )
        lines += ([""] if number and paragraph else []) + (wrapped or [""])
    return "\n".join([f">{chomping}", *(" " * indent + line if line else "" for line in lines)])
