"""Batch endpoints of OpenAI and Anthropic, and fine-tuning; jobs end after a few polls."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.mock_models import formats
from cheaptalk.mock_models.answers import Answerer, answer
from cheaptalk.mock_models.formats import Json


class FineTuning:
    """Fine-tuning endpoint of the mock server, whose jobs train nothing.

    A job ends after ``looks`` polls with the status ``ends``.
    """

    def __init__(self, files: dict[str, bytes], looks: int = 1) -> None:
        self.files = files
        self.looks = looks
        self.ends = "succeeded"
        self.jobs: dict[str, dict[str, Any]] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/fine_tuning/jobs", self._create),
            web.get("/v1/fine_tuning/jobs", self._list),
            web.get("/v1/fine_tuning/jobs/{name}", self._look),
            web.get("/v1/fine_tuning/jobs/{name}/events", self._events),
        ]

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        wrong = self._wrong(body)
        if wrong:
            return web.json_response({"error": {"message": wrong}}, status=400)
        name = f"ftjob-{len(self.jobs)}"
        self.jobs[name] = {**body, "id": name, "looks": 0, "ends": self.ends}
        return web.json_response(self._shown(self.jobs[name]))

    def _wrong(self, body: Json) -> str | None:
        file = self.files.get(str(body.get("training_file")))
        if file is None:
            return f"no such file: {body.get('training_file')}"
        try:
            chats = [json.loads(line)["messages"] for line in file.decode().split("\n")]
        except (LookupError, TypeError, ValueError):
            return "the training file does not contain chats; expected JSON lines with messages"
        if any(not chat or chat[-1]["role"] != "assistant" for chat in chats):
            return "the last message of each chat must be the assistant's"
        return None if len(chats) >= 10 else f"{len(chats)} chats are too few: 10 are needed"

    def _shown(self, job: Json) -> Json:
        fields: Json = {
            key: job[key] for key in ("id", "model", "training_file", "seed") if key in job
        }
        fields |= {"object": "fine_tuning.job", "metadata": job.get("metadata"), "error": None}
        if job["looks"] <= self.looks:
            status = "validating_files" if job["looks"] < self.looks else "running"
            return fields | {"status": status, "fine_tuned_model": None}
        number = job["id"].removeprefix("ftjob-")
        model = ":".join(["ft", job["model"], "mock", job.get("suffix") or "", number])
        if job["ends"] == "succeeded":
            return fields | {"status": "succeeded", "fine_tuned_model": model}
        error = {"message": "the training was stopped"} if job["ends"] == "failed" else None
        return fields | {"status": job["ends"], "fine_tuned_model": None, "error": error}

    async def _list(self, request: web.Request) -> web.Response:
        newest = [self._shown(job) for job in reversed(self.jobs.values())]
        return paged(newest, request.query.get("after"))

    async def _look(self, request: web.Request) -> web.Response:
        job = self.jobs.get(request.match_info["name"])
        if job is None:
            return web.json_response({"error": {"message": "no such job"}}, status=404)
        job["looks"] += 1
        return web.json_response(self._shown(job))

    async def _events(self, request: web.Request) -> web.Response:
        job = self.jobs[request.match_info["name"]]
        metrics = {"step": job["looks"], "total_steps": self.looks + 1, "train_loss": 1.0}
        data = [
            {"id": "event-1", "type": "metrics", "data": metrics},
            {"id": "event-0", "type": "message", "data": {}},
        ]
        return web.json_response({"data": data, "has_more": False})


def paged(newest: Sequence[Json], last: str | None) -> web.Response:
    """Return the next page of a list: the two entries after the given one."""
    start = next((n + 1 for n, entry in enumerate(newest) if entry["id"] == last), 0)
    page = newest[start : start + 2]
    return web.json_response({"data": page, "has_more": start + 2 < len(newest)})


Batch: TypeAlias = dict[str, Any]
"""A batch: its ``id``, ``kind`` (``chat`` or ``messages``), ``lines``, ``metadata``, creation time
(``made``), number of polls (``looks``), ``failed`` lines, and once it has ended its ``results``."""

Line: TypeAlias = tuple[str, Json]
"""A call in a batch: its id and the body of its request."""


class Batches:
    """Batch endpoints of the mock server, with the submitted batches and files by name."""

    def __init__(self, looks: int = 1, answerer: Answerer = answer) -> None:
        self.looks = looks
        self.answerer = answerer
        self.batches: dict[str, Batch] = {}
        self.files: dict[str, bytes] = {}
        self.fine_tuning = FineTuning(self.files, looks)

    def routes(self) -> list[web.RouteDef]:
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
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "kind": kind,
            "lines": lines,
            "metadata": metadata,
            "looks": 0,
            "failed": 0,
            "made": datetime.now(UTC).isoformat(),
        }
        return self.batches[name]

    def result(self, name: str, body: Json, kind: str) -> Json | None:
        """Return the result of one call in a batch, or None to omit it."""
        respond = formats.messages if kind == "messages" else formats.chat
        status, data = formats.response(respond, json.dumps(body), self.answerer)
        if kind == "messages":
            result: Json = {"type": "succeeded", "message": data}
            if status != 200:
                result = {"type": "errored", "error": {"type": "error", **data}}
            return {"custom_id": name, "result": result}
        response = {"status_code": status, "body": data}
        return {"id": f"line-{name}", "custom_id": name, "response": response, "error": None}

    def work(self, batch: Batch) -> None:
        """Answer all calls in a batch, and store the results in a different order."""
        results: dict[bool, list[str]] = {True: [], False: []}
        for name, body in reversed(batch["lines"]):
            answer = self.result(name, body, batch["kind"])
            if answer is not None:
                failed = not _succeeded(answer)
                batch["failed"] += failed
                results[failed].append(json.dumps(answer))
        if batch["kind"] == "messages":
            batch["results"] = self.joined(results[False] + results[True])
            return
        batch["results"] = b""
        for key, lines in (("output_file_id", results[False]), ("error_file_id", results[True])):
            if lines:
                batch[key] = self._kept(self.joined(lines))

    def joined(self, lines: Sequence[str]) -> bytes:
        return "\n".join(lines).encode()

    def shown(self, batch: Batch) -> Json:
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
            for part in form.walk()
            if part is not form
        }
        file = parts["file"]
        assert isinstance(file, bytes)
        return web.json_response({"id": self._kept(file)})

    def _kept(self, file: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = file
        return name

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        read = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        lines = [(line["custom_id"], line["body"]) for line in read]
        return web.json_response(self.shown(self.add(lines, body.get("metadata"), "chat")))

    async def _create_messages(self, request: web.Request) -> web.Response:
        requests = (await request.json())["requests"]
        lines = [(line["custom_id"], line["params"]) for line in requests]
        return web.json_response(self.shown(self.add(lines, {}, "messages")))

    async def _list(self, request: web.Request) -> web.Response:
        newest = [self.shown(self._looked_at(batch)) for batch in reversed(self.batches.values())]
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


def _succeeded(result: Json) -> bool:
    if "result" in result:
        return bool(result["result"]["type"] == "succeeded")
    return result["error"] is None and result["response"]["status_code"] == 200
