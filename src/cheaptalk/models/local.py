"""A Hugging Face model in this process: loaded once, asked in a thread of its own.

Calls that wait with equal settings are answered together. A call with a seed is answered alone, so
that its answer depends on nothing else.
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
from cheaptalk.models.decoding import drawn_at_once, set_attention
from cheaptalk.models.http.failures import broken
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.readings import Reading, Readings, joined, separate
from cheaptalk.models.settings import wire

TOGETHER = (16, 64, 512)
"""Calls that are answered together at most: by a large model on a CPU, by a small one there, and on
a GPU that has the memory for so many."""
LONG_CHAT = 2_048
"""Tokens of a long chat, of which a GPU is to hold as many as are answered together."""
ROOM = 2**29
"""Bytes of what was read of chats that may go on, on a CPU; a GPU has a quarter of what is free."""
PAUSE_HARD = 2
"""Of OpenMP 5.0: what it holds is given back, and asked for again where it is needed."""
SMALL = 60_000_000
"""Weights of the largest small model."""


class PendingCall(NamedTuple):
    """A call in the queue.

    Attributes:
        deadline: seconds that the model may take, from when it starts to process the call.
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
        """Let go of all models, after the answers that are being written."""
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
            ValueError: the model does not take the call's settings.
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
        """Return how many calls a model answers in one batch.

        A model that is not loaded yet has the smallest batch size.
        """
        worker = self._workers.get(name)
        return TOGETHER[0] if worker is None else worker.batch_size


def give_back() -> None:
    """Let the system have what PyTorch leaves idle.

    The threads with which it computed for this thread make those of another one wait: a model
    answered half as fast after a training. Free memory stays in a heap for each thread there was.
    """
    for name, argument in (("omp_pause_resource_all", PAUSE_HARD), ("malloc_trim", 0)):
        with contextlib.suppress(OSError, TypeError, AttributeError):  # no GNU C library
            getattr(ctypes.CDLL(None), name)(argument)


class Worker:
    """One loaded model and the thread that asks it.

    Args:
        loading: held while a model is loaded, since two cannot be at once.

    Attributes:
        loaded: done when the model is loaded: None, or why it is not.
        batch_size: calls that it answers together at most, once it is loaded.
        queue: the calls that wait; None ends the thread.
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
        """End the thread after the calls that are being answered."""
        self.queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            with self._loading:
                asked = Generator(self.name)
        except Exception as error:  # noqa: BLE001 - whatever a model's files do is told, not raised
            self.loaded.set_result(f"the model cannot be loaded: {error}")
            return
        self.batch_size = asked.most
        self.loaded.set_result(None)
        kept: list[PendingCall] = []
        going = True
        while going or kept:
            going = going and self._take_what_waits(kept)
            if kept:
                now, kept = together(kept, asked.most)
                self._answer(asked, now)

    def _take_what_waits(self, kept: list[PendingCall]) -> bool:
        """Take all that waits, at least one call; whether the thread is to go on."""
        going = True
        with contextlib.suppress(Empty):
            while going:
                one = self.queue.get_nowait() if kept else self.queue.get()
                if one is None:
                    going = False
                else:
                    kept.append(one)
        return going

    def _answer(self, asked: "Generator", calls: list[PendingCall]) -> None:
        live = [one for one in calls if one.reply.set_running_or_notify_cancel()]
        if live:
            for one, reply in zip(live, answers(asked, live), strict=True):
                one.reply.set_result(reply)


def answers(asked: "Generator", calls: list[PendingCall]) -> list[Reply]:
    """What a model says to calls together; to halves of them where one, or their number, breaks it.

    What breaks it alone is a failed call. Each batch, and each half, has the whole deadline.
    """
    started = time.monotonic()
    try:
        replies = asked.answer([one.call for one in calls], calls[0].deadline)
        seconds = round(time.monotonic() - started, 4)
        return [reply.model_copy(update={"seconds": seconds}) for reply in replies]
    except Exception as error:  # noqa: BLE001 - a model that breaks is a failed call
        if len(calls) == 1:
            return [broken(f"the model failed: {error}", retry=False)]
    half = len(calls) // 2
    return [*answers(asked, calls[:half]), *answers(asked, calls[half:])]


def together(waiting: list[PendingCall], most: int) -> tuple[list[PendingCall], list[PendingCall]]:
    """The calls to answer at once, with the first of those that wait, and the rest.

    All have equal settings and deadlines.

    Args:
        most: how many there can be, those most like the first, since all are as long as the
            longest and are read as far as the newest; one that has a seed is alone.
    """
    first, deadline = waiting[0].call, waiting[0].deadline
    if first.settings.seed is not None:
        return waiting[:1], waiting[1:]
    begun, length = goes_on(first), said(first)

    def lost(place: int) -> tuple[bool, int]:
        """What is lost where one chat was read before and the other was not, then by lengths."""
        call = waiting[place].call
        return goes_on(call) != begun, abs(said(call) - length)

    alike = [
        place
        for place, pending in enumerate(waiting)
        if (pending.call.settings, pending.deadline) == (first.settings, deadline)
    ]
    chosen = set(sorted(alike, key=lost)[:most])
    now = [one for place, one in enumerate(waiting) if place in chosen]
    return now, [one for place, one in enumerate(waiting) if place not in chosen]


def goes_on(call: ModelCall) -> bool:
    """Whether a call goes on with a chat that was answered before."""
    return any(one.role == "assistant" for one in call.messages)


def said(call: ModelCall) -> int:
    """Characters of all messages of a call."""
    return sum(len(one.content) for one in call.messages)


def token_bytes(model: Any) -> int:
    """Bytes of what a model remembers of a token that it read: a key and a value for each layer."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * width * model.dtype.itemsize)


class Generator:
    """A causal language model with its tokenizer.

    Attributes:
        most: calls that it answers together at most.

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
            model = model.float()  # the same numbers, and sooner
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
        """Calls that are answered together at most, and bytes for what was read of chats."""
        large, small, most = TOGETHER
        if self.model.device.type == "cpu":
            return small if self._small else large, ROOM
        free, _ = self.torch.cuda.mem_get_info()
        chats = free // 4 // (LONG_CHAT * token_bytes(self.model))
        return max(large, min(chats, most)), free // 4

    def answer(self, calls: list[ModelCall], deadline: float) -> list[Reply]:
        """Answer calls with equal settings together.

        Args:
            deadline: seconds after which those that are not finished time out.
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
                self.torch.seed()  # afresh: what is forked is the same for every call
                states = [self._readings.find(*one) for one in zip(calls, asked, strict=True)]
            else:
                self.torch.manual_seed(settings.seed)
                states = []  # so that it depends on nothing else
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
        """The tokens of answers, which may go on behind their ends.

        Args:
            asked: what is answered, in tokens.
            states: what was read of each before; nothing of any, and nothing is kept, if empty.
        """
        settings = calls[0].settings
        tokens = wire(settings, calls[0].model)["max_tokens"]
        inputs = self.tokenizer.pad({"input_ids": asked}, return_tensors="pt")
        inputs = inputs.to(self.model.device)
        lengths = [len(one) for one in asked]
        known = {"past_key_values": joined(states, lengths)} if states and self._keeps else {}
        given = _generation(settings, tokens)
        if self.model.device.type == "cpu":
            given = drawn_at_once(self.model, given)
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
        """Keep what was read, up to the ends of the answers."""
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
        """How many tokens an answer has before its end."""
        return next((place for place, one in enumerate(answer) if one in self._ends), len(answer))

    def _is_finished(self, settings: ModelSettings, answer: Sequence[int]) -> bool:
        """Whether the model ended an answer itself, by an end token or a stop string."""
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
    """The settings by the names that transformers gives them."""
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
