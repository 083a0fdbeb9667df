"""A client for models in this process, each with its own thread.

Waiting calls with equal settings are answered in one batch. A call with a seed is answered in a
batch of its own, because a batch changes the rounding of scores.
"""

import asyncio
import contextlib
import ctypes
import time
from concurrent.futures import Future
from hashlib import sha256
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.failures import broken
from cheaptalk.models.local.generator import SPARE, TOGETHER, Generator
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.usage import characters

PAUSE_HARD = 2
"""OpenMP 5.0 constant: release all resources."""


class PendingCall(NamedTuple):
    """A queued call to a model, with a timeout that starts when processing begins."""

    call: ModelCall
    seed: int
    deadline: float
    reply: "Future[Reply]"


class LocalModels:
    """A client for models loaded into this process, such as ``hf/NAME`` or ``hf/FOLDER``."""

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
        """Answer one call, loading the model on first use, which the timeout excludes.

        Without a seed in its settings, a call's seed is derived from its number.
        """
        sent = wire(call.settings, call.model)
        name = ModelName.parse(call.model).model
        if name not in self._workers:
            self._workers[name] = Worker(name, self._loading)
        worker = self._workers[name]
        problem = await asyncio.wrap_future(worker.loaded)
        if problem is not None:
            return broken(problem, retry=False)
        seed = call.settings.seed
        pending = PendingCall(call, derived(number) if seed is None else seed, deadline, Future())
        worker.queue.put(pending)
        reply = await asyncio.wrap_future(pending.reply)
        return reply.model_copy(update={"sent": sent | (reply.sent or {})})

    def capacity(self, name: str) -> int:
        """Return a model's batch size; before the model is loaded, return the minimum size."""
        worker = self._workers.get(name)
        return TOGETHER[0] if worker is None else worker.batch_size


def derived(number: str) -> int:
    """Return the seed of a call with the given number."""
    return int.from_bytes(sha256(number.encode()).digest()[:4])


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
                generator = SPARE.pop(self.name, None) or Generator(self.name)
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
        replies = generator.answer(
            [call.call for call in calls], [call.seed for call in calls], calls[0].deadline
        )
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

    All calls in a batch have equal settings and timeouts; their schemas may differ. Among them, the
    calls most similar to the first are chosen: padding makes all chats as long as the longest. A
    call with a seed gets a batch of its own.
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
