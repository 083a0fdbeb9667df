"""Models behind any URL that speaks OpenAI's chat format."""

import re

from cheaptalk.models import chat
from cheaptalk.models.calls import Failure, ModelCall, Reply, Route
from cheaptalk.models.names import ModelName
from cheaptalk.models.settings import routes, wire
from cheaptalk.models.wire import CALL_HEADER, Wire

COMPLAINTS: dict[Route, re.Pattern[str]] = {
    "schema": re.compile(
        "response_format|schema|structured|grammar|guided|strict|requested parameters",
        re.IGNORECASE,
    ),
    "tool": re.compile("tool|function|schema|strict|requested parameters", re.IGNORECASE),
}
"""What a server's refusal names that does not know a way of asking for an answer's form."""


class OpenAIModels:
    """Makes calls to servers that speak the chat format.

    Use as an asynchronous context manager, or :meth:`close` it. The strictest way of asking for an
    answer's form that a server refuses is not tried there again.
    """

    def __init__(self, wire: Wire | None = None) -> None:
        self._wire = wire or Wire()
        self._refused: set[tuple[str, Route]] = set()

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
        sent = wire(call.settings, call.model)
        headers = {CALL_HEADER: number}
        if name.key:
            headers["Authorization"] = f"Bearer {name.key}"
        seconds = 0.0
        for route in self._routes(call, name):
            reply = await self._wire.post(
                f"{name.url}/chat/completions", headers, chat.body(call, route), name.key,
                deadline - seconds, chat.read,
            )  # fmt: skip
            seconds += reply.seconds
            if not _refuses(reply, route):
                break
            self._refused.add((call.model, route))
        used = route if call.form else None
        return reply.model_copy(update={"sent": sent, "route": used, "seconds": seconds})

    def _routes(self, call: ModelCall, name: ModelName) -> list[Route]:
        """The ways to ask for the answer, in the order in which they are tried."""
        if call.form is None:
            return ["text"]
        if call.form.route != "auto":
            return [call.form.route]
        return [
            one for one in routes(call.settings, name) if (call.model, one) not in self._refused
        ]


def _refuses(reply: Reply, route: Route) -> bool:
    """Whether a server refused a call for the way in which its answer was asked for."""
    return (
        route in COMPLAINTS
        and reply.failure is Failure.PROVIDER_ERROR
        and reply.status in (400, 404, 422)
        and COMPLAINTS[route].search(reply.detail or "") is not None
    )
