"""A server of OpenAI's and Anthropic's batch endpoints over real HTTP, which keeps its own account.

    python -m tests.batch_server --port 8130

It answers single calls too, alike. A batch is looked at a few times before it has ended; its
results come in another order. What becomes of a line, and what happens around a request, is a
test's to say.
"""

import argparse
import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from email import message_from_bytes
from threading import Event, Thread
from types import TracebackType
from typing import Any

from aiohttp import web

from tests.model_server import answer, completion

Fate = Callable[[str, int], str]
"""What becomes of a call, by a digest of it and by how often it came: ``answered``, ``refused``,
``overloaded``, ``wrong``, ``expired``, or ``missing`` in the results though it was answered."""
Before = Callable[[str, web.Request], Awaitable[web.StreamResponse | None]]
"""Told of each step before it is taken, or before its response goes out (``created``)."""
Line = tuple[str, dict[str, Any]]
FORMS = ("response_format", "tools")
"""What of a call asks for an answer's form."""
DONE = ("completed", "ended")
"""The states in which a batch has been worked on."""


async def nothing_special(step: str, request: web.Request) -> web.StreamResponse | None:
    return None


class BatchServer:
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
        port: int = 0,
        takes: Collection[str] = FORMS,
    ) -> None:
        self.takes = takes
        self.port = port
        self.looks = looks
        self.fate = fate
        self.before = before
        self.final = final
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.billed: Counter[str] = Counter()
        self.singles = 0
        self._seen: Counter[str] = Counter()
        app = web.Application(client_max_size=2**28)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/messages", self._message),
                web.post("/v1/files", self._upload),
                web.get("/v1/files/{name}/content", self._content),
                web.post("/v1/batches", self._create),
                web.get("/v1/batches", self._list),
                web.get("/v1/batches/{name}", self._look),
                web.post("/v1/messages/batches", self._create_messages),
                web.get("/v1/messages/batches", self._list),
                web.get("/v1/messages/batches/{name}", self._look),
                web.get("/v1/messages/batches/{name}/results", self._results),
            ]
        )
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
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        port: int = self._runner.addresses[0][1]
        return port

    @property
    def sizes(self) -> list[int]:
        """How many calls each batch held, in order."""
        return [len(batch["lines"]) for batch in self.batches.values()]

    # Single calls

    async def _chat(self, request: web.Request) -> web.Response:
        self.singles += 1
        return web.json_response(chat_of(await request.json()))

    async def _message(self, request: web.Request) -> web.Response:
        self.singles += 1
        return web.json_response(message_of(await request.json()))

    # Batches

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("upload", request)
        if special is not None:
            return special
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        form = message_from_bytes(head + await request.read())
        purpose, file = (part.get_payload(decode=True) for part in form.walk() if part is not form)
        assert purpose == b"batch"
        assert isinstance(file, bytes)
        name = f"file-{len(self.files)}"
        self.files[name] = file
        return web.json_response({"id": name})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("create", request)
        if special is not None:
            return special
        wanted = await request.json()
        lines = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines()]
        assert {line["url"] for line in lines} == {wanted["endpoint"]} == {"/v1/chat/completions"}
        assert len({line["body"]["model"] for line in lines}) == 1
        batch = self._add(
            [(line["custom_id"], line["body"]) for line in lines], wanted["metadata"], "chat"
        )
        return await self.before("created", request) or web.json_response(self._shown(batch))

    async def _create_messages(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("create", request)
        if special is not None:
            return special
        assert request.headers["anthropic-version"]
        lines = (await request.json())["requests"]
        batch = self._add([(line["custom_id"], line["params"]) for line in lines], {}, "messages")
        return await self.before("created", request) or web.json_response(self._shown(batch))

    def _add(self, lines: list[Line], metadata: dict[str, str], kind: str) -> dict[str, Any]:
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name, "lines": lines, "metadata": metadata, "kind": kind, "looks": 0, "failed": 0,
            "made": datetime.now(UTC).isoformat(), "final": self.final(len(self.batches)),
        }  # fmt: skip
        return self.batches[name]

    async def _list(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("list", request)
        if special is not None:
            return special
        newest = [self._shown(self._looked_at(one)) for one in reversed(self.batches.values())]
        last = request.query.get("after") or request.query.get("after_id")
        start = next((n + 1 for n, one in enumerate(newest) if one["id"] == last), 0)
        page = newest[start : start + 2]
        return web.json_response({"data": page, "has_more": start + 2 < len(newest)})

    async def _look(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("look", request)
        if special is not None:
            return special
        batch = self.batches.get(request.match_info["name"])
        if batch is None:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        return web.json_response(self._shown(self._looked_at(batch)))

    async def _results(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("results", request)
        if special is not None:
            return special
        return web.Response(body=self.batches[request.match_info["name"]]["results"])

    async def _content(self, request: web.Request) -> web.StreamResponse:
        special = await self.before("results", request)
        if special is not None:
            return special
        return web.Response(body=self.files[request.match_info["name"]])

    def _looked_at(self, batch: dict[str, Any]) -> dict[str, Any]:
        batch["looks"] += 1
        if batch["looks"] > self.looks and "results" not in batch:
            self._work(batch)
        return batch

    def _work(self, batch: dict[str, Any]) -> None:
        """Do what a batch asks for; its results come in another order."""
        made: dict[bool, list[str]] = {True: [], False: []}
        lines = batch["lines"] if batch["final"] in DONE else []
        for number, (name, body) in enumerate(reversed(lines)):
            said = self._answer(name, body, batch["kind"])
            failed = said is not None and not worked(said)
            batch["failed"] += failed
            if said is not None:
                made[failed].append(json.dumps(said))
            if number == 0:
                made[False].append("{ no line at all")
        if batch["kind"] == "messages":
            batch["results"] = "\n".join(made[False] + made[True]).encode()
            return
        batch["results"] = b""
        for key, what in (("output_file_id", made[False]), ("error_file_id", made[True])):
            if what:
                batch[key] = f"file-{len(self.files)}"
                self.files[batch[key]] = "\n".join(what).encode()

    def _answer(self, name: str, body: dict[str, Any], kind: str) -> dict[str, Any] | None:
        call = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._seen[call] += 1
        fate = self.fate(call, self._seen[call])
        unknown = [one for one in FORMS if one in body and one not in self.takes]
        if unknown:
            fate = f"wrong: {unknown[0]} is not supported"
        if fate in ("answered", "refused", "missing"):
            self.billed[name] += 1
        if fate == "missing":
            return None
        if kind == "messages":
            return {"custom_id": name, "result": messages_result(fate, body)}
        said = chat_line(fate, body)
        return {"id": f"line-{name}", "custom_id": name} | said

    def _shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        total, ended, failed = len(batch["lines"]), "results" in batch, batch["failed"]
        done = total if ended and batch["final"] in DONE else 0
        if batch["kind"] == "messages":
            counts = {"processing": total - done, "succeeded": done - failed}
            return {
                "id": batch["id"],
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts | {"errored": failed, "canceled": 0, "expired": 0},
                "created_at": batch["made"],
            }
        going = "validating" if batch["looks"] <= 1 else "in_progress"
        files = ("output_file_id", "error_file_id")
        shown: dict[str, Any] = {key: batch[key] for key in files if key in batch}
        if ended and batch["final"].startswith("failed"):
            code = batch["final"].partition(" ")[2]
            shown["errors"] = {"data": [{"code": code, "message": f"no batch: {code}"}]}
        return shown | {
            "id": batch["id"],
            "status": batch["final"].partition(" ")[0] if ended else going,
            "metadata": batch["metadata"],
            "created_at": int(datetime.fromisoformat(batch["made"]).timestamp()),
            "request_counts": {"total": total, "completed": done - failed, "failed": failed},
        }


def chat_of(body: dict[str, Any]) -> dict[str, Any]:
    """A completion in the chat format."""
    return completion(body, answer(body["messages"]))


def message_of(body: dict[str, Any]) -> dict[str, Any]:
    """An answer in the messages format."""
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    messages = [*system, *body["messages"]]
    text = answer(messages)
    said = completion({"model": body["model"], "messages": messages}, text)
    content: dict[str, Any] = {"type": "text", "text": text}
    if body.get("tools"):
        given = json.loads(text[text.find("{") : text.rfind("}") + 1])
        content = {"type": "tool_use", "name": body["tools"][0]["name"], "input": given}
    return {
        "id": "msg_1",
        "type": "message",
        "model": said["model"],
        "content": [content],
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": said["usage"]["prompt_tokens"],
            "output_tokens": said["usage"]["completion_tokens"],
        },
    }


def worked(said: dict[str, Any]) -> bool:
    """Whether a line of results holds an answer."""
    if "result" in said:
        return bool(said["result"]["type"] == "succeeded")
    return said["error"] is None and said["response"]["status_code"] == 200


def chat_line(fate: str, body: dict[str, Any]) -> dict[str, Any]:
    """What OpenAI's result files say of a call."""
    if fate == "expired":
        error = {"code": "batch_expired", "message": "not reached in time"}
        return {"response": None, "error": error}
    if fate.startswith(("overloaded", "wrong")):
        error = {"message": fate, "code": fate.partition(":")[0]}
        status = 503 if fate == "overloaded" else 400
        return {"response": {"status_code": status, "body": {"error": error}}, "error": None}
    said = chat_of(body)
    if fate == "refused":
        said["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "No."}
    return {"response": {"status_code": 200, "body": said}, "error": None}


def messages_result(fate: str, body: dict[str, Any]) -> dict[str, Any]:
    """What Anthropic's results say of a call."""
    if fate == "expired":
        return {"type": "expired"}
    if fate.startswith(("overloaded", "wrong")):
        kind = "overloaded_error" if fate == "overloaded" else "invalid_request_error"
        error = {"type": kind, "message": fate}
        return {"type": "errored", "error": {"type": "error", "error": error}}
    said = message_of(body)
    if fate == "refused":
        said |= {"content": [], "stop_reason": "refusal"}
    return {"type": "succeeded", "message": said}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8130)
    parser.add_argument("--looks", type=int, default=1)
    chosen = parser.parse_args()
    with BatchServer(looks=chosen.looks, port=chosen.port):
        Event().wait()
