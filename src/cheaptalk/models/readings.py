"""What a model has read of chats, kept so that a chat that goes on is not read anew.

A causal model's state after a text is a key and a value for each token and layer. A chat's next
call begins with all of the last one, so that only what came since has to be read.
"""

from collections import OrderedDict
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall
from cheaptalk.models.decoding import roomy_cache, roomy_layer


class Reading(NamedTuple):
    """A text that was read.

    Attributes:
        ids: its tokens.
        state: of all but the last of these, [layers, key and value, heads, tokens, width].
    """

    ids: list[int]
    state: Any


class Readings:
    """The readings that were made last.

    Args:
        room: bytes that they may take in all.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._taken = 0
        self._kept: OrderedDict[tuple[str, ...], list[Reading]] = OrderedDict()

    def find(self, call: ModelCall, ids: Sequence[int]) -> tuple[Any, int]:
        """The state of the call before this one, and how many of these tokens it has read.

        Of several calls that were the same, the one that was answered most alike.
        """
        before = self._kept.get(_told(call)[:-2], [])
        if not before:
            return None, 0
        shared = [_shared(one, ids) for one in before]
        best = max(range(len(before)), key=shared.__getitem__)
        return self._take(_told(call)[:-2], best).state, shared[best]

    def keep(self, call: ModelCall, reading: Reading) -> None:
        """Keep what was read for a call, and of what was answered."""
        told = _told(call)
        self._kept.setdefault(told, []).append(reading)
        self._kept.move_to_end(told)
        self._taken += reading.state.nbytes
        while self._taken > self._room:
            self._take(next(iter(self._kept)), 0)

    def _take(self, told: tuple[str, ...], place: int) -> Reading:
        """Take a reading out."""
        found = self._kept[told].pop(place)
        if not self._kept[told]:
            del self._kept[told]
        self._taken -= found.state.nbytes
        return found


def _shared(reading: Reading, ids: Sequence[int]) -> int:
    """How many tokens a reading has of a text, of which one is to be read at least."""
    most = min(reading.state.shape[-2], len(ids) - 1)
    return next((n for n in range(most) if reading.ids[n] != ids[n]), most)


def _told(call: ModelCall) -> tuple[str, ...]:
    return tuple(one.content for one in call.messages)


def joined(states: Sequence[tuple[Any, int]], lengths: Sequence[int]) -> Any:
    """The states of several chats as one cache of transformers, padded on the left.

    Args:
        states: of each chat, with how many of its tokens were read.
        lengths: tokens of each chat.

    Returns:
        The cache, which has the columns of the padded chats that need not be read.
    """
    cache = roomy_cache()
    width = max(lengths)
    columns = width - max(own - read for own, (_, read) in zip(lengths, states, strict=True))
    first = next((state for state, read in states if read), None)
    if first is None or columns <= 0:
        return cache
    whole = first.new_zeros((len(states), *first.shape[:-2], columns, first.shape[-1]))
    for row, own, (state, _) in zip(whole, lengths, states, strict=True):
        begin = width - own
        if begin < columns:
            row[..., begin:, :] = state[..., : columns - begin, :]
    for layer in range(first.shape[0]):
        cache.update(whole[:, layer, 0], whole[:, layer, 1], layer)
    return cache


def separate(cache: Any, places: Sequence[tuple[int, int]]) -> list[Any] | None:
    """The state of each chat out of a cache; None of a model that keeps another kind of state.

    Args:
        places: of each chat, where it begins and how many of its tokens are to be kept.
    """
    layers = getattr(cache, "layers", [])
    plain = (import_module("transformers.cache_utils").DynamicLayer, roomy_layer())
    if not layers or any(type(one) not in plain for one in layers):
        return None
    if len({one.shape for layer in layers for one in (layer.keys, layer.values)}) > 1:
        return None
    torch = import_module("torch")
    whole = torch.stack([torch.stack([one.keys, one.values], 1) for one in layers], 1)
    return [
        row[..., begin : begin + own, :].clone()
        for row, (begin, own) in zip(whole, places, strict=True)
    ]
