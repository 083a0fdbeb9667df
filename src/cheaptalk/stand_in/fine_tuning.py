"""OpenAI's fine-tuning endpoint: a job is looked at a few times, then its model has a name."""

import json
from collections.abc import Sequence
from typing import Any

from aiohttp import web

from cheaptalk.stand_in.formats import Json


class FineTuning:
    """The endpoint, and what was submitted to it. Nothing is learned.

    Args:
        files: what was uploaded, by name.
        looks: how often a job is looked at before it has ended.

    Attributes:
        jobs: all that were submitted, by name: the request, ``looks``, and how it ``ends``.
        ends: the status in which the next jobs end.
    """

    def __init__(self, files: dict[str, bytes], looks: int = 1) -> None:
        self.files = files
        self.looks = looks
        self.ends = "succeeded"
        self.jobs: dict[str, dict[str, Any]] = {}

    def routes(self) -> list[web.RouteDef]:
        """What arrives where."""
        return [
            web.post("/v1/fine_tuning/jobs", self._create),
            web.get("/v1/fine_tuning/jobs", self._list),
            web.get("/v1/fine_tuning/jobs/{name}", self._look),
            web.get("/v1/fine_tuning/jobs/{name}/events", self._events),
        ]

    async def _create(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        wrong = self._wrong(wanted)
        if wrong:
            return web.json_response({"error": {"message": wrong}}, status=400)
        name = f"ftjob-{len(self.jobs)}"
        self.jobs[name] = {**wanted, "id": name, "looks": 0, "ends": self.ends}
        return web.json_response(self._shown(self.jobs[name]))

    def _wrong(self, wanted: Json) -> str | None:
        """What is wrong with a request, if anything."""
        file = self.files.get(str(wanted.get("training_file")))
        if file is None:
            return f"no such file: {wanted.get('training_file')}"
        try:
            chats = [json.loads(line)["messages"] for line in file.decode().split("\n")]
        except (LookupError, TypeError, ValueError):
            return "the training file is not made of chats"
        if any(not chat or chat[-1]["role"] != "assistant" for chat in chats):
            return "the last message of each chat must be the assistant's"
        return None if len(chats) >= 10 else f"{len(chats)} chats are too few: 10 are needed"

    def _shown(self, job: Json) -> Json:
        """What a provider says of a job."""
        shown: Json = {
            key: job[key] for key in ("id", "model", "training_file", "seed") if key in job
        }
        shown |= {"object": "fine_tuning.job", "metadata": job.get("metadata"), "error": None}
        if job["looks"] <= self.looks:
            status = "validating_files" if job["looks"] < self.looks else "running"
            return shown | {"status": status, "fine_tuned_model": None}
        number = job["id"].removeprefix("ftjob-")
        made = ":".join(["ft", job["model"], "stand-in", job.get("suffix") or "", number])
        if job["ends"] == "succeeded":
            return shown | {"status": "succeeded", "fine_tuned_model": made}
        error = {"message": "the training was stopped"} if job["ends"] == "failed" else None
        return shown | {"status": job["ends"], "fine_tuned_model": None, "error": error}

    async def _list(self, request: web.Request) -> web.Response:
        newest = [self._shown(one) for one in reversed(self.jobs.values())]
        return paged(newest, request.query.get("after"))

    async def _look(self, request: web.Request) -> web.Response:
        job = self.jobs.get(request.match_info["name"])
        if job is None:
            return web.json_response({"error": {"message": "no such job"}}, status=404)
        job["looks"] += 1
        return web.json_response(self._shown(job))

    async def _events(self, request: web.Request) -> web.Response:
        job = self.jobs[request.match_info["name"]]
        told = {"step": job["looks"], "total_steps": self.looks + 1, "train_loss": 1.0}
        data = [
            {"id": "event-1", "type": "metrics", "data": told},
            {"id": "event-0", "type": "message", "data": {}},
        ]
        return web.json_response({"data": data, "has_more": False})


def paged(newest: Sequence[Json], last: str | None) -> web.Response:
    """A page of a list, two entries long, behind the one that is named."""
    start = next((n + 1 for n, one in enumerate(newest) if one["id"] == last), 0)
    page = newest[start : start + 2]
    return web.json_response({"data": page, "has_more": start + 2 < len(newest)})
