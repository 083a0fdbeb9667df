"""Edits of YAML text that keep the rest of the text: its comments, order, quotes and anchors.

The functions return the edited text. The result always contains the edited data: if a value shares
an anchor with others, these are written out, so that they keep their value.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Any

from cheaptalk.rules.errors import Location
from cheaptalk.web.console.designs.yaml_tree import Node, inline, styled, tree_of
from cheaptalk.yaml_files import as_block, parse_yaml

MAX_REPAIRS = 50
"""Maximum number of values that are written out because they shared an anchor."""


def data_at(data: Any, location: Location) -> Any:
    """Return the value at a location of parsed data; None if it is missing.

    >>> data_at({"people": {"path": ["games"]}}, ("people", "path", 0))
    'games'
    """
    for key in location:
        if isinstance(data, dict):
            data = data.get(key)
        elif isinstance(data, list) and isinstance(key, int) and key < len(data):
            data = data[key]
        else:
            return None
    return data


def with_value(text: str, location: Location, value: Any) -> str:
    """Return YAML text in which a location has a value; missing keys are added.

    A list's length as last part of the location appends the value.

    >>> print(with_value("a: 1 # one\\nb: {c: 'x'} # two\\n", ("b", "c"), "y"))
    a: 1 # one
    b: {c: 'y'} # two
    <BLANKLINE>
    """
    data = _parsed(text)
    expected = _with(data, location, value)
    if same(data, expected):
        return text
    location, value = _existing(data, location, value)
    tree = tree_of(text)
    while location and not _is_collection(tree.find(location[:-1])):
        location = location[:-1]  # an alias: its value is written out
        value = data_at(expected, location)
    return _first_exact(text, _candidates(text, location, value), expected)


def without(text: str, location: Location) -> str:
    """Return YAML text without a key or list item.

    >>> without("a: 1\\nb: [1, 2] # two\\nc: 3\\n", ("b",))
    'a: 1\\nc: 3\\n'
    """
    data = _parsed(text)
    parent, key = location[:-1], location[-1]
    inner = data_at(data, parent)
    if isinstance(inner, list):
        return reordered(text, parent, [at for at in range(len(inner)) if at != key])
    rest = {name: member for name, member in inner.items() if name != key}
    expected = _with(data, parent, rest)
    candidates = [_without_key(text, location)] if rest else []
    return _first_exact(text, [*candidates, *_candidates(text, parent, rest)], expected)


def inserted(text: str, location: Location, value: Any) -> str:
    """Return YAML text with a value inserted into a list, which is created if it is missing.

    >>> inserted("path: [a, c]", ("path", 1), "b")
    'path: [a, b, c]'
    """
    parent, index = location[:-1], location[-1]
    assert isinstance(index, int)
    data = _parsed(text)
    items = data_at(data, parent)
    if not isinstance(items, list) or not items:
        return with_value(text, parent, [value])
    expected = _with(data, parent, [*items[:index], value, *items[index:]])
    sequence = tree_of(text).find(parent)
    candidates = []
    if sequence is not None and sequence.kind == "sequence":
        if sequence.flow:
            before = [item.start for item in sequence.items][index:]
            at = before[0] if before else sequence.items[-1].end
            piece = f"{inline(value)}, " if before else f", {inline(value)}"
            candidates.append(text[:at] + piece + text[at:])
        else:
            candidates.append(_with_chunk(text, sequence, index, as_block([value])))
    return _first_exact(
        text, [*candidates, *_candidates(text, parent, data_at(expected, parent))], expected
    )


def reordered(text: str, location: Location, order: Sequence[int]) -> str:
    """Return YAML text whose list at a location has its items in another order.

    An item is removed if its index is missing in ``order``, and copied if it occurs repeatedly.
    Comments directly above an item belong to it.

    >>> print(reordered("- a # first\\n# second\\n- b\\n", (), [1, 0]))
    # second
    - b
    - a # first
    <BLANKLINE>
    """
    data = _parsed(text)
    items = data_at(data, location)
    after = [items[index] for index in order]
    expected = _with(data, location, after)
    if not after:
        return with_value(text, location, [])
    sequence = tree_of(text).find(location)
    candidates = []
    if sequence is not None and sequence.kind == "sequence":
        pieces = _flow_pieces if sequence.flow else _block_pieces
        candidates.append(pieces(text, sequence, order))
    return _first_exact(text, [*candidates, *_candidates(text, location, after)], expected)


def moved(text: str, source: Location, target: Location) -> str:
    """Return YAML text in which a list item is at another place, perhaps in another list.

    ``target`` is the item's location after its removal from ``source``.
    """
    data = _parsed(text)
    value = data_at(data, source)
    if source[:-1] == target[:-1]:
        order = [at for at in range(len(data_at(data, source[:-1]))) if at != source[-1]]
        order.insert(int(target[-1]), int(source[-1]))
        return reordered(text, source[:-1], order)
    node = tree_of(text).find(source[:-1])
    chunk = ""
    if node is not None and node.kind == "sequence" and not node.flow:
        start, end = _chunks(text, node)[int(source[-1])]
        chunk = _shifted(text[start:end].strip("\n"), -node.column)
    rest = without(text, source)
    simple = inserted(rest, target, value)
    sequence = tree_of(rest).find(target[:-1])
    if chunk and sequence is not None and sequence.kind == "sequence" and not sequence.flow:
        exact = _with_chunk(rest, sequence, int(target[-1]), chunk)
        return _first_exact(text, [exact, simple], _parsed(simple))
    return simple


def with_data(text: str, data: Any) -> str:
    """Return YAML text with given data, changed only where the data differ.

    >>> with_data("a: 1 # one\\nb: 2 # two\\n", {"a": 1, "b": 3, "c": [4]})
    'a: 1 # one\\nb: 3 # two\\nc: [4]\\n'
    """
    return _with_differences(text, (), data)


def _with_differences(text: str, location: Location, data: Any) -> str:
    current = data_at(_parsed(text), location)
    if same(current, data):
        return text
    if isinstance(current, dict) and isinstance(data, dict) and current and data:
        for key in [key for key in current if key not in data]:
            text = without(text, (*location, key))
        for key, value in data.items():
            if key in current:
                text = _with_differences(text, (*location, key), value)
            else:
                text = with_value(text, (*location, key), value)
        return text
    if isinstance(current, list) and isinstance(data, list) and current and data:
        return _with_items(text, location, current, data)
    return with_value(text, location, data)


def _with_items(text: str, location: Location, current: list[Any], data: list[Any]) -> str:
    matcher = SequenceMatcher(None, [*map(repr, current)], [*map(repr, data)], autojunk=False)
    if len(current) == len(data):
        pairs, order = [*zip(range(len(data)), data, strict=True)], [*range(len(data))]
        added: list[tuple[int, Any]] = []
    else:
        pairs, order, added = [], [], []
        for _, first, last, start, end in matcher.get_opcodes():
            common = min(last - first, end - start)
            order += range(first, first + common)
            pairs += [(start + at, data[start + at]) for at in range(common)]
            added += [(at, data[at]) for at in range(start + common, end)]
    if order != [*range(len(current))]:
        text = reordered(text, location, order)
    for index, value in added:
        text = inserted(text, (*location, index), value)
    for index, value in pairs:
        text = _with_differences(text, (*location, index), value)
    return text


def same(first: Any, second: Any) -> bool:
    """Return whether parsed data are equal, including the types of their values."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and (first == second or repr(first) == repr(second))


@lru_cache(8)
def _cached(text: str) -> Any:
    return parse_yaml(text)


def _parsed(text: str) -> Any:
    return _copied(_cached(text))


def _copied(data: Any) -> Any:
    """Copy parsed data, so that no value is shared."""
    if isinstance(data, dict):
        return {key: _copied(value) for key, value in data.items()}
    return [_copied(value) for value in data] if isinstance(data, list) else data


def _with(data: Any, location: Location, value: Any) -> Any:
    """Return data with another value at a location."""
    if not location:
        return value
    key, rest = location[0], location[1:]
    if isinstance(key, int) and not isinstance(data, dict):
        items = data if isinstance(data, list) else []
        inner = items[key] if key < len(items) else None
        return [*items[:key], _with(inner, rest, value), *items[key + 1 :]]
    mapping = data if isinstance(data, dict) else {}
    return {**mapping, key: _with(mapping.get(key), rest, value)}


def _existing(data: Any, location: Location, value: Any) -> tuple[Location, Any]:
    """Return the location and value of an edit that adds at most one key to an existing node."""
    for length in range(len(location)):
        inner, key = data_at(data, location[:length]), location[length]
        is_mapping = isinstance(inner, dict) and inner
        if is_mapping or (isinstance(inner, list) and inner and isinstance(key, int)):
            if data_at(inner, (key,)) is None and (not isinstance(inner, dict) or key not in inner):
                return location[: length + 1], _with(None, location[length + 1 :], value)
        else:
            return location[:length], _with(inner, location[length:], value)
    return location, value


def _is_collection(node: Node | None) -> bool:
    return node is not None and node.kind in ("mapping", "sequence")


def _first_exact(text: str, candidates: Sequence[str] | Iterator[str], expected: Any) -> str:
    """Return the first text with the expected data, after writing out values if necessary."""
    readable = []
    for candidate in candidates:
        try:
            data = _cached(candidate)
        except ValueError:
            continue
        if same(data, expected):
            return candidate
        readable.append(candidate)
    for candidate in readable[:1]:
        repaired = _repaired(candidate, expected)
        if repaired is not None:
            return repaired
    plain = _without_aliases(text)
    return as_block(expected) + "\n" if plain == text else with_data(plain, expected)


def _without_aliases(text: str) -> str:
    """Return YAML text in which all aliases and merged keys are written out."""
    data = _parsed(text)
    places = [*_aliases(tree_of(text))]
    for location in places:
        node, parent = tree_of(text).find(location), tree_of(text).find(location[:-1])
        if node is not None and parent is not None:
            value = data_at(data, location)
            piece = [*styled(value, node, parent)][-1]
            text = text[: parent.value_start(node)] + piece + text[node.end :]
    return text


def _aliases(node: Node, location: Location = ()) -> Iterator[Location]:
    """Yield the locations of aliases, and of mappings with merged keys, last ones first."""
    names: list[Any] = [key.value for key in node.keys] or [*range(len(node.items))]
    if node.kind == "alias" or "<<" in names:
        yield location
        return
    for name, item in reversed([*zip(names, node.items, strict=True)]):
        yield from _aliases(item, (*location, name))


def _repaired(text: str, expected: Any) -> str | None:
    for _ in range(MAX_REPAIRS):
        try:
            location = next(_differences(parse_yaml(text), expected), None)
        except ValueError:
            return None
        if location is None:
            return text
        while location and tree_of(text).find(location) is None:
            location = location[:-1]  # the value is that of a merge key
        text = next(_candidates(text, location, data_at(expected, location)))
    return None


def _differences(data: Any, expected: Any, location: Location = ()) -> Iterator[Location]:
    if same(data, expected):
        return
    if isinstance(data, dict) and isinstance(expected, dict) and data.keys() == expected.keys():
        for key, value in data.items():
            yield from _differences(value, expected[key], (*location, key))
    elif isinstance(data, list) and isinstance(expected, list) and len(data) == len(expected):
        for index, value in enumerate(data):
            yield from _differences(value, expected[index], (*location, index))
    else:
        yield location


def _candidates(text: str, location: Location, value: Any) -> Iterator[str]:
    """Yield texts in which a value was replaced, or added to its parent; the best one first."""
    tree = tree_of(text)
    node = tree.find(location)
    if not location:
        yield as_block(value) + "\n"
        return
    parent = tree.find(location[:-1])
    if parent is None or parent.kind not in ("mapping", "sequence"):
        return
    if node is not None:
        for piece in styled(value, node, parent):
            start = parent.value_start(node)
            yield text[:start] + piece + text[node.end :]
    elif parent.kind == "mapping":
        yield from _with_key(text, parent, str(location[-1]), value)


def _with_key(text: str, mapping: Node, key: str, value: Any) -> Iterator[str]:
    last = mapping.items[-1].end if mapping.items else mapping.end - 1
    if mapping.flow:
        pair = f"{inline(key)}: {inline(value)}"
        yield text[:last] + (f", {pair}" if mapping.items else pair) + text[last:]
        return
    end = _line_end(text, last)
    lines = _shifted(as_block({key: value}), mapping.column)
    yield f"{text[:end]}\n{lines}{text[end:]}"


def _without_key(text: str, location: Location) -> str:
    tree = tree_of(text)
    mapping = tree.find(location[:-1])
    node = tree.find(location)
    if mapping is None or node is None or mapping.kind != "mapping":
        return ""
    at = next(number for number, item in enumerate(mapping.items) if item is node)
    key = mapping.keys[at]
    is_last = at + 1 == len(mapping.items)
    if mapping.flow:
        if is_last:
            return text[: mapping.items[at - 1].end] + text[node.end :]
        return text[: key.start] + text[mapping.keys[at + 1].start :]
    line = _line_start(text, key.start)
    if text[line : key.start].strip() and not is_last:  # the first key after a dash
        return text[: key.start] + text[mapping.keys[at + 1].start :]
    return text[:line] + text[_line_end(text, node.end) + 1 :]


def _with_chunk(text: str, sequence: Node, index: int, chunk: str) -> str:
    """Insert an item, written with its dash, into a sequence in block style."""
    lines = _shifted(chunk, sequence.column)
    chunks = _chunks(text, sequence)
    if index < len(chunks):
        at = chunks[index][0]
        prefix = text[_line_start(text, at) : at]
        return f"{text[:at]}{lines[len(prefix) :]}\n{prefix}{text[at:]}"
    at = len(text[: chunks[-1][1]].rstrip("\n"))
    return f"{text[:at]}\n{lines}{text[at:] or chr(10)}"


def _chunks(text: str, sequence: Node) -> list[tuple[int, int]]:
    """Return the start and end of each item of a block sequence, with comments above it."""
    starts = [sequence.dash(text, item) for item in sequence.items]
    bounds = []
    for dash in starts:
        start = _line_start(text, dash)
        if text[start:dash].strip():  # within the line of an outer item
            bounds.append(dash)
            continue
        while start and text[_line_start(text, start - 1) : start].lstrip().startswith("#"):
            start = _line_start(text, start - 1)
        bounds.append(start)
    end = min(_line_end(text, sequence.items[-1].end) + 1, len(text))
    return [*zip(bounds, [*bounds[1:], end], strict=True)]


def _block_pieces(text: str, sequence: Node, order: Sequence[int]) -> str:
    chunks = _chunks(text, sequence)
    first, last = chunks[0][0], chunks[-1][1]
    lead = text[_line_start(text, first) : first]
    pieces = [text[start:end] for start, end in chunks]
    if lead:  # a nested sequence begins in the line of its parent
        pieces[0] = " " * len(lead) + pieces[0]
    pieces = [piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces]
    joined = "".join(pieces[index] for index in order)[len(lead) :]
    return text[:first] + joined + text[last:]


def _flow_pieces(text: str, sequence: Node, order: Sequence[int]) -> str:
    items = sequence.items
    pieces = [text[item.start : item.end] for item in items]
    separators = [text[first.end : second.start] for first, second in pairwise(items)]
    separators += [", "] * (len(order) - len(separators))
    joined = pieces[order[0]] + "".join(
        separator + pieces[index] for separator, index in zip(separators, order[1:], strict=False)
    )
    return text[: items[0].start] + joined + text[items[-1].end :]


def _shifted(text: str, columns: int) -> str:
    if columns < 0:
        lines = [
            line[min(-columns, len(line) - len(line.lstrip(" "))) :] for line in text.split("\n")
        ]
        return "\n".join(lines)
    return "\n".join(" " * columns + line if line else line for line in text.split("\n"))


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
