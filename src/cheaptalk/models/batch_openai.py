"""OpenAI's batch endpoint: a file of JSON lines goes up, one of results and one of errors down.

As its `API reference <https://platform.openai.com/docs/api-reference/batch>`_ has it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import aiohttp
import msgspec

from cheaptalk.models import chat
from cheaptalk.models.anthropic import route_of
from cheaptalk.models.batch import CLOCKS, BatchTrouble, Line, Look, Results, json_lines
from cheaptalk.models.batch_wire import BatchWire
from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.names import ModelName
from cheaptalk.models.settings import wire
from cheaptalk.models.wire import broken, complaint

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
FULL = frozenset({"token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded"})
"""Why a batch is not accepted that will be later, when others have ended."""
TAG = "cheaptalk"
"""The key of a batch's metadata that holds our tag."""
PAGE = "100"
"""Batches in one page of the list."""


class OpenAIBatches:
    """Batches of chat completions."""

    def __init__(self, name: ModelName) -> None:
        headers = {"Authorization": f"Bearer {name.key}"} if name.key else {}
        self._wire = BatchWire(name, headers)

    async def close(self) -> None:
        await self._wire.close()

    def line(self, line: Line) -> dict[str, Any]:
        return {
            "custom_id": line.id,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": chat.body(line.call, route_of(line.call)),
        }

    def says(self, call: ModelCall) -> dict[str, Any]:
        route = route_of(call) if call.form else None
        return {"sent": wire(call.settings, call.model), "route": route}

    async def submit(self, tag: str, lines: Sequence[Line]) -> str:
        form = aiohttp.FormData({"purpose": "batch"})
        file = b"\n".join(msgspec.json.encode(self.line(line)) for line in lines)
        form.add_field("file", file, filename=f"{tag}.jsonl", content_type="application/jsonl")
        uploaded = await self._wire.post("files", data=form)
        wanted = {
            "input_file_id": _id(uploaded),
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {TAG: tag},
        }
        return _id(await self._wire.post("batches", json=wanted))

    async def find(self, tag: str, lines: Sequence[Line], since: float) -> str | None:
        after: dict[str, str] = {}
        while True:
            page = await self._wire.get("batches", limit=PAGE, **after)
            for batch in page.get("data") or ():
                if batch.get("created_at", since) < since - CLOCKS:
                    return None
                if (batch.get("metadata") or {}).get(TAG) == tag:
                    return _id(batch)
                after = {"after": _id(batch)}
            if not page.get("has_more"):
                return None

    async def look(self, name: str) -> Look:
        batch = await self._wire.get(f"batches/{name}")
        state = str(batch.get("status"))
        counts = batch.get("request_counts") or {}
        done = (counts.get("completed") or 0) + (counts.get("failed") or 0)
        return Look(state, state in ENDED, done)

    async def results(self, name: str) -> Results:
        batch = await self._wire.get(f"batches/{name}")
        replies: dict[str, Reply] = {}
        for file in ("error_file_id", "output_file_id"):
            if batch.get(file):
                data = await self._wire.read("GET", f"files/{batch[file]}/content")
                replies |= dict(_read(data))
        codes = [str(one.get("code")) for one in _errors(batch)]
        full = batch.get("status") == "failed" and bool(codes) and set(codes) <= FULL
        return Results(replies, _rest(batch), full)


def _id(found: Any) -> str:
    if not isinstance(found.get("id"), str):
        raise BatchTrouble(broken("the server's reply names nothing", retry=True))
    return str(found["id"])


def _read(data: bytes) -> Iterator[tuple[str, Reply]]:
    for line in json_lines(data):
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict) and isinstance(line.get("custom_id"), str):
            yield line["custom_id"], _reply(response)
        elif isinstance(error, dict):
            again = error.get("code") in ("batch_expired", "batch_cancelled")
            said = complaint({"error": error})
            yield str(line.get("custom_id")), said.model_copy(update={"retry": again or said.retry})


def _reply(response: dict[str, Any]) -> Reply:
    status = response.get("status_code")
    if status != 200:
        return complaint(response.get("body"), status if isinstance(status, int) else None)
    try:
        return chat.read(response.get("body"))
    except ValueError as error:
        return broken(f"the server's reply is not what it should be: {error}", retry=True)


def _errors(batch: dict[str, Any]) -> list[dict[str, Any]]:
    """Why a batch was not accepted."""
    return (batch.get("errors") or {}).get("data") or []


def _rest(batch: dict[str, Any]) -> Reply:
    """What is to be said of calls that the results do not hold."""
    state = batch.get("status")
    if state == "failed":
        said = "; ".join(str(one.get("message") or one.get("code")) for one in _errors(batch))
        return broken(f"the batch was not accepted: {said}", retry=False)
    return broken(f"the batch ended as {state} without a reply to this call", retry=True)
