"""Clients for all models and for all batch endpoints, chosen by the model string."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from typing import Protocol as TypingProtocol

from cheaptalk.models.batch.anthropic import AnthropicBatches
from cheaptalk.models.batch.openai import OpenAIBatches
from cheaptalk.models.batch.protocol import BatchServer
from cheaptalk.models.calls import ModelCall, Reply, Route
from cheaptalk.models.guests import Guests
from cheaptalk.models.http import agent, anthropic, openai
from cheaptalk.models.http.failures import hinted
from cheaptalk.models.http.transport import CALL_HEADER, Wire
from cheaptalk.models.local import LocalModels
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.providers import BatchProtocol, Protocol
from cheaptalk.models.scripted import ScriptedModels
from cheaptalk.models.settings import wire as settings_sent
from cheaptalk.models.structured_output import Known, offered
from cheaptalk.models.usage import metered


class Client(TypingProtocol):
    """Makes calls over one protocol. Whatever a server does comes back as a reply."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call.

        Args:
            number: identifies the call in the server's log.
            deadline: seconds until the call counts as timed out, from sending to the last byte.

        Raises:
            ValueError: the model does not take the call's settings.
        """


@dataclass
class HttpModels:
    """Makes calls over HTTP in one format.

    An answer is asked for by the strictest way that the server has not refused yet. Such a refusal
    comes back as a reply that says so (``rerouted``): sent again, the call takes the next way.

    Attributes:
        wire: carries them.
        path: what stands behind a server's URL.
        headers: what every request carries beside the key.
        body: a call as it is sent, asked for by a route.
        read: makes a reply of what came back; raises ValueError where it is none.
        routes: ways of asking that are left for each model.
    """

    wire: Wire
    path: str
    headers: Mapping[str, str]
    body: Callable[[ModelCall, Route], dict[str, Any]]
    read: Callable[[Any], Reply]
    routes: Known = field(default_factory=Known)

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call, as :meth:`Client.call` says."""
        name = ModelName.parse(call.model)
        url = name.endpoint(self.path)
        headers = {**self.headers, **name.key_header, CALL_HEADER: number}
        route, *others = self.routes.left(call)
        body = self.body(call, route)
        reply = await self.wire.post(url, headers, body, name.key, deadline, self.read)
        refused = self.routes.note(call.model, route, reply)
        how = {
            "sent": settings_sent(call.settings, call.model),
            "route": route if call.form else None,
        }
        rerouted = (refused and bool(others)) or None
        reply = metered(reply.model_copy(update=how | {"rerouted": rerouted}), call)
        return offered(hinted(reply, name, url), call)


class AgentModels:
    """Makes calls to agents over HTTP."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call, as :func:`.agent.body` says.
            deadline: seconds until the call counts as timed out, from sending to the last byte.
        """
        name = ModelName.parse(call.model)
        carried = name.key_header | {CALL_HEADER: number}
        sent = agent.body(call, number)
        reply = await self._wire.post(
            name.url, carried, sent, name.key, deadline, agent.read, agent.LARGEST
        )
        return metered(reply, call, alone=False)


class AllModels:
    """A client for every model string. Close it, or use it as an asynchronous context manager."""

    def __init__(self, routes: Known, guests: Guests | None) -> None:
        self._wire = wire = Wire()
        self._local = LocalModels()
        self._clients: dict[Protocol, Client] = {
            "chat": HttpModels(wire, "chat/completions", {}, openai.body, openai.read, routes),
            "messages": HttpModels(
                wire, "messages", anthropic.HEADERS, anthropic.body, anthropic.read, routes
            ),
            "agent": AgentModels(wire),
            "in process": self._local,
            "script": ScriptedModels(),
        }
        if guests is not None:
            self._clients["guest"] = guests

    async def __aenter__(self) -> "AllModels":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call, as :meth:`Client.call` says."""
        client = self._clients[ModelName.parse(call.model).protocol]
        return await client.call(call, number, deadline)

    def capacity(self, model: str) -> int | None:
        """Return how many calls a model in this process answers at once; None for a server."""
        name = ModelName.parse(model)
        return self._local.capacity(name.model) if name.protocol == "in process" else None

    async def close(self) -> None:
        """Close all connections."""
        await self._wire.close()
        await self._local.close()


def open_models(routes: Known | None = None, guests: Guests | None = None) -> AllModels:
    """A client for every model string.

    Args:
        routes: which ways of asking for an answer's form servers are known to refuse.
        guests: has guests asked; None where none can come.
    """
    return AllModels(routes or Known(), guests)


BATCHES: dict[BatchProtocol, Callable[[ModelName], BatchServer]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


def open_batches(name: ModelName) -> BatchServer:
    """The batch endpoint of a model's provider, which has one."""
    assert name.entry.batch is not None
    return BATCHES[name.entry.batch](name)
