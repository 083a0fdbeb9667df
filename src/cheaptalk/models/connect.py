"""The way to all models: one client for each protocol, chosen by the model string."""

from typing import Protocol

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.openai import OpenAIModels


class Client(Protocol):
    """Makes calls over one protocol. Whatever a server does comes back as a reply."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call.

        Args:
            number: identifies the call in the server's log.
            deadline: seconds until the call counts as timed out, from sending to the last byte.
        """

    async def close(self) -> None:
        """Close all connections."""


def open_models() -> Client:
    """A client for every model string."""
    return OpenAIModels()
