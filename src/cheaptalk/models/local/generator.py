"""Causal language models of the library transformers."""

import inspect
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from cheaptalk.models.calls import ModelCall, Route
from cheaptalk.models.local.attention import set_attention
from cheaptalk.models.local.files import model_files
from cheaptalk.models.local.masks import Schemas
from cheaptalk.models.local.prefix_cache import Readings
from cheaptalk.models.local.row_cache import RowCache

TOGETHER = (16, 64, 512)
"""Maximum batch sizes: a large model on a CPU, a small model on a CPU, and a model on a GPU."""
LONG_CHAT = 2_048
"""Assumed tokens of a chat for the batch size on a GPU."""
ROOM = 2**30
"""Size of the prefix cache in bytes on a CPU; on a GPU, a quarter of the free memory is used."""
SMALL = 60_000_000
"""Maximum number of parameters of a small model."""
CACHE_NAMES = ("cache", "past_key_values")
"""The argument with the key-value cache: its current name, and that before transformers 5.24."""
TOLERANCE = 0.25
"""Maximum rounding error of a score, in standard deviations of the scores."""


class Generator:
    """A causal language model with its tokenizer.

    Unless ``download`` is set, OSError is raised if the model is not on this machine.

    Attributes:
        most: the maximum batch size.
        readings: the prefix cache.
        ends: the tokens that end an answer.
        token: an example of a token's state, with the shape [layers, 2 (key and value), heads, 1,
            width]; None if the model's state has another form, so that rows cannot join a batch.
    """

    def __init__(self, name: str, *, download: bool = True) -> None:
        self.torch = import_module("torch")  # large, and an extra
        transformers = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        self.name = name
        device = "cuda" if self.torch.cuda.is_available() else "cpu"
        files = model_files(name)
        local: dict[str, Any] = {} if download else {"local_files_only": True}
        with files.options() as options:
            options = options | local
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(files.source, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                files.source, dtype="auto", **options
            )
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        slow = device == "cpu" and not self.torch.cpu.get_capabilities().get("avx512_bf16")
        if slow and model.dtype != self.torch.float32:
            model = model.float()  # same results, but faster
        self.model = model.to(device).eval()
        self._parameters = inspect.signature(model.forward).parameters
        self._cache_name = next((name for name in CACHE_NAMES if name in self._parameters), "")
        self._small = device == "cpu" and model.num_parameters() <= SMALL
        if self._small:
            set_attention(self.model)
        self.token = self._token()
        self._check_cache()
        self.most, room = self._capacity()
        self.readings = Readings(room)
        listed = model.generation_config.eos_token_id
        self.ends = {*(listed if isinstance(listed, list) else [listed])}
        self.ends |= {self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}

    def _token(self) -> Any:
        """Return the state of one token, or None if it is not a key and a value for each layer.

        Raises:
            ValueError: the model has no key-value cache.
        """
        with self.torch.inference_mode():
            ids = self.torch.zeros((1, 1), dtype=self.torch.long, device=self.model.device)
            output = self.model(input_ids=ids, use_cache=True)
            layers = getattr(getattr(output, self._cache_name, None), "layers", ())
            states = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
            if all(state is None for state in states):
                raise ValueError("it has no key-value cache; use a server such as vLLM")
            shapes = {None if state is None else state.shape for state in states}
            if len(shapes) > 1 or None in shapes:
                return None
            return self.torch.stack(states).unflatten(0, (-1, 2))[:, :, 0]

    def _check_cache(self) -> None:
        """Check that a cached text continues as if the whole text were processed at once.

        Raises:
            ValueError: it does not, because the model passes its cache in an unknown way.
        """
        text = [*range(5, 13)]
        whole, _ = self.scores([text], [len(text)], None)
        cache = None
        if self.token is not None:
            cache = RowCache.empty(self.token, 1, 0, len(text))
        _, cache = self.scores([text[:-1]], [len(text) - 1], cache)
        continued, _ = self.scores([text[-1:]], [len(text)], cache)
        if (whole - continued).abs().max() > TOLERANCE * whole.std():
            raise ValueError(
                "it does not continue a cached text correctly with the installed version of "
                "transformers; use a server such as vLLM"
            )

    def _capacity(self) -> tuple[int, int]:
        """Return the maximum batch size, and the size of the prefix cache in bytes."""
        large, small, most = TOGETHER
        if self.model.device.type == "cpu":
            return small if self._small else large, ROOM
        free, _ = self.torch.cuda.mem_get_info()
        if self.token is None:
            return large, 0
        chats = free // 4 // (LONG_CHAT * self.token.nbytes)
        return max(large, min(chats, most)), free // 4

    def prompt(self, call: ModelCall, route: Route) -> list[int]:
        """Return the tokens of a chat; a model that follows a schema cannot reason before."""
        level = call.settings.reasoning or ("none" if route == "schema" else None)
        thinking = {} if level is None else {"enable_thinking": level != "none"}
        prompt: list[int] = self.tokenizer.apply_chat_template(
            [message.model_dump() for message in call.messages],
            **{"add_generation_prompt": True, "tokenize": True, "return_dict": True} | thinking,
        )["input_ids"]
        return prompt

    @cached_property
    def schemas(self) -> Schemas:
        """The model's compiled schemas."""
        return Schemas(self.tokenizer, self.model.get_output_embeddings().weight.shape[0])

    def scores(
        self, tokens: Sequence[Sequence[int]], lengths: Sequence[int], cache: Any
    ) -> tuple[Any, Any]:
        """Process the next tokens of each row.

        Args:
            tokens: the same number of tokens for each row, padded on the left.
            lengths: the number of tokens of each row, including these and without padding.
            cache: a :class:`.RowCache` or the model's own cache; None for a new batch.

        Returns:
            The scores of the token after the last, with the shape [rows, vocabulary], and the
            cache.
        """
        rows = isinstance(cache, RowCache)
        past = cache.view() if rows else cache
        ids = self.torch.tensor(tokens, device=self.model.device)
        columns = (past.get_seq_length() if past is not None else 0) + ids.shape[1]
        count = self.torch.tensor(lengths, device=self.model.device)[:, None]
        positions = self.torch.arange(columns, device=self.model.device) - (columns - count)
        arguments = {
            "input_ids": ids,
            "attention_mask": (positions >= 0).long(),
            "position_ids": positions.clamp(min=0)[:, -ids.shape[1] :],
            self._cache_name: past,
            "use_cache": True,
            "logits_to_keep": 1,
        }
        known = {name: arguments[name] for name in arguments if name in self._parameters}
        with self.torch.inference_mode():
            output = self.model(**known)
        if rows:
            cache.advance(ids.shape[1])
        return output.logits[:, -1].float(), cache if rows else getattr(output, self._cache_name)


LOADED: dict[str, Generator] = {}
"""Models that have been loaded to measure their speed, by name; the next run uses them."""
