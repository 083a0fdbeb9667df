"""Models behind any URL that speaks OpenAI's chat format."""

from collections.abc import Awaitable

from cheaptalk.models import chat
from cheaptalk.models.calls import ModelCall, Reply, Route
from cheaptalk.models.names import PROVIDERS, ModelName
from cheaptalk.models.routes import Known
from cheaptalk.models.wire import CALL_HEADER, Wire

NOT_FOUND = 404
"""The status of what is not there: the model, or the page behind a wrong URL."""
USUAL_ENDS = ("/v1", PROVIDERS["gemini"].url)
"""How URLs end at which the chat format is spoken."""


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

        reply = await self._routes.ask(call, deadline, send)
        if reply.status == NOT_FOUND and not name.url.endswith(USUAL_ENDS):
            hint = f"the URL mostly ends in /v1, and calls go to {name.url}/chat/completions"
            return reply.model_copy(update={"detail": f"{reply.detail} ({hint})"})
        return reply
