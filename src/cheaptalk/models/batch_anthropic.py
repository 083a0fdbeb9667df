"""Anthropic's batch endpoint: calls go up in one request, JSON lines of results come down.

As its `API reference <https://docs.claude.com/en/api/creating-message-batches>`_ has it. A batch
there carries no word of ours; one that may have been submitted is told by its calls' ids.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from cheaptalk.models import anthropic
from cheaptalk.models.batch import CLOCKS, BatchTrouble, Line, Look, Results, json_lines
from cheaptalk.models.batch_wire import BatchWire
from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.names import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.wire import broken, complaint

PAGE = "100"
"""Batches in one page of the list."""


class AnthropicBatches:
    """Batches of messages."""

    def __init__(self, name: ModelName) -> None:
        self._wire = BatchWire(name, anthropic.headers(name.key))

    async def close(self) -> None:
        await self._wire.close()

    def line(self, line: Line) -> dict[str, Any]:
        params = anthropic.body(line.call, anthropic.route_of(line.call))
        return {"custom_id": line.id, "params": params}

    def says(self, call: ModelCall) -> dict[str, Any]:
        route = anthropic.route_of(call) if call.form else None
        return {"sent": wire(call.settings, call.model), "route": route}

    async def submit(self, tag: str, lines: Sequence[Line]) -> str:
        requests = [self.line(line) for line in lines]
        return _id(await self._wire.post("messages/batches", json={"requests": requests}))

    async def find(self, tag: str, lines: Sequence[Line], since: float) -> str | None:
        after: dict[str, str] = {}
        while True:
            page = await self._wire.get("messages/batches", limit=PAGE, **after)
            for batch in page.get("data") or ():
                if _time(batch) < since - CLOCKS:
                    return None
                if _size(batch) == len(lines) and await self._holds(batch, lines):
                    return _id(batch)
                after = {"after_id": _id(batch)}
            if not page.get("has_more"):
                return None

    async def _holds(self, batch: dict[str, Any], lines: Sequence[Line]) -> bool:
        """Whether a batch is made of these calls, which can be told once it has ended."""
        if batch.get("processing_status") != "ended":
            raise BatchTrouble(
                broken("waiting for a batch that may be this one and has not ended", retry=True)
            )
        return lines[0].id in (await self.results(_id(batch))).replies

    async def look(self, name: str) -> Look:
        batch = await self._wire.get(f"messages/batches/{name}")
        state = str(batch.get("processing_status"))
        counts = batch.get("request_counts") or {}
        return Look(state, state == "ended", _size(batch) - (counts.get("processing") or 0))

    async def results(self, name: str) -> Results:
        data = await self._wire.read("GET", f"messages/batches/{name}/results")
        rest = broken("the batch ended without a result for this call", retry=True)
        return Results(dict(_read(data)), rest)


def _id(found: dict[str, Any]) -> str:
    if not isinstance(found.get("id"), str):
        raise BatchTrouble(broken("the server's reply names nothing", retry=True))
    return str(found["id"])


def _size(batch: dict[str, Any]) -> int:
    return sum((batch.get("request_counts") or {}).values())


def _time(batch: dict[str, Any]) -> float:
    """When a batch was made, in seconds since 1970."""
    try:
        return datetime.fromisoformat(str(batch.get("created_at"))).timestamp()
    except ValueError as error:
        raise BatchTrouble(broken(f"a batch has no time: {error}", retry=True)) from None


def _read(data: bytes) -> Iterator[tuple[str, Reply]]:
    for line in json_lines(data):
        result = line.get("result")
        if isinstance(result, dict) and isinstance(line.get("custom_id"), str):
            yield line["custom_id"], _reply(result)


def _reply(result: dict[str, Any]) -> Reply:
    match result.get("type"):
        case "succeeded":
            try:
                return anthropic.read(result.get("message"))
            except ValueError as error:
                return broken(f"the server's reply is not what it should be: {error}", retry=True)
        case "errored":
            return _error(result.get("error"))
        case other:
            return broken(f"the batch was {other} before this call", retry=True)


def _error(error: Any) -> Reply:
    """An error of one call: of a request that is wrong, or of the server's own."""
    inner = error.get("error", error) if isinstance(error, dict) else {}
    wrong = isinstance(inner, dict) and inner.get("type") in WRONG
    return complaint(error).model_copy(update={"retry": not wrong})


WRONG = frozenset(
    {"invalid_request_error", "authentication_error", "permission_error", "not_found_error",
     "billing_error", "request_too_large"}
)  # fmt: skip
"""Errors that a second try would meet again."""
