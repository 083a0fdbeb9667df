"""Faster attention for small models on a CPU.

For a small model, overhead dominates: PyTorch plans attention kernels for long inputs. Here the
attention of one token is two matrix products.
"""

from importlib import import_module
from typing import Any

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
