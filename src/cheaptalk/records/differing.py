"""In what two requests differ, place by place: why the cache has no reply to one of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cheaptalk.records.cache import Cache, Entry, Request

AROUND = 12
"""Characters that are shown before the first that differs."""
SHOWN = 60
"""Characters that are shown in all."""


def nearest(cache: Cache, request: Request, but_not_of: str | None = None) -> Entry | None:
    """The stored request that is most like this one, the latest of those that are equally so.

    One for the same sample comes first: that other samples are stored too explains no miss.

    Args:
        but_not_of: leave out what was bought for this match.
    """
    near = cache.near(request, but_not_of)
    return min(near, key=lambda entry: _distance(request.data, entry.request), default=None)


def differences(asked: Any, stored: Any, place: str = "") -> Iterator[str]:
    """What differs between a request and a stored one, in plain words.

    >>> list(differences({"settings": {"seed": 1}}, {"settings": {"seed": 2, "top_p": 0.5}}))
    ['settings.seed: 1 here, 2 stored', 'settings.top_p: not set here, 0.5 stored']
    >>> list(differences(["You are Alice."], ["You are Bob."], "messages"))
    ['messages[0] from character 8: "You are Alice." here, "You are Bob." stored']
    """
    if asked == stored and type(asked) is type(stored):
        return
    if isinstance(asked, Mapping) and isinstance(stored, Mapping):
        for key in [*asked, *(key for key in stored if key not in asked)]:
            below = f"{place}.{key}" if place else str(key)
            if key in asked and key in stored:
                yield from differences(asked[key], stored[key], below)
            else:
                yield f"{below}: {_shown(asked, key)} here, {_shown(stored, key)} stored"
    elif _is_list(asked) and _is_list(stored):
        for number, (one, other) in enumerate(zip(asked, stored, strict=False)):
            yield from differences(one, other, f"{place}[{number}]")
        if len(asked) != len(stored):
            yield f"{place}: {len(asked)} here, {len(stored)} stored"
    elif isinstance(asked, str) and isinstance(stored, str):
        start = _alike(asked, stored)
        here, there = _around(asked, start), _around(stored, start)
        yield f"{place} from character {start}: {here} here, {there} stored"
    else:
        yield f"{place}: {asked!r} here, {stored!r} stored"


def _distance(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> tuple[bool, int, int]:
    """How far requests are apart: whether in sample, in places, in characters after the first."""
    told, kept = (_words(one) for one in (asked, stored))
    apart = max(len(told), len(kept)) - _alike(told, kept)
    other = asked.get("replicate") != stored.get("replicate")
    return other, sum(1 for _ in differences(asked, stored)), apart


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


def _words(request: Mapping[str, Any]) -> str:
    return "\n".join(message["content"] for message in request["messages"])


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(mapping: Mapping[str, Any], key: str) -> str:
    return repr(mapping[key]) if key in mapping else "not set"


def _around(text: str, start: int) -> str:
    """A piece of a text around a character, in quotes, with dots where it is cut."""
    first = max(0, start - AROUND)
    piece = text[first : first + SHOWN]
    cut = ("…" if first else "", "…" if first + SHOWN < len(text) else "")
    return f'"{cut[0]}{piece}{cut[1]}"'.replace("\n", "\\n")
