"""Client for OpenAI's batch endpoint: JSON Lines files of calls, results and errors.

See the `API reference <https://platform.openai.com/docs/api-reference/batch>`_.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.batch.protocol import CLOCKS, BatchLine, Look, Results
from cheaptalk.models.batch.transport import HttpBatches
from cheaptalk.models.calls import Reply
from cheaptalk.models.http.endpoint import Listed, Page
from cheaptalk.models.http.failures import broken, complaint
from cheaptalk.models.http.openai import body, read
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.structured_output import ways

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
FULL = frozenset({"token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded"})
"""Error codes of a batch that the provider will accept after other batches have ended."""
TAG = "cheaptalk"
"""Metadata key of the tag that identifies a batch."""


class Counts(Struct):
    """Numbers of answered and failed calls in a batch."""

    completed: int = 0
    failed: int = 0


class Problem(Struct):
    """One error of a batch."""

    code: str | None = None
    message: str | None = None


class Problems(Struct):
    """All errors of a batch."""

    data: list[Problem] | None = None


class OpenAIBatch(Listed):
    """A batch as described by the provider."""

    status: str = "unknown"
    created_at: float | None = None
    metadata: dict[str, Any] | None = None
    request_counts: Counts | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Problems | None = None


class OpenAIBatches(HttpBatches):
    """Client for batches of OpenAI chat completions."""

    def __init__(self, name: ModelName) -> None:
        super().__init__(name, {})
        self._uploaded: dict[str, str] = {}  # uploaded files of batches not yet accepted, by tag

    def line(self, line: BatchLine) -> dict[str, Any]:
        return {
            "custom_id": line.id,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": body(line.call, ways(line.call)[0]),
        }

    async def submit(self, tag: str, lines: Sequence[BatchLine]) -> str:
        if tag not in self._uploaded:
            file = b"\n".join(msgspec.json.encode(self.line(line)) for line in lines)
            self._uploaded[tag] = await self.upload(file, tag, "batch")
        request = {
            "input_file_id": self._uploaded[tag],
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {TAG: tag},
        }
        batch = await self.post(OpenAIBatch, "batches", json=request)
        del self._uploaded[tag]
        return batch.id

    async def find(self, tag: str, lines: Sequence[BatchLine], since: float) -> str | None:
        async for batch in self.listed(Page[OpenAIBatch], "batches", "after"):
            if batch.created_at is not None and batch.created_at < since - CLOCKS:
                return None
            if (batch.metadata or {}).get(TAG) == tag:
                return batch.id
        return None

    async def look(self, name: str) -> Look:
        batch = await self.get(OpenAIBatch, f"batches/{name}")
        counts = batch.request_counts or Counts()
        return Look(batch.status, batch.status in ENDED, counts.completed + counts.failed)

    async def results(self, name: str) -> Results:
        batch = await self.get(OpenAIBatch, f"batches/{name}")
        failed, answered = [
            self.clean(_read(await self.lines(f"files/{file}/content"))) if file else {}
            for file in (batch.error_file_id, batch.output_file_id)
        ]
        codes = {problem.code for problem in _problems(batch)}
        full = batch.status == "failed" and bool(codes) and codes <= FULL
        missing = (batch.request_counts or Counts()).completed - len(answered)
        return Results(failed | answered, _default_reply(batch), full, max(0, missing))


def _read(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Reply]]:
    for line in lines:
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict) and isinstance(line.get("custom_id"), str):
            yield line["custom_id"], _reply(response)
        elif isinstance(error, dict):
            retry = error.get("code") in ("batch_expired", "batch_cancelled")
            reply = complaint({"error": error})
            reply = reply.model_copy(update={"retry": retry or reply.retry})
            yield str(line.get("custom_id")), reply


def _reply(response: dict[str, Any]) -> Reply:
    status = response.get("status_code")
    if status != 200:
        return complaint(response.get("body"), status if isinstance(status, int) else None)
    try:
        return read(response.get("body"))
    except ValueError as error:
        return broken(f"the server's response is malformed: {error}", retry=True)


def _problems(batch: OpenAIBatch) -> list[Problem]:
    return (batch.errors and batch.errors.data) or []


def _default_reply(batch: OpenAIBatch) -> Reply:
    """Return the failure reply for calls that have no result in a batch."""
    if batch.status == "failed":
        problems = "; ".join(str(problem.message or problem.code) for problem in _problems(batch))
        return broken(f"the provider rejected the batch: {problems}", retry=False)
    return broken(f"the batch ended as {batch.status} without a reply to this call", retry=True)
