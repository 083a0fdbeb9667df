"""A client for models in this process, each with its own thread."""

import asyncio
import contextlib
import ctypes
from concurrent.futures import Future
from hashlib import sha256
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.failures import broken
from cheaptalk.models.local.batch import Batch, PendingCall
from cheaptalk.models.local.generator import LOADED, TOGETHER, Generator
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.settings import wire

PAUSE_HARD = 2
"""OpenMP 5.0 constant: release all resources."""


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
                generator = LOADED.pop(self.name, None) or Generator(self.name)
        except Exception as error:  # noqa: BLE001 - reported, not raised
            self.loaded.set_result(f"the model cannot be loaded: {error}")
            return
        self.batch_size = generator.most
        self.loaded.set_result(None)
        batch = Batch(generator)
        waiting: list[PendingCall] = []
        going = True
        while going or waiting or batch:
            with contextlib.suppress(Empty):
                while going and (call := self.queue.get(block=not waiting and not batch)):
                    waiting.append(call)
                going = False
            batch.advance(waiting)
