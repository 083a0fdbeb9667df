"""A server of batch endpoints and fine-tuning over real HTTP, which keeps its own account.

It is the stand-in's; what becomes of a line, and what happens around a request, is a test's to say.
"""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from threading import Thread
from types import TracebackType
from typing import Any

from aiohttp import web

from cheaptalk.mock_server import Batches, make_mock_server
from cheaptalk.mock_server.batches import Batch, Line
from cheaptalk.mock_server.formats import Json
from cheaptalk.mock_server.server import Handler

Fate = Callable[[str, int], str]
"""What becomes of a call, by a digest of it and by how often it came: ``answered``, ``refused``,
``overloaded``, ``wrong``, ``expired``, or ``missing`` in the results though it was answered."""
Before = Callable[[str, web.Request], Awaitable[web.StreamResponse | None]]
"""Told of each step before it is taken, or before its response goes out (``created``)."""
DONE = ("completed", "ended")
"""The states in which a batch has been worked on."""
FORMS = ("response_format", "tools")
"""What of a call asks for an answer's form."""
STEPS = {
    ("POST", "files"): "upload", ("POST", "batches"): "create", ("GET", "batches"): "list",
    ("GET", "{name}"): "look", ("GET", "content"): "results", ("GET", "results"): "results",
    ("POST", "load_lora_adapter"): "adapter",
    ("POST", "jobs"): "create", ("GET", "jobs"): "list", ("GET", "events"): "events",
}  # fmt: skip
"""The steps, by method and the end of the path."""


async def nothing_special(step: str, request: web.Request) -> web.StreamResponse | None:
    return None


class BatchServer(Batches):
    """Use as a context manager.

    Attributes:
        url: where it listens.
        looks: how often a batch is looked at before it has ended.
        batches: all that were submitted, by name.
        billed: the ids of the lines that were answered, and what for each was billed.
        singles: calls that came one by one.
        final: the state in which OpenAI's batches end, by how many there were before.
        takes: what of a call may ask for an answer's form.
    """

    def __init__(
        self,
        looks: int = 1,
        fate: Fate = lambda call, times: "answered",
        before: Before = nothing_special,
        final: Callable[[int], str] = lambda number: "completed",
        takes: Collection[str] = FORMS,
    ) -> None:
        super().__init__(looks)
        self.takes = takes
        self.fate = fate
        self.before = before
        self.final = final
        self.billed: Counter[str] = Counter()
        self.singles = 0
        self._seen: Counter[str] = Counter()
        app = make_mock_server(batches=self, middlewares=[self._watched])
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.01)

    def __enter__(self) -> "BatchServer":
        self._thread.start()
        port = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> int:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        port: int = self._runner.addresses[0][1]
        return port

    @property
    def sizes(self) -> list[int]:
        """How many calls each batch held, in order."""
        return [len(batch["lines"]) for batch in self.batches.values()]

    @web.middleware
    async def _watched(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let a test do something before each step, and before the response to a new batch."""
        resource = request.match_info.route.resource
        end = (resource.canonical if resource else request.path).rpartition("/")[2]
        step = STEPS.get((request.method, end))
        if step is None:
            self.singles += 1
            return await handler(request)
        special = await self.before(step, request)
        if special is not None:
            return special
        said = await handler(request)
        return (step == "create" and await self.before("created", request)) or said

    def add(self, lines: list[Line], metadata: Any, kind: str) -> Batch:
        assert kind == "messages" or len({body["model"] for _, body in lines}) == 1
        final = self.final(len(self.batches))
        batch = super().add(lines, metadata, kind)
        batch["final"] = final
        return batch

    def work(self, batch: Batch) -> None:
        lines = batch["lines"]
        if batch["final"] not in DONE:
            batch["lines"] = []
        super().work(batch)
        batch["lines"] = lines

    def result(self, name: str, body: Json, kind: str) -> Json | None:
        call = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._seen[call] += 1
        fate = self.fate(call, self._seen[call])
        unknown = [one for one in FORMS if one in body and one not in self.takes]
        if unknown:
            fate = f"wrong: {unknown[0]} is not supported"
        if fate in ("answered", "refused", "missing"):
            self.billed[name] += 1
        said = super().result(name, body, kind)
        if fate == "missing" or said is None:
            return None
        if kind == "messages":
            return said | {"result": messages_result(fate, said["result"])}
        return said | chat_line(fate, said)

    def joined(self, lines: Sequence[str]) -> bytes:
        return super().joined([*lines[:1], "{ no line at all", *lines[1:]])

    def shown(self, batch: Batch) -> Json:
        said = super().shown(batch)
        if "results" in batch and batch["kind"] == "chat":
            said["status"], _, code = batch["final"].partition(" ")
            if said["status"] not in DONE:
                said["request_counts"]["completed"] = 0
            if said["status"] == "failed":
                said["errors"] = {"data": [{"code": code, "message": f"no batch: {code}"}]}
        return said


def chat_line(fate: str, line: Json) -> Json:
    """What OpenAI's result files say of a call, from what they say of one that is answered."""
    if fate == "expired":
        error = {"code": "batch_expired", "message": "not reached in time"}
        return {"response": None, "error": error}
    if fate.startswith(("overloaded", "wrong")):
        error = {"message": fate, "code": fate.partition(":")[0]}
        status = 503 if fate == "overloaded" else 400
        return {"response": {"status_code": status, "body": {"error": error}}}
    if fate == "refused":
        refused = {"role": "assistant", "content": None, "refusal": "No."}
        line["response"]["body"]["choices"][0]["message"] = refused
    return line


def messages_result(fate: str, result: Json) -> Json:
    """What Anthropic's results say of a call, from what they say of one that is answered."""
    if fate == "expired":
        return {"type": "expired"}
    if fate.startswith(("overloaded", "wrong")):
        kind = "overloaded_error" if fate == "overloaded" else "invalid_request_error"
        error = {"type": kind, "message": fate}
        return {"type": "errored", "error": {"type": "error", "error": error}}
    if fate == "refused":
        result["message"] |= {"content": [], "stop_reason": "refusal"}
    return result
