"""Client for Anthropic's batch endpoint: one request with all calls, results as JSON Lines.

See the `API reference <https://docs.claude.com/en/api/creating-message-batches>`_. A batch has no
metadata, so an earlier submission is identified by the ids of its calls.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from cheaptalk.models.batch.protocol import CLOCKS, BatchLine, Look, Results
from cheaptalk.models.batch.transport import HttpBatches
from cheaptalk.models.calls import Reply
from cheaptalk.models.http import anthropic
from cheaptalk.models.http.endpoint import Listed, Page
from cheaptalk.models.http.failures import EndpointTrouble, broken, complaint
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.structured_output import ways

ENDED = "ended"
STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413,
    "rate_limit_error": 429, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""HTTP statuses of error types, from the provider's documentation."""


class AnthropicBatch(Listed):
    """A batch as described by the provider."""

    created_at: datetime
    processing_status: str
    request_counts: dict[str, int]

    @property
    def size(self) -> int:
        """Number of calls in the batch."""
        return sum(self.request_counts.values())


class AnthropicBatches(HttpBatches):
    """Client for batches of calls in Anthropic's Messages format."""

    def __init__(self, name: ModelName) -> None:
        super().__init__(name, anthropic.HEADERS)

    def line(self, line: BatchLine) -> dict[str, Any]:
        params = anthropic.body(line.call, ways(line.call)[0])
        return {"custom_id": line.id, "params": params}

    async def submit(self, tag: str, lines: Sequence[BatchLine]) -> str:
        request = {"requests": [self.line(line) for line in lines]}
        return (await self.post(AnthropicBatch, "messages/batches", json=request)).id

    async def find(self, tag: str, lines: Sequence[BatchLine], since: float) -> str | None:
        path = "messages/batches"
        async for batch in self.listed(Page[AnthropicBatch], path, "after_id"):
            if batch.created_at.timestamp() < since - CLOCKS:
                return None
            if batch.size == len(lines) and await self._holds(batch, lines):
                return batch.id
        return None

    async def _holds(self, batch: AnthropicBatch, lines: Sequence[BatchLine]) -> bool:
        if batch.processing_status != ENDED:
            pending = broken("waiting for a batch that may contain these calls", retry=True)
            raise EndpointTrouble(pending)
        results = await self.results(batch.id)
        if results.missing and not results.replies:
            partial = broken("results that may belong to this batch are incomplete", retry=True)
            raise EndpointTrouble(partial)
        return any(line.id in results.replies for line in lines)

    async def look(self, name: str) -> Look:
        batch = await self.get(AnthropicBatch, f"messages/batches/{name}")
        state = batch.processing_status
        return Look(state, state == ENDED, batch.size - batch.request_counts.get("processing", 0))

    async def results(self, name: str) -> Results:
        batch = await self.get(AnthropicBatch, f"messages/batches/{name}")
        replies = self.clean(_read(await self.lines(f"messages/batches/{name}/results")))
        missing_reply = broken("the batch ended without a result for this call", retry=True)
        return Results(replies, missing_reply, missing=max(0, batch.size - len(replies)))


def _read(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Reply]]:
    for line in lines:
        result = line.get("result")
        if isinstance(result, dict) and isinstance(line.get("custom_id"), str):
            yield line["custom_id"], _reply(result)


def _reply(result: dict[str, Any]) -> Reply:
    match result.get("type"):
        case "succeeded":
            try:
                return anthropic.read(result.get("message"))
            except ValueError as error:
                return broken(f"the server's response is malformed: {error}", retry=True)
        case "errored":
            return _error(result.get("error"))
        case kind:
            return broken(f"the batch was {kind} before this call", retry=True)


def _error(error: Any) -> Reply:
    """Convert a failed call's error to a reply with the HTTP status of an unbatched call."""
    inner = error.get("error", error) if isinstance(error, dict) else None
    kind = inner.get("type") if isinstance(inner, dict) else None
    return complaint(error, STATUSES.get(str(kind), 500))
