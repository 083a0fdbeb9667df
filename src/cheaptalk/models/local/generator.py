"""Causal language models of the library transformers."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall, ModelSettings, Reply, Route, Usage
from cheaptalk.models.http.failures import timed_out
from cheaptalk.models.local.decoding import set_attention
from cheaptalk.models.local.files import efficient_gguf, model_files
from cheaptalk.models.local.masks import Masks, Schemas
from cheaptalk.models.local.prefix_cache import Reading, Readings, joined, separate, shared_prefixes
from cheaptalk.models.local.sampling import Draw, filters, temperature_of
from cheaptalk.models.settings import most_characters, wire
from cheaptalk.models.structured_output import standard, ways

TOGETHER = (16, 64, 512)
"""Maximum batch sizes: a large model on a CPU, a small model on a CPU, and a model on a GPU."""
LONG_CHAT = 2_048
"""Assumed tokens of a chat for the batch size on a GPU."""
ROOM = 2**29
"""Size of the prefix cache in bytes on a CPU; on a GPU, a quarter of the free memory is used."""
SMALL = 60_000_000
"""Maximum number of parameters of a small model."""


class Generated(NamedTuple):
    """The tokens of an answer, including an end token, and whether the answer is complete."""

    ids: list[int]
    complete: bool


def token_bytes(model: Any) -> int:
    """Return the size of one token in a model's key-value cache, in bytes."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * model.dtype.itemsize)


class Generator:
    """A causal language model with its tokenizer; ``most`` is the maximum batch size.

    Unless ``download`` is set, OSError is raised if the model is not on this machine.
    """

    def __init__(self, name: str, *, download: bool = True) -> None:
        self.torch = import_module("torch")  # large, and an extra
        transformers = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        self.name = name
        device = "cuda" if self.torch.cuda.is_available() else "cpu"
        files = model_files(name)
        options: dict[str, Any] = {} if download else {"local_files_only": True}
        if files.gguf_file is not None:
            options["gguf_file"] = files.gguf_file
        with efficient_gguf() if files.gguf_file else nullcontext():
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(
                files.source, padding_side="left", **options
            )
            model = transformers.AutoModelForCausalLM.from_pretrained(
                files.source, dtype="auto", **options
            )
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        slow = device == "cpu" and not self.torch.cpu.get_capabilities().get("avx512_bf16")
        if slow and model.dtype != self.torch.float32:
            model = model.float()  # same results, but faster
        self.model = model.to(device).eval()
        self._small = device == "cpu" and model.num_parameters() <= SMALL
        if self._small:
            set_attention(self.model)
        self.most, room = self._capacity()
        listed = model.generation_config.eos_token_id
        self._ends = {*(listed if isinstance(listed, list) else [listed])}
        self._ends |= {self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}
        self._readings = Readings(room)
        self._keeps = False

    def _capacity(self) -> tuple[int, int]:
        """Return the maximum batch size, and the size of the prefix cache in bytes."""
        large, small, most = TOGETHER
        if self.model.device.type == "cpu":
            return small if self._small else large, ROOM
        free, _ = self.torch.cuda.mem_get_info()
        chats = free // 4 // (LONG_CHAT * token_bytes(self.model))
        return max(large, min(chats, most)), free // 4

    def answer(
        self, calls: Sequence[ModelCall], seeds: Sequence[int], deadline: float
    ) -> list[Reply]:
        """Answer calls with equal settings in one batch.

        Args:
            calls: the calls, whose answers may have different schemas.
            seeds: the seed of each call, which determines its answer if the model samples.
            deadline: the timeout in seconds.

        Raises:
            ValueError: a schema or the tokenizer is not supported.
        """
        settings = calls[0].settings
        routes = [ways(call)[0] for call in calls]
        prompts = [*map(self._prompt, calls, routes)]
        longest = most_characters(settings, calls[0].model)
        masks = self._masks(calls, routes, longest)
        # the cache changes the rounding of scores, so calls with a seed do not use it
        find = self._readings.find
        states = [*map(find, calls, prompts)] if settings.seed is None else []
        with self.torch.inference_mode():
            self._share(prompts, states)
            answers = self._generated(calls, prompts, states, seeds, masks, deadline)
        tokens = wire(settings, calls[0].model)["max_tokens"]
        temperature = temperature_of(settings, self.model.generation_config)
        replies = []
        for call, route, seed, prompt, answer in zip(
            calls, routes, seeds, prompts, answers, strict=True
        ):
            timeout = not answer.complete and len(answer.ids) < tokens
            reply = timed_out(deadline) if timeout else self._reply(settings, answer)
            sampling = {"temperature": temperature} | ({"seed": seed} if temperature else {})
            sampling |= {"max_characters": longest} if route == "schema" else {}
            usage = Usage(input_tokens=len(prompt), output_tokens=len(answer.ids))
            taken = {"usage": usage, "sent": sampling, "route": call.form and route}
            replies.append(reply.model_copy(update=taken))
        return replies

    def _prompt(self, call: ModelCall, route: Route) -> list[int]:
        """Return the tokens of a chat; a model that follows a schema cannot reason before."""
        level = call.settings.reasoning or ("none" if route == "schema" else None)
        thinking = {} if level is None else {"enable_thinking": level != "none"}
        prompt: list[int] = self.tokenizer.apply_chat_template(
            [message.model_dump() for message in call.messages],
            **{"add_generation_prompt": True, "tokenize": True, "return_dict": True} | thinking,
        )["input_ids"]
        return prompt

    def _masks(self, calls: Sequence[ModelCall], routes: Sequence[Route], longest: int) -> Masks:
        schemas = {
            row: standard(call.form.json_schema, longest)
            for row, (call, route) in enumerate(zip(calls, routes, strict=True))
            if call.form and route == "schema"
        }
        return Masks({row: self._schemas.matcher(schema) for row, schema in schemas.items()})

    @cached_property
    def _schemas(self) -> Schemas:
        return Schemas(self.tokenizer, self.model.get_output_embeddings().weight.shape[0])

    def _share(self, prompts: Sequence[list[int]], states: list[tuple[Any, int]]) -> None:
        """Process prefixes that new chats of a batch share, and set their states."""
        fresh = {row: prompts[row] for row, (_, read) in enumerate(states) if not read}
        for rows, tokens in shared_prefixes(fresh):
            ids = self.torch.tensor([prompts[rows[0]][:tokens]], device=self.model.device)
            output = self.model.base_model(input_ids=ids, use_cache=True)
            separated = separate(output.past_key_values, [(0, tokens)])
            if separated is None:
                return
            self._keeps = True
            for row in rows:
                states[row] = separated[0], tokens

    def _generated(
        self,
        calls: Sequence[ModelCall],
        prompts: Sequence[list[int]],
        states: Sequence[tuple[Any, int]],
        seeds: Sequence[int],
        masks: Masks,
        deadline: float,
    ) -> list[Generated]:
        """Return the generated answers; without cached states, the cache is not used."""
        settings = calls[0].settings
        inputs = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt")
        inputs = inputs.to(self.model.device)
        arguments = self._arguments(settings, calls[0].model, seeds, masks)
        if states and self._keeps:
            arguments["past_key_values"] = joined(states, [*map(len, prompts)])
        generated = self.model.generate(
            **inputs, **arguments, max_time=deadline, return_dict_in_generate=True
        )
        width = inputs["input_ids"].shape[1]
        rows: list[list[int]] = generated.sequences[:, width:].tolist()
        answers = [self._ended(settings, row, masks.complete.get(i)) for i, row in enumerate(rows)]
        if states:
            self._keep(calls, prompts, answers, generated.past_key_values)
        return answers

    def _arguments(
        self, settings: ModelSettings, model: str, seeds: Sequence[int], masks: Masks
    ) -> dict[str, Any]:
        """Return arguments of transformers' ``generate``; tokens are sampled by a processor."""
        transformers, config = import_module("transformers"), self.model.generation_config
        processors: list[Any] = [masks]
        if temperature := temperature_of(settings, config):
            processors.append(Draw(temperature, filters(settings, config), seeds))
        stop = {"stop_strings": list(settings.stop)} if settings.stop else {}
        return stop | {
            "max_new_tokens": wire(settings, model)["max_tokens"],
            "do_sample": False,
            "logits_processor": transformers.LogitsProcessorList(processors),
            "stopping_criteria": transformers.StoppingCriteriaList([masks.advance]),
            "pad_token_id": self.tokenizer.pad_token_id,
            "tokenizer": self.tokenizer,
        }

    def _keep(
        self,
        calls: Sequence[ModelCall],
        prompts: Sequence[list[int]],
        answers: Sequence[Generated],
        cache: Any,
    ) -> None:
        """Cache the key-value states of prompts and answers up to the end of each answer."""
        width = max(map(len, prompts))
        # the model has not processed the last token of the longest answer
        tokens = max(len(answer.ids) for answer in answers) - 1
        texts = [
            [*prompt, *answer.ids[:tokens]] for prompt, answer in zip(prompts, answers, strict=True)
        ]
        spans = [
            (width - len(prompt), len(ids)) for prompt, ids in zip(prompts, texts, strict=True)
        ]
        states = separate(cache, spans)
        self._keeps = states is not None
        for call, ids, state in zip(calls, texts, states or (), strict=False):
            self._readings.keep(call, Reading(ids, state))

    def _ended(self, settings: ModelSettings, row: list[int], complete: int | None) -> Generated:
        """Cut a row at its end: the end of the object, an end token, or a stop sequence."""
        if complete is not None:
            return Generated(row[:complete], True)
        ends = (index for index, token in enumerate(row) if token in self._ends)
        length = next(ends, None)
        if length is not None:
            return Generated(row[: length + 1], True)
        text = self.tokenizer.decode(row, skip_special_tokens=True)
        return Generated(row, any(stop in text for stop in settings.stop or ()))

    def _reply(self, settings: ModelSettings, answer: Generated) -> Reply:
        ids = answer.ids[:-1] if answer.ids and answer.ids[-1] in self._ends else answer.ids
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        stopped = [text.find(stop) for stop in settings.stop or () if stop in text]
        return Reply(
            text=text[: min(stopped)] if stopped else text,
            model=self.name,
            finish="stop" if answer.complete else "length",
        )


SPARE: dict[str, Generator] = {}
"""Loaded models, by name, that the next run uses."""
