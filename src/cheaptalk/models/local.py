"""Hugging Face models in this process, each with its own thread.

Waiting calls with equal settings are answered in one batch. A call with a seed is answered alone,
so that its answer is reproducible.
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

from cheaptalk.models.calls import Failure, ModelCall, ModelSettings, Reply, Usage
from cheaptalk.models.decoding import set_attention, with_single_draw
from cheaptalk.models.http.failures import broken
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.prefix_cache import Reading, Readings, joined, separate
from cheaptalk.models.settings import wire

TOGETHER = (16, 64, 512)
"""Maximum batch sizes: of a large model on a CPU, of a small one on a CPU, and on a GPU."""
LONG_CHAT = 2_048
"""Tokens of a long chat, used to compute the batch size on a GPU."""
ROOM = 2**29
"""Bytes of the prefix cache on a CPU; on a GPU it is a quarter of the free memory."""
PAUSE_HARD = 2
"""OpenMP 5.0 constant: release all resources."""
SMALL = 60_000_000
"""Maximum number of parameters of a small model."""


class PendingCall(NamedTuple):
    """A call in the queue.

    Attributes:
        deadline: timeout in seconds from the start of processing.
    """

    call: ModelCall
    deadline: float
    reply: "Future[Reply]"


class LocalModels:
    """Makes calls to models that are loaded into this process: ``hf/NAME`` or ``hf/FOLDER``."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._loading = Lock()

    async def close(self) -> None:
        """Unload all models after their current answers."""
        for worker in self._workers.values():
            await asyncio.to_thread(worker.stop)
        if self._workers:
            self._workers.clear()
            give_back()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call; the first one loads the model.

        Args:
            number: not used.
            deadline: seconds after which the call times out. The clock starts when the model starts
                to process the call: neither loading the model nor waiting in the queue counts.

        Raises:
            ValueError: the model does not support the call's settings.
        """
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
        """Return a model's batch size.

        A model that is not loaded yet has the smallest batch size.
        """
        worker = self._workers.get(name)
        return TOGETHER[0] if worker is None else worker.batch_size


def give_back() -> None:
    """Release idle threads and memory of PyTorch.

    Idle OpenMP threads of one thread slow down those of another: a model answered half as fast
    after training. Free memory remains in per-thread heaps.
    """
    for name, argument in (("omp_pause_resource_all", PAUSE_HARD), ("malloc_trim", 0)):
        with contextlib.suppress(OSError, TypeError, AttributeError):  # without the GNU C library
            getattr(ctypes.CDLL(None), name)(argument)


class Worker:
    """A loaded model and its thread.

    Args:
        loading: lock held while a model is loaded, because concurrent loading is impossible.

    Attributes:
        loaded: resolves when the model is loaded: None, or an error message.
        batch_size: maximum batch size, once loaded.
        queue: waiting calls; None ends the thread.
    """

    def __init__(self, name: str, loading: Lock) -> None:
        self.name = name
        self._loading = loading
        self.batch_size = TOGETHER[0]
        self.loaded: Future[str | None] = Future()
        self.loaded.set_running_or_notify_cancel()
        self.queue: SimpleQueue[PendingCall | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=f"hf/{name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the current calls."""
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
            going = going and self._take_waiting(pending)
            if pending:
                batch, pending = together(pending, generator.most)
                self._answer(generator, batch)

    def _take_waiting(self, pending: list[PendingCall]) -> bool:
        """Take all waiting calls, at least one; return whether to continue."""
        going = True
        with contextlib.suppress(Empty):
            while going:
                call = self.queue.get_nowait() if pending else self.queue.get()
                if call is None:
                    going = False
                else:
                    pending.append(call)
        return going

    def _answer(self, generator: "Generator", calls: list[PendingCall]) -> None:
        live = [call for call in calls if call.reply.set_running_or_notify_cancel()]
        if live:
            for call, reply in zip(live, answers(generator, live), strict=True):
                call.reply.set_result(reply)


def answers(generator: "Generator", calls: list[PendingCall]) -> list[Reply]:
    """Answer calls in one batch; split the batch in halves if it fails.

    A single call that fails is a failed call. Each batch and each half has the full timeout.
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
    """Split waiting calls into the next batch, which contains the first, and the rest.

    All calls in a batch have equal settings and timeouts.

    Args:
        maximum: how many there can be, those most like the first, since all are as long as the
            longest and are read as far as the newest; one that has a seed is alone.
    """
    first_call, deadline = waiting[0].call, waiting[0].deadline
    if first_call.settings.seed is not None:
        return waiting[:1], waiting[1:]
    begun, length = continues_chat(first_call), characters(first_call)

    def lost(index: int) -> tuple[bool, int]:
        """Return a sort key: prefer the same use of the prefix cache, then similar lengths."""
        call = waiting[index].call
        return continues_chat(call) != begun, abs(characters(call) - length)

    alike = [
        place
        for place, pending in enumerate(waiting)
        if (pending.call.settings, pending.deadline) == (first_call.settings, deadline)
    ]
    chosen = set(sorted(alike, key=lost)[:maximum])
    now = [one for place, one in enumerate(waiting) if place in chosen]
    return now, [one for place, one in enumerate(waiting) if place not in chosen]


def continues_chat(call: ModelCall) -> bool:
    """Return whether a call continues a chat."""
    return any(one.role == "assistant" for one in call.messages)


def characters(call: ModelCall) -> int:
    """Return the number of characters in a call's messages."""
    return sum(len(one.content) for one in call.messages)


def token_bytes(model: Any) -> int:
    """Return the bytes per token in a model's key-value cache."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * model.dtype.itemsize)


class Generator:
    """A causal language model with its tokenizer.

    Attributes:
        most: maximum batch size.

    Raises:
        OSError: there is no such model.
        ImportError: the extra ``lm`` is not installed.
    """

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
        """Return the maximum batch size and the bytes for the prefix cache."""
        large, small, most = TOGETHER
        if self.model.device.type == "cpu":
            return small if self._small else large, ROOM
        free, _ = self.torch.cuda.mem_get_info()
        chats = free // 4 // (LONG_CHAT * token_bytes(self.model))
        return max(large, min(chats, most)), free // 4

    def answer(self, calls: list[ModelCall], deadline: float) -> list[Reply]:
        """Answer calls with equal settings in one batch.

        Args:
            deadline: timeout in seconds for unfinished answers.
        """
        settings = calls[0].settings
        level = settings.reasoning
        thinking = {} if level is None else {"enable_thinking": level != "none"}
        asked: list[list[int]] = self.tokenizer.apply_chat_template(
            [[one.model_dump() for one in call.messages] for call in calls],
            add_generation_prompt=True, tokenize=True, return_dict=True, **thinking,
        )["input_ids"]  # fmt: skip
        with self.torch.random.fork_rng(), self.torch.inference_mode():
            if settings.seed is None:
                self.torch.seed()  # reseed, because the forked state is the same for every call
                states = [self._readings.find(*one) for one in zip(calls, asked, strict=True)]
            else:
                self.torch.manual_seed(settings.seed)
                states = []  # for reproducibility
            answers = self._generated(calls, asked, states, deadline)
        room = wire(settings, calls[0].model)["max_tokens"]
        return [
            self._timed_out(ids, answer, deadline)
            if len(answer) < room and not self._is_finished(settings, answer)
            else self._reply(settings, len(ids), answer)
            for ids, answer in zip(asked, answers, strict=True)
        ]

    def _generated(
        self,
        calls: Sequence[ModelCall],
        asked: Sequence[list[int]],
        states: Sequence[tuple[Any, int]],
        deadline: float,
    ) -> list[list[int]]:
        """Return the tokens of answers, possibly with tokens after their ends.

        Args:
            asked: the prompts' tokens.
            states: cached states of the prompts; if empty, the cache is not used.
        """
        settings = calls[0].settings
        tokens = wire(settings, calls[0].model)["max_tokens"]
        inputs = self.tokenizer.pad({"input_ids": asked}, return_tensors="pt")
        inputs = inputs.to(self.model.device)
        lengths = [len(one) for one in asked]
        known = {"past_key_values": joined(states, lengths)} if states and self._keeps else {}
        given = _generation(settings, tokens)
        if self.model.device.type == "cpu":
            given = with_single_draw(self.model, given)
        made = self.model.generate(
            **inputs, **known, max_time=deadline,
            pad_token_id=self.tokenizer.pad_token_id, tokenizer=self.tokenizer,
            return_dict_in_generate=True, **given,
        )  # fmt: skip
        width = inputs["input_ids"].shape[1]
        answers: list[list[int]] = made.sequences[:, width:].tolist()
        if states:
            self._keep(calls, asked, answers, made.past_key_values)
        return answers

    def _keep(
        self,
        calls: Sequence[ModelCall],
        asked: Sequence[list[int]],
        answers: Sequence[list[int]],
        cache: Any,
    ) -> None:
        """Cache the states of prompts and answers, up to the ends of the answers."""
        width = max(len(one) for one in asked)
        told = [
            [*ids, *answer[: min(self._length(answer) + 1, len(answer) - 1)]]
            for ids, answer in zip(asked, answers, strict=True)
        ]
        places = [(width - len(ids), len(all_)) for ids, all_ in zip(asked, told, strict=True)]
        kept = separate(cache, places)
        self._keeps = kept is not None
        for call, ids, state in zip(calls, told, kept or (), strict=False):
            self._readings.keep(call, Reading(ids, state))

    def _length(self, answer: Sequence[int]) -> int:
        """Return the number of tokens before an answer's end."""
        return next((place for place, one in enumerate(answer) if one in self._ends), len(answer))

    def _is_finished(self, settings: ModelSettings, answer: Sequence[int]) -> bool:
        """Return whether the model ended an answer with an end token or a stop string."""
        if self._length(answer) < len(answer):
            return True
        text = self.tokenizer.decode(answer, skip_special_tokens=True)
        return any(stop in text for stop in settings.stop or ())

    def _timed_out(self, asked: Sequence[int], answer: Sequence[int], deadline: float) -> Reply:
        detail = f"no answer within {deadline:g} seconds"
        usage = Usage(input_tokens=len(asked), output_tokens=len(answer))
        return Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True, usage=usage)

    def _reply(self, settings: ModelSettings, asked: int, answer: list[int]) -> Reply:
        length = self._length(answer)
        text = self.tokenizer.decode(answer[:length], skip_special_tokens=True)
        stopped = [text.find(stop) for stop in settings.stop or () if stop in text]
        cut = length == len(answer) and not stopped
        return Reply(
            text=text[: min(stopped)] if stopped else text,
            model=self.name,
            finish="length" if cut else "stop",
            usage=Usage(input_tokens=asked, output_tokens=min(length + 1, len(answer))),
        )


def _generation(settings: ModelSettings, tokens: int) -> dict[str, Any]:
    """Convert settings to transformers' generation arguments."""
    given: dict[str, Any] = {"max_new_tokens": tokens}
    if settings.temperature == 0:
        given["do_sample"] = False
    elif settings.temperature is not None:
        given |= {"do_sample": True, "temperature": settings.temperature}
    if settings.top_p is not None and settings.temperature != 0:
        given |= {"do_sample": True, "top_p": settings.top_p}
    if settings.stop:
        given["stop_strings"] = list(settings.stop)
    return given
