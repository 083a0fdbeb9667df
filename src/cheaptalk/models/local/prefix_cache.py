"""Prefix cache: key-value states of earlier texts, so that their tokens are not processed again.

A causal model's state consists of a key and a value per token and layer. A chat's next call starts
with the previous call, and the calls of a game start with the same rules, so only the new tokens
must be processed.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

PASS = 32
"""The cost of an additional pass of the model, in tokens."""


class Reading(NamedTuple):
    """A processed text's tokens, and the model's state of the first of them.

    The state has the shape [layers, key and value, heads, tokens, width].
    """

    ids: list[int]
    state: Any


class Readings:
    """A cache of the most recently used texts, with a maximum size in bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: list[Reading] = []  # the most recently used last

    def find(self, ids: list[int]) -> tuple[Any, int]:
        """Return the state with the longest common prefix, and the prefix's number of tokens.

        The last token of the text is never part of the prefix, because its scores are needed.
        """
        best, shared = None, 0
        for reading in self._kept:
            if reading.ids[:shared] != ids[:shared]:
                continue
            common = min(overlap(reading.ids, ids), reading.state.shape[-2], len(ids) - 1)
            if common > shared:
                best, shared = reading, common
        if best is None:
            return None, 0
        self._kept = [*(other for other in self._kept if other is not best), best]
        return best.state, shared

    def keep(self, reading: Reading) -> None:
        """Cache a text, replacing its prefixes and evicting the least recently used texts."""
        self._kept = [
            other
            for other in self._kept
            if other.ids[: (tokens := other.state.shape[-2])] != reading.ids[:tokens]
        ]
        self._kept.append(reading)
        while sum(other.state.nbytes for other in self._kept) > self._room:
            del self._kept[0]


class Shared(NamedTuple):
    """A prefix that several prompts of a batch share: their rows, and its number of tokens."""

    rows: Sequence[int]
    tokens: int


def shared_prefixes(prompts: Mapping[int, list[int]]) -> list[Shared]:
    """Group the prompts of a batch by common prefixes, to process each prefix only once.

    Of all thresholds for the shortest prefix in a group, the threshold with the fewest tokens to
    process is chosen. The result is empty if sharing does not pay.

    Args:
        prompts: the tokens of each prompt, by row.
    """
    order = sorted(prompts, key=lambda row: prompts[row])
    overlaps = [overlap(prompts[row], prompts[following]) for row, following in pairwise(order)]
    best: list[Shared] = []
    cost = len(order) * max(map(len, prompts.values()), default=0)
    for threshold in {*overlaps}:
        groups = _grouped(prompts, order, overlaps, threshold)
        rest = max(len(prompts[row]) - group.tokens for group in groups for row in group.rows)
        tokens = sum(PASS + group.tokens for group in groups) + len(order) * rest
        if tokens < cost:
            best, cost = groups, tokens
    return best


def overlap(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of tokens with which both texts start."""
    low, high = 0, min(len(first), len(second))
    while low < high:  # compare slices, which is faster than single tokens
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _grouped(
    prompts: Mapping[int, list[int]], order: Sequence[int], overlaps: Sequence[int], least: int
) -> list[Shared]:
    """Split sorted prompts where neighbours share fewer tokens than the threshold."""
    cuts = [0, *(index + 1 for index, shared in enumerate(overlaps) if shared < least), len(order)]
    groups = []
    for begin, end in pairwise(cuts):
        shortest = min(len(prompts[row]) for row in order[begin:end])
        shared = min([shortest - 1, *overlaps[begin : end - 1]])
        groups.append(Shared(order[begin:end], shared))
    return groups
