"""Clients for all models and for all batch endpoints, chosen by the model string."""

from typing import Protocol as TypingProtocol

from cheaptalk.models.batch.anthropic import AnthropicBatches
from cheaptalk.models.batch.openai import OpenAIBatches
from cheaptalk.models.batch.protocol import BatchServer
from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.http.agent import AgentModels
from cheaptalk.models.http.anthropic import AnthropicModels
from cheaptalk.models.http.openai import OpenAIModels
from cheaptalk.models.http.transport import Wire
from cheaptalk.models.local import LocalModels
from cheaptalk.models.model_strings import ModelName, Protocol
from cheaptalk.models.scripted import ScriptedModels


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

    async def close(self) -> None:
        """Close all connections."""


class AllModels:
    """A client for every model string. Close it, or use it as an asynchronous context manager."""

    def __init__(self) -> None:
        wire = Wire()
        self._clients: dict[Protocol, Client] = {
            "chat": OpenAIModels(wire),
            "messages": AnthropicModels(wire),
            "agent": AgentModels(wire),
            "in process": LocalModels(),
            "script": ScriptedModels(),
        }

    async def __aenter__(self) -> "AllModels":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call, as :meth:`Client.call` says."""
        client = self._clients[ModelName.parse(call.model).protocol]
        return await client.call(call, number, deadline)

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()


def open_models() -> AllModels:
    """A client for every model string."""
    return AllModels()


def open_batches(name: ModelName) -> BatchServer:
    """The batch endpoint of a model's provider, one of :data:`.PROVIDERS`."""
    return AnthropicBatches(name) if name.provider == "anthropic" else OpenAIBatches(name)
