"""HTTP transport for providers' batch endpoints."""

from collections.abc import Iterable, Iterator
from typing import Any

from cheaptalk.models.batch.protocol import BatchServer, json_lines
from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.endpoint import Endpoint
from cheaptalk.models.http.secrets import scrubbed_reply, scrubbed_values
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import ways


class HttpBatches(Endpoint, BatchServer):
    """A provider's batch endpoint over HTTP."""

    async def lines(self, path: str) -> Iterator[dict[str, Any]]:
        """Download and parse a JSON Lines file."""
        data = await self.read("GET", path)
        return (scrubbed_values(line, self._secrets) for line in json_lines(data))

    def clean(self, replies: Iterable[tuple[str, Reply]]) -> dict[str, Reply]:
        """Return replies by call id, with secrets removed."""
        return {line: scrubbed_reply(reply, self._secrets) for line, reply in replies}

    def says(self, call: ModelCall) -> dict[str, Any]:
        route = ways(call)[0] if call.form else None
        return {"sent": wire(call.settings, call.model), "route": route}
