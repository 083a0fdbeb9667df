"""Text that a model writes on a CPU, a token at a time.

Reading a token costs a small model less than what goes with it: the memory of all before it is
copied to append the token's own, attention is planned for as many questions as answers, and chance
is asked about every word. Here memory has room for tokens to come, one token's attention is two
products of matrices, and chance is asked once.
"""

from functools import cache
from importlib import import_module
from typing import Any

TO_COME = 64
"""Tokens that memory has room for whenever it is enlarged."""
OWN = "cheaptalk"
"""What transformers knows this attention by."""
APART = ("position_bias", "s_aux", "softcap", "cache")
"""What some models add to attention, which theirs heeds and this one would not."""


def set_attention(model: Any) -> None:
    """Let a model's attention be this one, if it is PyTorch's now."""
    if model.config._attn_implementation == "sdpa":
        transformers = import_module("transformers")
        masks = import_module("transformers.masking_utils")
        transformers.AttentionInterface.register(OWN, attention)
        transformers.AttentionMaskInterface.register(OWN, masks.sdpa_mask)
        model.set_attn_implementation(OWN)


def attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **more: Any
) -> tuple[Any, None]:
    """Attention as transformers asks for it; of several tokens at once it is PyTorch's.

    Args:
        query: [chats, heads, tokens, width].
        key: [chats, key heads, all tokens, width]; each serves as many heads in a row.
        value: as the keys.
        attention_mask: true where a token is heeded, [chats, 1, tokens, all tokens], or None.
        more: the scale and what sdpa_attention_forward takes besides.

    Returns:
        What the tokens heed, [chats, tokens, heads, width], and no weights.
    """
    chats, heads, tokens, width = query.shape
    if tokens > 1 or any(more.get(name) is not None for name in APART):
        theirs = import_module("transformers.integrations.sdpa_attention").sdpa_attention_forward
        found: tuple[Any, None] = theirs(module, query, key, value, attention_mask, **more)
        return found
    torch = import_module("torch")
    scale = more.get("scaling")
    questions = query.reshape(chats, key.shape[1], -1, width)
    scores = questions @ key.transpose(2, 3) * (width**-0.5 if scale is None else scale)
    if attention_mask is not None:
        scores = scores.masked_fill_(~attention_mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1, dtype=torch.float32).to(value.dtype)
    return (weights @ value).reshape(chats, 1, heads, -1), None


NARROWING = (
    "top_p", "top_h", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "watermarking_config",
)  # fmt: skip
"""What a model's own settings may narrow the choice of words by, besides ``top_k``."""


def drawn_at_once(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Settings under which each token is drawn by one random number, where nothing but temperature
    decides; otherwise as they are.

    Args:
        given: arguments of transformers' ``generate``.
    """
    own = model.generation_config
    narrowed = any(given.get(name, getattr(own, name, None)) is not None for name in NARROWING)
    if "temperature" not in given or narrowed or own.top_k != 0:
        return given
    rest = {name: one for name, one in given.items() if name not in ("temperature", "do_sample")}
    processors = import_module("transformers").LogitsProcessorList
    return rest | {"do_sample": False, "logits_processor": processors([Draw(given["temperature"])])}


class Draw:
    """Leaves one token of each row, drawn by its chances.

    Args:
        temperature: what logarithms of chances are divided by.
    """

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores, of which all but one in each row are those of what cannot be."""
        torch = import_module("torch")
        chances = (scores / self._temperature).softmax(-1).cumsum(-1, dtype=torch.float64)
        point = torch.rand((len(chances), 1), dtype=chances.dtype, device=chances.device)
        chosen = torch.searchsorted(chances, point * chances[:, -1:], right=True)
        chosen = chosen.clamp(max=chances.shape[-1] - 1)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen, 0.0)


def roomy_cache() -> Any:
    """An empty cache of transformers, of a layer's memory with room."""
    return import_module("transformers.cache_utils").Cache(layer_class_to_replicate=roomy_layer())


@cache
def roomy_layer() -> type[Any]:
    """Its kind of layer, which is made once transformers is there."""
    base: type[Any] = import_module("transformers.cache_utils").DynamicLayer

    class RoomyLayer(base):  # type: ignore[misc] # known when it runs
        """Keys and values of what was read, at the beginning of larger tensors."""

        room: list[Any]

        def update(self, keys: Any, values: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
            """Append those of new tokens; all of them."""
            read = self.get_seq_length()
            now = read + keys.shape[-2]
            if not read or now > self.room[0].shape[-2]:
                self._enlarge(keys, values, read, now + TO_COME)
            for whole, new in zip(self.room, (keys, values), strict=True):
                whole[..., read:now, :] = new
            self.keys, self.values = (whole[..., :now, :] for whole in self.room)
            return self.keys, self.values

        def _enlarge(self, keys: Any, values: Any, read: int, tokens: int) -> None:
            if not self.is_initialized:
                self.lazy_initialization(keys, values)
            old = self.keys, self.values
            self.room = [
                one.new_empty((*one.shape[:-2], tokens, one.shape[-1])) for one in (keys, values)
            ]
            if read:
                for whole, before in zip(self.room, old, strict=True):
                    whole[..., :read, :] = before

    return RoomyLayer
