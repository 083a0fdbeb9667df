"""Clients for models and batch endpoints, selected by the model string."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cheaptalk.models.batches import BatchServer
from cheaptalk.models.calls import ModelCall, Models, Reply, Route
from cheaptalk.models.http import agent, anthropic, openai
from cheaptalk.models.http.batches import AnthropicBatches, OpenAIBatches
from cheaptalk.models.http.failures import hinted
from cheaptalk.models.http.transport import CALL_HEADER, SCHEMA_HEADER, HttpTransport
from cheaptalk.models.local.client import LocalModels
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import Protocol, on_this_machine
from cheaptalk.models.remote_agents import RemoteAgents
from cheaptalk.models.scripted import ScriptedModels
from cheaptalk.models.settings import wire as settings_sent
from cheaptalk.models.structured_output import RouteSupport, offered
from cheaptalk.models.usage import metered

LONGEST_HEADER = 8_000
"""Maximum characters of a header; many servers reject more than 8 KiB."""


@dataclass
class HttpModels:
    """A client for calls over HTTP in one provider's API format.

    A call uses the strictest answer format that the server has not rejected yet. A rejection is
    returned as a reply with ``rerouted``; the next attempt uses the next format.
    """

    wire: HttpTransport
    path: str
    headers: Mapping[str, str]
    body: Callable[[ModelCall, Route], dict[str, Any]]
    read: Callable[[Any], Reply]
    routes: RouteSupport

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        name = ModelName.parse(call.model)
        url = name.endpoint(self.path)
        route, *alternatives = self.routes.remaining(call)
        headers = {**self.headers, **name.key_header, CALL_HEADER: number}
        if route == "text" and on_this_machine(url):
            headers |= _schema_header(call)
        body = self.body(call, route)
        reply = await self.wire.post(url, headers, body, name.key, deadline, self.read)
        refused = self.routes.note(call.model, route, reply)
        fields = {
            "sent": settings_sent(call.settings, call.model),
            "route": call.form and route,
            "rerouted": (refused and bool(alternatives)) or None,
        }
        reply = metered(reply.model_copy(update=fields), call)
        return offered(hinted(reply, name, url), call)


def _schema_header(call: ModelCall) -> dict[str, str]:
    """Return a header with the schema of the answer, unless it is too long."""
    schema = {"type": "string"} if call.form is None else call.form.json_schema
    text = json.dumps(schema, separators=(",", ":"))
    return {SCHEMA_HEADER: text} if len(text) <= LONGEST_HEADER else {}


@dataclass
class AgentModels:
    """A client for calls to agents over HTTP."""

    wire: HttpTransport

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        name = ModelName.parse(call.model)
        headers, posted = name.key_header | {CALL_HEADER: number}, agent.body(call, number)
        reply = await self.wire.post(
            name.url, headers, posted, name.key, deadline, agent.read, agent.LARGEST
        )
        return metered(reply, call, alone=False)


class AllModels:
    """A client for models of all providers, usable as an asynchronous context manager.

    Args:
        routes: answer formats that servers are known to reject.
        remote_agents: serves remote agents, if any.
    """

    def __init__(
        self, routes: RouteSupport | None = None, remote_agents: RemoteAgents | None = None
    ) -> None:
        self._wire = wire = HttpTransport()
        routes = routes or RouteSupport()
        self._local = LocalModels()
        self._clients: dict[Protocol, Models] = {
            "chat": HttpModels(wire, "chat/completions", {}, openai.body, openai.read, routes),
            "messages": HttpModels(
                wire, "messages", anthropic.HEADERS, anthropic.body, anthropic.read, routes
            ),
            "agent": AgentModels(wire),
            "in process": self._local,
            "script": ScriptedModels(),
        }
        if remote_agents is not None:
            self._clients["remote"] = remote_agents

    async def __aenter__(self) -> "AllModels":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        client = self._clients[ModelName.parse(call.model).protocol]
        return await client.call(call, number, deadline)

    def capacity(self, model: str) -> int | None:
        """Return the batch size of an in-process model; None for a model on a server."""
        name = ModelName.parse(model)
        return self._local.capacity(name.model) if name.protocol == "in process" else None

    async def close(self) -> None:
        await self._wire.close()
        await self._local.close()


def open_batches(name: ModelName) -> BatchServer:
    """Open the batch endpoint of a model's provider."""
    return OpenAIBatches(name) if name.entry.batch == "openai" else AnthropicBatches(name)
