"""Prefix cache: key-value states of earlier calls, so that chats are not processed again.

A causal model's state consists of a key and a value per token and layer. A chat's next call starts
with the previous call, so only the new tokens must be processed.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall
from cheaptalk.models.local.decoding import roomy_cache, roomy_layer

PASS = 32
"""The cost of an additional pass of the model, in tokens."""


class Reading(NamedTuple):
    """A processed text's tokens, and the model's key-value state of all of them but the last.

    The state has the shape [layers, key and value, heads, tokens, width].
    """

    ids: list[int]
    state: Any


class Readings:
    """A cache of the most recently processed texts, with a maximum size in bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._taken = 0
        self._kept: OrderedDict[tuple[str, ...], list[Reading]] = OrderedDict()

    def find(self, call: ModelCall, ids: Sequence[int]) -> tuple[Any, int]:
        """Return the cached state of a chat's previous call, and the length of the shared prefix.

        Of several identical calls, the one with the longest shared prefix is used.
        """
        readings = self._kept.get(_conversation(call)[:-2], [])
        if not readings:
            return None, 0
        shared = [  # excluding the last token of the text
            min(_overlap(reading.ids, ids), reading.state.shape[-2], len(ids) - 1)
            for reading in readings
        ]
        best = max(range(len(readings)), key=shared.__getitem__)
        return self._take(_conversation(call)[:-2], best).state, shared[best]

    def keep(self, call: ModelCall, reading: Reading) -> None:
        """Cache the state of a call and its answer, evicting the oldest states."""
        key = _conversation(call)
        self._kept.setdefault(key, []).append(reading)
        self._kept.move_to_end(key)
        self._taken += reading.state.nbytes
        while self._taken > self._room:
            self._take(next(iter(self._kept)), 0)

    def _take(self, key: tuple[str, ...], index: int) -> Reading:
        reading = self._kept[key].pop(index)
        if not self._kept[key]:
            del self._kept[key]
        self._taken -= reading.state.nbytes
        return reading


def _conversation(call: ModelCall) -> tuple[str, ...]:
    return tuple(message.content for message in call.messages)


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
    overlaps = [_overlap(prompts[row], prompts[following]) for row, following in pairwise(order)]
    best: list[Shared] = []
    cost = len(order) * max(map(len, prompts.values()), default=0)
    for threshold in {*overlaps}:
        groups = _grouped(prompts, order, overlaps, threshold)
        rest = max(len(prompts[row]) - group.tokens for group in groups for row in group.rows)
        tokens = sum(PASS + group.tokens for group in groups) + len(order) * rest
        if tokens < cost:
            best, cost = groups, tokens
    return best


def _overlap(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of tokens with which both texts start."""
    pairs = enumerate(zip(first, second, strict=False))
    differing = (index for index, (token, other) in pairs if token != other)
    return next(differing, min(len(first), len(second)))


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


def joined(states: Sequence[tuple[Any, int]], lengths: Sequence[int]) -> Any:
    """Join the states of several chats into one left-padded transformers cache.

    Each state has its number of processed tokens; ``lengths`` are the chats' numbers of tokens. The
    cache includes the padded columns that need no processing.
    """
    cache = roomy_cache()
    width = max(lengths)
    columns = width - max(length - read for length, (_, read) in zip(lengths, states, strict=True))
    template = next((state for state, read in states if read), None)
    if template is None or columns <= 0:
        return cache
    block = template.new_zeros((len(states), *template.shape[:-2], columns, template.shape[-1]))
    for row, length, (state, _) in zip(block, lengths, states, strict=True):
        begin = width - length
        if begin < columns:
            row[..., begin:, :] = state[..., : columns - begin, :]
    for layer in range(template.shape[0]):
        cache.update(block[:, layer, 0], block[:, layer, 1], layer)
    return cache


def separate(cache: Any, spans: Sequence[tuple[int, int]]) -> list[Any] | None:
    """Split a batch's cache into the state of each chat, given its start and number of tokens.

    Returns None for unsupported cache types.
    """
    layers = getattr(cache, "layers", [])
    plain = (import_module("transformers.cache_utils").DynamicLayer, roomy_layer())
    if not layers or any(type(layer) not in plain for layer in layers):
        return None
    if len({tensor.shape for layer in layers for tensor in (layer.keys, layer.values)}) > 1:
        return None
    torch = import_module("torch")
    stacked = torch.stack([torch.stack([layer.keys, layer.values], 1) for layer in layers], 1)
    return [
        row[..., begin : begin + count, :].clone()
        for row, (begin, count) in zip(stacked, spans, strict=True)
    ]
