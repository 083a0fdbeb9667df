"""Models behind any URL that speaks OpenAI's chat format."""

from collections.abc import Awaitable

from cheaptalk.models import chat
from cheaptalk.models.calls import ModelCall, Reply, Route
from cheaptalk.models.names import ModelName
from cheaptalk.models.routes import Known
from cheaptalk.models.wire import CALL_HEADER, Wire


class OpenAIModels:
    """Makes calls to servers that speak the chat format.

    Use as an asynchronous context manager, or :meth:`close` it. The strictest way of asking for an
    answer's form that a server refuses is not tried there again.
    """

    def __init__(self, wire: Wire | None = None) -> None:
        self._wire = wire or Wire()
        self._routes = Known()

    async def __aenter__(self) -> "OpenAIModels":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._wire.close()

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Make one call. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call in the server's log.
            deadline: seconds until the call counts as timed out, from sending to the last byte.

        Raises:
            ValueError: the model does not take the call's settings.
        """
        name = ModelName.parse(call.model)
        headers = {CALL_HEADER: number}
        if name.key:
            headers["Authorization"] = f"Bearer {name.key}"

        def send(route: Route, left: float) -> Awaitable[Reply]:
            url, sent = f"{name.url}/chat/completions", chat.body(call, route)
            return self._wire.post(url, headers, sent, name.key, left, chat.read)

        return await self._routes.ask(call, deadline, send)
