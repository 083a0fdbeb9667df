"""OpenAI's fine-tuning endpoint, whose jobs end after a few polls."""

import json
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from cheaptalk.mock_server.formats import Json


class FineTuning:
    """Fine-tuning endpoint of the mock server, whose jobs train nothing.

    Args:
        files: uploaded files by name.
        looks: number of polls before a job ends.

    Attributes:
        jobs: submitted jobs by name: the request, ``looks``, and the final status ``ends``.
        ends: the final status of new jobs.
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
