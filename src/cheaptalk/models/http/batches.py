"""Clients for providers' batch endpoints.

See OpenAI's `API reference <https://platform.openai.com/docs/api-reference/batch>`_ and Anthropic's
`documentation <https://docs.claude.com/en/api/creating-message-batches>`_. OpenAI's batches are
JSON Lines files of calls, results and errors. Anthropic's batches have no metadata, so an earlier
submission is identified by the ids of its calls.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from cheaptalk.models.batches import BatchLine, BatchServer, Look, Results
from cheaptalk.models.calls import Reply
from cheaptalk.models.http import anthropic, openai
from cheaptalk.models.http.decoding import decoded
from cheaptalk.models.http.endpoint import Endpoint, Listed, Page
from cheaptalk.models.http.failures import EndpointTrouble, broken, complaint
from cheaptalk.models.http.secrets import scrubbed_reply, scrubbed_values
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.structured_output import ways

CLOCKS = 600.0
"""Maximum difference between this machine's clock and the provider's, in seconds."""
FULL = frozenset({"token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded"})
"""OpenAI's error codes of a batch that will be accepted after other batches have ended."""
TAG = "cheaptalk"
"""OpenAI's metadata key of the tag that identifies a batch."""
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP statuses of Anthropic's error types, from its documentation."""


class BatchClient(Endpoint, BatchServer):
    """An HTTP client for a batch endpoint."""

    @abstractmethod
    def reply(self, line: dict[str, Any]) -> Reply | None:
        """Convert a line of a result file; return None for an unreadable line."""

    async def replies(self, path: str) -> dict[str, Reply]:
        """Download a result file and return its replies by line id, with secrets removed."""
        replies = {}
        for value in json_lines(await self.read("GET", path)):
            line = scrubbed_values(value, self._secrets)
            if isinstance(line.get("custom_id"), str) and (reply := self.reply(line)) is not None:
                replies[line["custom_id"]] = scrubbed_reply(reply, self._secrets)
        return replies


class Counts(Struct):
    """Numbers of answered and failed calls in a batch of OpenAI."""

    completed: int = 0
    failed: int = 0


class Problem(Struct):
    """One error of a batch of OpenAI."""

    code: str | None = None
    message: str | None = None


class Problems(Struct):
    """All errors of a batch of OpenAI."""

    data: list[Problem] | None = None


class OpenAIBatch(Listed):
    """A batch as described by OpenAI."""

    status: str = "unknown"
    created_at: float | None = None
    metadata: dict[str, Any] | None = None
    request_counts: Counts | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Problems | None = None


class OpenAIBatches(BatchClient):
    """Client for batches of OpenAI chat completions."""

    def __init__(self, name: ModelName) -> None:
        super().__init__(name, {})
        self._uploaded: dict[str, str] = {}  # uploaded files of batches not yet accepted, by tag

    def line(self, line: BatchLine) -> dict[str, Any]:
        body = openai.body(line.call, ways(line.call)[0])
        request = {"custom_id": line.id, "method": "POST", "url": "/v1/chat/completions"}
        return request | {"body": body}

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
        ended = batch.status in ("completed", "failed", "expired", "cancelled")
        return Look(batch.status, ended, counts.completed + counts.failed)

    async def results(self, name: str) -> Results:
        batch = await self.get(OpenAIBatch, f"batches/{name}")
        failed, answered = [
            await self.replies(f"files/{file}/content") if file else {}
            for file in (batch.error_file_id, batch.output_file_id)
        ]
        rest = f"the batch ended as {batch.status} without a reply to this call"
        full, rejected = False, batch.status == "failed"
        if rejected:
            problems = (batch.errors and batch.errors.data) or []
            reasons = "; ".join(str(problem.message or problem.code) for problem in problems)
            rest = f"the provider rejected the batch: {reasons}"
            full = bool(problems) and {problem.code for problem in problems} <= FULL
        missing = max(0, (batch.request_counts or Counts()).completed - len(answered))
        return Results(failed | answered, broken(rest, retry=not rejected), full, missing)

    def reply(self, line: dict[str, Any]) -> Reply | None:
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict):
            status = response.get("status_code")
            if status == 200:
                return _read(openai.read, response.get("body"))
            return complaint(response.get("body"), status if isinstance(status, int) else None)
        if not isinstance(error, dict):
            return None
        reply = complaint({"error": error})
        retry = error.get("code") in ("batch_expired", "batch_cancelled")
        return reply.model_copy(update={"retry": retry or reply.retry})


class AnthropicBatch(Listed):
    """A batch as described by Anthropic."""

    created_at: datetime
    processing_status: str
    request_counts: dict[str, int]

    @property
    def ended(self) -> bool:
        return self.processing_status == "ended"

    @property
    def size(self) -> int:
        """Number of calls in the batch."""
        return sum(self.request_counts.values())


class AnthropicBatches(BatchClient):
    """Client for batches of calls in Anthropic's Messages format."""

    def __init__(self, name: ModelName) -> None:
        super().__init__(name, anthropic.HEADERS)

    def line(self, line: BatchLine) -> dict[str, Any]:
        return {"custom_id": line.id, "params": anthropic.body(line.call, ways(line.call)[0])}

    async def submit(self, tag: str, lines: Sequence[BatchLine]) -> str:
        request = {"requests": [self.line(line) for line in lines]}
        return (await self.post(AnthropicBatch, "messages/batches", json=request)).id

    async def find(self, tag: str, lines: Sequence[BatchLine], since: float) -> str | None:
        async for batch in self.listed(Page[AnthropicBatch], "messages/batches", "after_id"):
            if batch.created_at.timestamp() < since - CLOCKS:
                return None
            if batch.size == len(lines) and await self._holds(batch, lines):
                return batch.id
        return None

    async def _holds(self, batch: AnthropicBatch, lines: Sequence[BatchLine]) -> bool:
        if not batch.ended:
            pending = broken("waiting for a batch that may contain these calls", retry=True)
            raise EndpointTrouble(pending)
        results = await self.results(batch.id)
        if results.missing and not results.replies:
            partial = broken("results that may belong to this batch are incomplete", retry=True)
            raise EndpointTrouble(partial)
        return any(line.id in results.replies for line in lines)

    async def look(self, name: str) -> Look:
        batch = await self.get(AnthropicBatch, f"messages/batches/{name}")
        done = batch.size - batch.request_counts.get("processing", 0)
        return Look(batch.processing_status, batch.ended, done)

    async def results(self, name: str) -> Results:
        batch = await self.get(AnthropicBatch, f"messages/batches/{name}")
        replies = await self.replies(f"messages/batches/{name}/results")
        rest = broken("the batch ended without a result for this call", retry=True)
        return Results(replies, rest, missing=max(0, batch.size - len(replies)))

    def reply(self, line: dict[str, Any]) -> Reply | None:
        match line.get("result"):
            case {"type": "succeeded", **result}:
                return _read(anthropic.read, result.get("message"))
            case {"type": "errored", **result}:
                error = result.get("error")
                inner = error.get("error", error) if isinstance(error, dict) else None
                kind = inner.get("type") if isinstance(inner, dict) else None
                return complaint(error, STATUSES.get(str(kind), 500))
            case {**result}:
                return broken(f"the batch was {result.get('type')} before this call", retry=True)
        return None


def _read(read: Any, message: Any) -> Reply:
    try:
        reply: Reply = read(message)
    except ValueError as error:
        return broken(f"the server's response is malformed: {error}", retry=True)
    return reply


def json_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """Parse JSON Lines, skipping invalid lines."""
    for line in data.splitlines():
        try:
            value = decoded(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
