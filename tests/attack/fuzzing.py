"""Invalid and hostile study files."""

import copy
import datetime
import math
import random
from collections.abc import Iterator
from typing import Any

import yaml

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3.5, 10**40, 1e308, math.nan, math.inf, "", " ", "--help", "-x",
    "a\nb", "\x1b]0;owned\x07", "\u202eevil", "\x00", "x" * 20_000, "../../etc/passwd", "/dev/zero",
    [], [[]], {}, {"a": {}}, [None], [1] * 300, "1e3", "0x10", "yes", datetime.date(2024, 1, 1),
    b"\xff\x00", "random", "equal_split", "self", "all", "bargaining", "openai/gpt-4o",
    "vllm/x@http://127.0.0.1:9/v1", "vllm/x@http://user:secret@127.0.0.1:9/v1",
    "vllm/x@http://127.0.0.1:9/v1?api_key=sk-123456789", "agent/x@file:///etc/passwd",
    {"strategy": "random"}, {"model": "nobody/nothing"}, {"strategy": ["random", "equal_split"]},
    {"from": "a"}, {"values": [1, 2]}, [[0.9, 0.9], [1, 1]],
)  # fmt: skip
KEYS: tuple[Any, ...] = (
    "name", "games", "players", "pairing", "instances", "repeats", "seed", "grid", "fixed",
    "budget",
    "include", "defaults", "model", "strategy", "style", "tries", "temperature", "", None, 1,
    "\x1b[0m", "<<", "x" * 500,
)  # fmt: skip
MARKS = (
    "&a ", "*a", "<<: *a", "!!python/object/apply:os.system ['true']", "!!binary x", "{", "[", "\t",
    ": ", "- ", "\ufeff", "|", ">", "%YAML 9", "---\n", "...\n", "? ", "'", '"', "#", "@", "`",
    "\r", "\x85", "\\", "1_000", "9" * 5000,
)  # fmt: skip


def hostile_studies(bases: list[str], luck: random.Random) -> Iterator[bytes]:
    """Yield endless study files with changes to their data or their text."""
    while True:
        text = luck.choice(bases)
        if luck.random() < 0.7:
            data = yaml.safe_load(text)
            for _ in range(luck.choice((1, 1, 1, 2, 4))):
                change(data, luck)
            text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        else:
            for _ in range(luck.choice((1, 1, 3))):
                text = mangle(text, luck)
        written = text.encode(errors="replace")
        if luck.random() < 0.05:
            written = bytes(byte ^ (luck.random() < 0.01) * 128 for byte in written)
        yield written


def change(data: Any, luck: random.Random) -> None:
    """Replace, insert or delete a value in a mapping or a list within the data."""
    places = list(_places(data))
    if not places:
        return
    (node, key), (other, at) = luck.choice(places), luck.choice(places)
    value = copy.deepcopy(luck.choice((luck.choice(VALUES), other[at])))
    match luck.randrange(4):
        case 0 if isinstance(node, dict):
            del node[key]
        case 1 if isinstance(node, dict):
            node[luck.choice(KEYS)] = value
        case 1:
            node.append(value)
        case _:
            node[key] = value


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every key of every mapping, and every index of every list."""
    keys: list[Any] = []
    if isinstance(node, dict):
        keys = list(node)
    elif isinstance(node, list):
        keys = list(range(len(node)))
    for key in keys:
        yield node, key
        yield from _places(node[key])


def mangle(text: str, luck: random.Random) -> str:
    """Return a text with a part inserted, removed or doubled."""
    start, length = luck.randrange(len(text) + 1), luck.choice((1, 3, 20, 200))
    part = text[start : start + length]
    put = luck.choice(("", part * 2, luck.choice(MARKS), luck.choice(MARKS) + part))
    return text[:start] + put + text[start + length :]
