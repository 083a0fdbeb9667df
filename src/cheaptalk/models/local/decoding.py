"""Faster token-by-token decoding for small models on a CPU.

For a small model, overhead dominates: transformers copies the key-value cache to append a token,
and plans attention kernels for long inputs. Here the cache has spare capacity, and the attention of
one token is two matrix products.
"""

from functools import cache
from importlib import import_module
from typing import Any

TO_COME = 64
"""Spare capacity in tokens that is added when the cache grows."""
OWN = "cheaptalk"
"""Name under which this attention is registered in transformers."""
APART = ("position_bias", "s_aux", "softcap", "cache")
"""Attention arguments of some models that this implementation does not support."""


def set_attention(model: Any) -> None:
    """Set a model's attention to the faster implementation in this module."""
    if model.config._attn_implementation == "sdpa":
        transformers = import_module("transformers")
        masks = import_module("transformers.masking_utils")
        transformers.AttentionInterface.register(OWN, attention)
        transformers.AttentionMaskInterface.register(OWN, masks.sdpa_mask)
        model.set_attn_implementation(OWN)


def attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
) -> tuple[Any, None]:
    """Compute attention for one new token; fall back to PyTorch for several tokens.

    The query has the shape [chats, heads, tokens, width]; key and value have the shape [chats, key
    heads, all tokens, width], where each head serves consecutive query heads; and the mask, true
    for attended tokens, has the shape [chats, 1, tokens, all tokens]. The output has the shape
    [chats, tokens, heads, width]; there are no weights.
    """
    chats, heads, tokens, width = query.shape
    if tokens > 1 or any(options.get(name) is not None for name in APART):
        sdpa = import_module("transformers.integrations.sdpa_attention").sdpa_attention_forward
        result: tuple[Any, None] = sdpa(module, query, key, value, attention_mask, **options)
        return result
    torch = import_module("torch")
    scale = options.get("scaling")
    grouped = query.reshape(chats, key.shape[1], -1, width)
    scores = grouped @ key.transpose(2, 3) * (width**-0.5 if scale is None else scale)
    if attention_mask is not None:
        scores = scores.masked_fill_(~attention_mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1, dtype=torch.float32).to(value.dtype)
    return (weights @ value).reshape(chats, 1, heads, -1), None


def roomy_cache() -> Any:
    """Return an empty key-value cache with spare capacity."""
    return import_module("transformers.cache_utils").Cache(layer_class_to_replicate=roomy_layer())


@cache
def roomy_layer() -> type[Any]:
    """Return the class of a cache layer with spare capacity, created on first use."""
    base: type[Any] = import_module("transformers.cache_utils").DynamicLayer

    class RoomyLayer(base):  # type: ignore[misc] # known at run time
        """A cache layer that stores keys and values in larger tensors with spare capacity."""

        room: list[Any]

        def update(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            """Append the keys and values of new tokens, and return all keys and values."""
            read = self.get_seq_length()
            length = read + keys.shape[-2]
            if not read or length > self.room[0].shape[-2]:
                self._enlarge(keys, values, read, length + TO_COME)
            for buffer, appended in zip(self.room, (keys, values), strict=True):
                buffer[..., read:length, :] = appended
            self.keys, self.values = (buffer[..., :length, :] for buffer in self.room)
            return self.keys, self.values

        def _enlarge(self, keys: Any, values: Any, read: int, tokens: int) -> None:
            if not self.is_initialized:
                self.lazy_initialization(keys, values)
            previous = self.keys, self.values
            self.room = [
                tensor.new_empty((*tensor.shape[:-2], tokens, tensor.shape[-1]))
                for tensor in (keys, values)
            ]
            if read:
                for buffer, tensor in zip(self.room, previous, strict=True):
                    buffer[..., :read, :] = tensor

    return RoomyLayer
