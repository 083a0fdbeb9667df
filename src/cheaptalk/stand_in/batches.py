"""OpenAI's and Anthropic's batch endpoints: a batch is looked at a few times, then it has ended."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.stand_in import formats
from cheaptalk.stand_in.answers import Answerer, answer
from cheaptalk.stand_in.fine_tuning import FineTuning, paged
from cheaptalk.stand_in.formats import Json

Batch: TypeAlias = dict[str, Any]
"""A batch: its ``id``, ``kind`` (``chat`` or ``messages``), ``lines``, ``metadata``, when it was
``made``, how many ``looks`` it had, its ``failed`` lines, and once it has ended its ``results``."""

Line: TypeAlias = tuple[str, Json]
"""A call in a batch: its id and the body of its request."""


class Batches:
    """The endpoints, and what was submitted to them.

    Args:
        looks: how often a batch is looked at before it has ended.
        answerer: what answers.

    Attributes:
        batches: all that were submitted, by name.
        files: what was uploaded, and results, by name.
        fine_tuning: the endpoint that learns from files.
    """

    def __init__(self, looks: int = 1, answerer: Answerer = answer) -> None:
        self.looks = looks
        self.answerer = answerer
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.fine_tuning = FineTuning(self.files, looks)

    def routes(self) -> list[web.RouteDef]:
        """What arrives where."""
        return [
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

    def add(self, lines: list[Line], metadata: Any, kind: str) -> Batch:
        """Take in a batch."""
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name, "kind": kind, "lines": lines, "metadata": metadata, "looks": 0, "failed": 0,
            "made": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        return self.batches[name]

    def result(self, name: str, body: Json, kind: str) -> Json | None:
        """What the results say of a line; None where they say nothing."""
        if kind == "messages":
            said = formats.messages(body, self.answerer)
            return {"custom_id": name, "result": {"type": "succeeded", "message": said}}
        response = {"status_code": 200, "body": formats.chat(body, self.answerer)}
        return {"id": f"line-{name}", "custom_id": name, "response": response, "error": None}

    def work(self, batch: Batch) -> None:
        """Do what a batch asks for; its results come in another order."""
        made: dict[bool, list[str]] = {True: [], False: []}
        for name, body in reversed(batch["lines"]):
            said = self.result(name, body, batch["kind"])
            if said is not None:
                failed = not _succeeded(said)
                batch["failed"] += failed
                made[failed].append(json.dumps(said))
        if batch["kind"] == "messages":
            batch["results"] = self.joined(made[False] + made[True])
            return
        batch["results"] = b""
        for key, lines in (("output_file_id", made[False]), ("error_file_id", made[True])):
            if lines:
                batch[key] = self._kept(self.joined(lines))

    def joined(self, lines: Sequence[str]) -> bytes:
        """A file of results."""
        return "\n".join(lines).encode()

    def shown(self, batch: Batch) -> Json:
        """What a provider says of a batch."""
        total, failed, ended = len(batch["lines"]), batch["failed"], "results" in batch
        done = total if ended else 0
        if batch["kind"] == "messages":
            counts = {"processing": total - done, "succeeded": done - failed, "errored": failed}
            return {
                "id": batch["id"],
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts | {"canceled": 0, "expired": 0},
                "created_at": batch["made"],
            }
        going = "validating" if batch["looks"] <= 1 else "in_progress"
        files = {key: batch[key] for key in ("output_file_id", "error_file_id") if key in batch}
        return files | {
            "id": batch["id"],
            "status": "completed" if ended else going,
            "metadata": batch["metadata"],
            "created_at": int(datetime.fromisoformat(batch["made"]).timestamp()),
            "request_counts": {"total": total, "completed": done - failed, "failed": failed},
        }

    async def _upload(self, request: web.Request) -> web.Response:
        head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
        form = message_from_bytes(head + await request.read())
        parts = {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in form.walk() if part is not form
        }  # fmt: skip
        file = parts["file"]
        assert isinstance(file, bytes)
        return web.json_response({"id": self._kept(file)})

    def _kept(self, file: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = file
        return name

    async def _create(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        read = [json.loads(line) for line in self.files[wanted["input_file_id"]].splitlines()]
        lines = [(line["custom_id"], line["body"]) for line in read]
        return web.json_response(self.shown(self.add(lines, wanted.get("metadata"), "chat")))

    async def _create_messages(self, request: web.Request) -> web.Response:
        wanted = (await request.json())["requests"]
        lines = [(line["custom_id"], line["params"]) for line in wanted]
        return web.json_response(self.shown(self.add(lines, {}, "messages")))

    async def _list(self, request: web.Request) -> web.Response:
        newest = [self.shown(self._looked_at(one)) for one in reversed(self.batches.values())]
        return paged(newest, request.query.get("after") or request.query.get("after_id"))

    async def _look(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["name"])
        if batch is None:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        return web.json_response(self.shown(self._looked_at(batch)))

    def _looked_at(self, batch: Batch) -> Batch:
        batch["looks"] += 1
        if batch["looks"] > self.looks and "results" not in batch:
            self.work(batch)
        return batch

    async def _results(self, request: web.Request) -> web.Response:
        return web.Response(body=self.batches[request.match_info["name"]]["results"])

    async def _content(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["name"]])


def _succeeded(said: Json) -> bool:
    """Whether a line of results holds an answer."""
    if "result" in said:
        return bool(said["result"]["type"] == "succeeded")
    return said["error"] is None and said["response"]["status_code"] == 200
