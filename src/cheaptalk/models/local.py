"""Hugging Face models in this process, each with its own thread.

Waiting calls with equal settings are answered in one batch. A call with a seed is answered in a
batch of its own, so that the answer is reproducible.
"""

import asyncio
import contextlib
import ctypes
import time
from collections.abc import Sequence
from concurrent.futures import Future
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.decoding import set_attention, with_single_draw
from cheaptalk.models.http.failures import broken, timed_out
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.prefix_cache import Reading, Readings, joined, separate
from cheaptalk.models.settings import wire
from cheaptalk.models.usage import characters

TOGETHER = (16, 64, 512)
"""Maximum batch sizes: a large model on a CPU, a small model on a CPU, and a model on a GPU."""
LONG_CHAT = 2_048
"""Assumed tokens of a chat for the batch size on a GPU."""
ROOM = 2**29
"""Size of the prefix cache in bytes on a CPU; on a GPU, a quarter of the free memory is used."""
PAUSE_HARD = 2
"""OpenMP 5.0 constant: release all resources."""
SMALL = 60_000_000
"""Maximum number of parameters of a small model."""


class PendingCall(NamedTuple):
    """A queued call to a model, with a timeout that starts when processing begins."""

    call: ModelCall
    deadline: float
    reply: "Future[Reply]"


class LocalModels:
    """A client for models loaded into this process: ``hf/NAME`` or ``hf/FOLDER``."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._loading = Lock()

    async def close(self) -> None:
        """Unload all models after they finish their current answers."""
        for worker in self._workers.values():
            await asyncio.to_thread(worker.stop)
        if self._workers:
            self._workers.clear()
            give_back()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Answer one call, loading the model on first use, which the timeout excludes."""
        sent = wire(call.settings, call.model)
        name = ModelName.parse(call.model).model
        if name not in self._workers:
            self._workers[name] = Worker(name, self._loading)
        worker = self._workers[name]
        problem = await asyncio.wrap_future(worker.loaded)
        if problem is not None:
            return broken(problem, retry=False)
        pending = PendingCall(call, deadline, Future())
        worker.queue.put(pending)
        reply = await asyncio.wrap_future(pending.reply)
        route = "text" if call.form else None
        return reply.model_copy(update={"sent": sent, "route": route})

    def capacity(self, name: str) -> int:
        """Return a model's batch size; before the model is loaded, return the minimum size."""
        worker = self._workers.get(name)
        return TOGETHER[0] if worker is None else worker.batch_size


def give_back() -> None:
    """Release PyTorch's idle threads and unused memory.

    Idle OpenMP threads of one thread slow down the others, and free memory remains in per-thread
    heaps.
    """
    for name, argument in (("omp_pause_resource_all", PAUSE_HARD), ("malloc_trim", 0)):
        with contextlib.suppress(OSError, TypeError, AttributeError):  # without the GNU C library
            getattr(ctypes.CDLL(None), name)(argument)


class Worker:
    """A loaded model and the thread that runs it.

    The lock is held while a model is loaded, because concurrent loading is impossible.
    """

    def __init__(self, name: str, loading: Lock) -> None:
        self.name = name
        self._loading = loading
        self.batch_size = TOGETHER[0]
        self.loaded: Future[str | None] = Future()  # None once loaded, or an error message
        self.loaded.set_running_or_notify_cancel()
        self.queue: SimpleQueue[PendingCall | None] = SimpleQueue()  # None ends the thread
        self._thread = Thread(target=self._work, name=f"hf/{name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            with self._loading:
                generator = Generator(self.name)
        except Exception as error:  # noqa: BLE001 - reported, not raised
            self.loaded.set_result(f"the model cannot be loaded: {error}")
            return
        self.batch_size = generator.most
        self.loaded.set_result(None)
        pending: list[PendingCall] = []
        going = True
        while going or pending:
            with contextlib.suppress(Empty):
                while going and (call := self.queue.get(block=not pending)) is not None:
                    pending.append(call)
                going = False
            if pending:
                batch, pending = together(pending, generator.most)
                live = [call for call in batch if call.reply.set_running_or_notify_cancel()]
                replies = answers(generator, live) if live else ()
                for call, reply in zip(live, replies, strict=True):
                    call.reply.set_result(reply)


def answers(generator: "Generator", calls: list[PendingCall]) -> list[Reply]:
    """Answer calls in one batch; if it fails, answer each half separately.

    A single call that fails is a failed call. Each batch has the full timeout.
    """
    started = time.monotonic()
    try:
        replies = generator.answer([call.call for call in calls], calls[0].deadline)
        seconds = round(time.monotonic() - started, 4)
        return [reply.model_copy(update={"seconds": seconds}) for reply in replies]
    except Exception as error:  # noqa: BLE001 - a model that breaks is a failed call
        if len(calls) == 1:
            return [broken(f"the model failed: {error}", retry=False)]
    half = len(calls) // 2
    return [*answers(generator, calls[:half]), *answers(generator, calls[half:])]


def together(
    waiting: list[PendingCall], maximum: int
) -> tuple[list[PendingCall], list[PendingCall]]:
    """Split waiting calls into the next batch and the calls that remain.

    All calls in a batch have equal settings and timeouts. Among them, the calls most similar to the
    first are chosen: padding makes all chats as long as the longest. A call with a seed gets a
    batch of its own.
    """
    first_call, deadline = waiting[0].call, waiting[0].deadline
    if first_call.settings.seed is not None:
        return waiting[:1], waiting[1:]
    continues, length = continues_chat(first_call), characters(first_call)

    def unlike(index: int) -> tuple[bool, int]:
        """Return a sort key: first calls with the same cache use, then calls of similar length."""
        call = waiting[index].call
        return continues_chat(call) != continues, abs(characters(call) - length)

    alike = [
        index
        for index, pending in enumerate(waiting)
        if (pending.call.settings, pending.deadline) == (first_call.settings, deadline)
    ]
    chosen = set(sorted(alike, key=unlike)[:maximum])
    batch = [pending for index, pending in enumerate(waiting) if index in chosen]
    return batch, [pending for index, pending in enumerate(waiting) if index not in chosen]


def continues_chat(call: ModelCall) -> bool:
    """Return whether a call continues a chat that the model has answered before."""
    return any(message.role == "assistant" for message in call.messages)


def token_bytes(model: Any) -> int:
    """Return the size of one token in a model's key-value cache, in bytes."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * model.dtype.itemsize)


class Generator:
    """A causal language model with its tokenizer; ``most`` is the maximum batch size."""

    def __init__(self, name: str) -> None:
        self.torch = import_module("torch")  # large, and an extra
        transformers = import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        self.name = name
        device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(name, padding_side="left")
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype="auto")
        if device == "cpu" and not self.torch.cpu.get_capabilities().get("avx512_bf16"):
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

    def answer(self, calls: list[ModelCall], deadline: float) -> list[Reply]:
        """Answer calls with equal settings in one batch; ``deadline`` is the timeout in seconds."""
        settings = calls[0].settings
        level = settings.reasoning
        thinking = {} if level is None else {"enable_thinking": level != "none"}
        prompts: list[list[int]] = self.tokenizer.apply_chat_template(
            [[message.model_dump() for message in call.messages] for call in calls],
            **{"add_generation_prompt": True, "tokenize": True, "return_dict": True} | thinking,
        )["input_ids"]
        with self.torch.random.fork_rng(), self.torch.inference_mode():
            if settings.seed is None:
                self.torch.seed()  # reseed, because the forked state is the same for every call
                states = [*map(self._readings.find, calls, prompts)]
            else:
                self.torch.manual_seed(settings.seed)
                states = []  # for reproducibility
            answers = self._generated(calls, prompts, states, deadline)
        maximum = wire(settings, calls[0].model)["max_tokens"]
        return [
            timed_out(deadline).model_copy(
                update={"usage": Usage(input_tokens=len(prompt), output_tokens=len(answer))}
            )
            if len(answer) < maximum and not self._is_finished(settings, answer)
            else self._reply(settings, len(prompt), answer)
            for prompt, answer in zip(prompts, answers, strict=True)
        ]

    def _generated(
        self,
        calls: Sequence[ModelCall],
        prompts: Sequence[list[int]],
        states: Sequence[tuple[Any, int]],
        deadline: float,
    ) -> list[list[int]]:
        """Return the generated tokens of all answers, which may continue past an answer's end.

        Without cached states of the prompts, the cache is not used.
        """
        settings = calls[0].settings
        tokens = wire(settings, calls[0].model)["max_tokens"]
        inputs = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt")
        inputs = inputs.to(self.model.device)
        arguments = _generation(settings, tokens)
        if self.model.device.type == "cpu":
            arguments = with_single_draw(self.model, arguments)
        if states and self._keeps:
            arguments["past_key_values"] = joined(states, [*map(len, prompts)])
        arguments |= {"pad_token_id": self.tokenizer.pad_token_id, "tokenizer": self.tokenizer}
        generated = self.model.generate(
            **inputs, **arguments, max_time=deadline, return_dict_in_generate=True
        )
        width = inputs["input_ids"].shape[1]
        answers: list[list[int]] = generated.sequences[:, width:].tolist()
        if states:
            self._keep(calls, prompts, answers, generated.past_key_values)
        return answers

    def _keep(
        self,
        calls: Sequence[ModelCall],
        prompts: Sequence[list[int]],
        answers: Sequence[list[int]],
        cache: Any,
    ) -> None:
        """Cache the key-value states of prompts and answers up to the end of each answer."""
        width = max(map(len, prompts))
        texts = [
            [*prompt, *answer[: min(self._length(answer) + 1, len(answer) - 1)]]
            for prompt, answer in zip(prompts, answers, strict=True)
        ]
        spans = [
            (width - len(prompt), len(ids)) for prompt, ids in zip(prompts, texts, strict=True)
        ]
        states = separate(cache, spans)
        self._keeps = states is not None
        for call, ids, state in zip(calls, texts, states or (), strict=False):
            self._readings.keep(call, Reading(ids, state))

    def _length(self, answer: Sequence[int]) -> int:
        ends = (index for index, token in enumerate(answer) if token in self._ends)
        return next(ends, len(answer))

    def _is_finished(self, settings: ModelSettings, answer: Sequence[int]) -> bool:
        if self._length(answer) < len(answer):
            return True
        text = self.tokenizer.decode(answer, skip_special_tokens=True)
        return any(stop in text for stop in settings.stop or ())

    def _reply(self, settings: ModelSettings, input_tokens: int, answer: list[int]) -> Reply:
        length = self._length(answer)
        text = self.tokenizer.decode(answer[:length], skip_special_tokens=True)
        stopped = [text.find(stop) for stop in settings.stop or () if stop in text]
        cut = length == len(answer) and not stopped
        return Reply(
            text=text[: min(stopped)] if stopped else text,
            model=self.name,
            finish="length" if cut else "stop",
            usage=Usage(input_tokens=input_tokens, output_tokens=min(length + 1, len(answer))),
        )


def _generation(settings: ModelSettings, tokens: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {"max_new_tokens": tokens}
    if settings.temperature == 0:
        arguments["do_sample"] = False
    else:
        sampling = {"temperature": settings.temperature, "top_p": settings.top_p}
        given = {name: value for name, value in sampling.items() if value is not None}
        arguments |= given | ({"do_sample": True} if given else {})
    if settings.stop:
        arguments["stop_strings"] = list(settings.stop)
    return arguments
