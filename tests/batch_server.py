"""A mock server of batch and fine-tuning endpoints over HTTP, with its own accounting.

Tests decide the result of each call, and can intercept each request.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from aiohttp import web

from cheaptalk.mock_models import Batches, make_mock_server
from cheaptalk.mock_models.batches import Batch, Line
from cheaptalk.mock_models.formats import Json
from cheaptalk.mock_models.server import Handler
from tests.fakes import Served

Fate = Callable[[str, int], str]
"""The result of a call, by its digest and number of occurrences: ``answered``, ``refused``,
``overloaded``, ``wrong``, ``expired``, ``cancelled``, or ``missing`` (answered, but absent from the
results)."""
Before = Callable[[str, web.Request], Awaitable[web.StreamResponse | None]]
"""Called before each step, or before the response to a new batch (``created``)."""
DONE = ("completed", "ended")
"""The states of a completed batch."""
FORMS = ("response_format", "tools")
"""The fields of a call that request structured output."""
STEPS = {
    ("POST", "files"): "upload",
    ("GET", "{name}"): "look",
    ("GET", "content"): "results",
    ("GET", "results"): "results",
    ("POST", "load_lora_adapter"): "adapter",
    ("GET", "events"): "events",
    **{("POST", name): "create" for name in ("batches", "jobs")},
    **{("GET", name): "list" for name in ("batches", "jobs")},
}
"""The steps, by method and the end of the path."""


async def nothing_special(step: str, request: web.Request) -> web.StreamResponse | None:
    return None


class BatchServer(Batches, Served):
    """Use as a context manager.

    Attributes:
        looks: number of polls before a batch ends.
        batches: the submitted batches, by name.
        billed: how often each line was billed, by its id.
        singles: number of calls outside batches.
        final: the final state of an OpenAI batch, by the number of earlier batches.
        takes: the accepted fields for structured output.
    """

    def __init__(
        self,
        looks: int = 1,
        fate: Fate = lambda call, times: "answered",
        before: Before = nothing_special,
        final: Callable[[int], str] = lambda number: "completed",
        takes: Collection[str] = FORMS,
    ) -> None:
        Batches.__init__(self, looks)
        self.takes = takes
        self.fate = fate
        self.before = before
        self.final = final
        self.billed: Counter[str] = Counter()
        self.singles = 0
        self._seen: Counter[str] = Counter()
        Served.__init__(self, make_mock_server(batches=self, middlewares=[self._watched]))

    @property
    def sizes(self) -> list[int]:
        """The number of calls of each batch, in order."""
        return [len(batch["lines"]) for batch in self.batches.values()]

    def results_of(self, request: web.Request) -> bytes:
        """Return the result file that a request downloads."""
        name = request.match_info["name"]
        results: bytes = self.files.get(name) or self.batches[name]["results"]
        return results

    @web.middleware
    async def _watched(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Call the test's hook before each step, and before the response to a new batch."""
        resource = request.match_info.route.resource
        end = (resource.canonical if resource else request.path).rpartition("/")[2]
        step = STEPS.get((request.method, end))
        if step is None:
            self.singles += 1
            return await handler(request)
        special = await self.before(step, request)
        if special is not None:
            return special
        response = await handler(request)
        return (step == "create" and await self.before("created", request)) or response

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
        unknown = [field for field in FORMS if field in body and field not in self.takes]
        if unknown:
            fate = f"wrong: {unknown[0]} is not supported"
        if fate in ("answered", "refused", "missing"):
            self.billed[name] += 1
        line = super().result(name, body, kind)
        if fate == "missing" or line is None:
            return None
        if kind == "messages":
            return line | {"result": messages_result(fate, line["result"])}
        return line | chat_line(fate, line)

    def joined(self, lines: Sequence[str]) -> bytes:
        return super().joined([*lines[:1], "{ no line at all", *lines[1:]])

    def shown(self, batch: Batch) -> Json:
        body = super().shown(batch)
        if "results" in batch and batch["kind"] == "chat":
            body["status"], _, code = batch["final"].partition(" ")
            if body["status"] not in DONE:
                body["request_counts"]["completed"] = 0
            if body["status"] == "failed":
                body["errors"] = {"data": [{"code": code, "message": f"no batch: {code}"}]}
        return body


def chat_line(fate: str, line: Json) -> Json:
    """Return the line of OpenAI's result file, given the line of an answered call."""
    if fate in ("expired", "cancelled"):
        error = {"code": f"batch_{fate}", "message": "not reached in time"}
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
    """Return Anthropic's result of a call, given the result of an answered call."""
    if fate in ("expired", "cancelled"):
        return {"type": fate.replace("cancelled", "canceled")}
    if fate.startswith(("overloaded", "wrong")):
        kind = "overloaded_error" if fate == "overloaded" else "invalid_request_error"
        error = {"type": kind, "message": fate}
        return {"type": "errored", "error": {"type": "error", "error": error}}
    if fate == "refused":
        result["message"] |= {"content": [], "stop_reason": "refusal"}
    return result
