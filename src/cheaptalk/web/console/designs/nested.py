"""Lists in texts by field name: the fields of a list's members are numbered, as in ``items.0.ask``.

A list whose members are single texts has the fields ``pages.0``, ``pages.1`` and so on.
"""

from collections.abc import Sequence

from cheaptalk.web.console.designs.fields import Row


def members(texts: Row, name: str) -> int:
    """Return the number of members of a list with consecutive numbers.

    >>> members({"pages.0": ["a"], "pages.1": ["b"], "pages.1.de": ["c"]}, "pages")
    2
    """
    numbers = [number for key in texts if (number := _number(key, name)) is not None]
    return max(numbers, default=-1) + 1


def relist(texts: Row, name: str, order: Sequence[int]) -> None:
    """Reorder a list's members; one that is missing in ``order`` is removed.

    A member is copied if its number occurs repeatedly.

    >>> texts = {"pages.0": ["a"], "pages.1": ["b"], "game": ["true"]}
    >>> relist(texts, "pages", [1, 1, 0])
    >>> texts
    {'game': ['true'], 'pages.0': ['b'], 'pages.1': ['b'], 'pages.2': ['a']}
    """
    listed: dict[int, Row] = {}
    for key in [*texts]:
        number = _number(key, name)
        if number is not None:
            rest = key[len(f"{name}.{number}") :]
            listed.setdefault(number, {})[rest] = texts.pop(key)
    for place, number in enumerate(order):
        member = listed.get(number, {})
        texts |= {f"{name}.{place}{rest}": [*values] for rest, values in member.items()}


def compact(texts: Row) -> Row:
    """Return texts in which the members of each list have consecutive numbers.

    >>> compact({"items.4.ask": ["a"], "items.9.ask": ["b"], "items.9.options.3": ["c"]})
    {'items.0.ask': ['a'], 'items.1.ask': ['b'], 'items.1.options.0': ['c']}
    """
    numbers: dict[tuple[str, ...], set[int]] = {}
    names = {key: tuple(key.split(".")) for key in texts}
    for parts in names.values():
        for at, part in enumerate(parts):
            if at and _is_number(part):
                numbers.setdefault(parts[:at], set()).add(int(part))
    places = {
        (*parent, str(number)): str(place)
        for parent, found in numbers.items()
        for place, number in enumerate(sorted(found))
    }
    compacted: Row = {}
    for key, parts in names.items():
        new = [places.get(parts[: at + 1], part) for at, part in enumerate(parts)]
        compacted.setdefault(".".join(new), []).extend(texts[key])
    return compacted


def _number(key: str, name: str) -> int | None:
    """Return the number of the member of a list that has a field; None if none has it."""
    number = key.removeprefix(f"{name}.").partition(".")[0]
    return int(number) if key.startswith(f"{name}.") and _is_number(number) else None


def _is_number(part: str) -> bool:
    return len(part) <= 6 and part.isascii() and part.isdigit() and part == str(int(part))
