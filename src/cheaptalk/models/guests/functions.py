"""Guests that are functions and objects of this process."""

import asyncio
import time
from collections.abc import Mapping

from cheaptalk.models.calls import Failure, ModelCall, Reply
from cheaptalk.models.guests.callables import Agent, answered
from cheaptalk.models.guests.protocol import Guests
from cheaptalk.models.http.agent import body, read
from cheaptalk.models.http.failures import broken
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.usage import metered
from cheaptalk.rules import suggest


class Functions:
    """Asks agents of this process, by the names that stand behind ``guest/``.

    Args:
        agents: by name; each as :data:`.Agent` says.
    """

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = dict(agents)

    def lacking(self, name: str) -> str | None:
        """Why a guest of this name cannot be asked here; None where one can."""
        if name in self.agents:
            return None
        return f"among the guests of this run there is no {suggest(name, list(self.agents))}"

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Have an agent asked. What it raises is a failure of the agent, and not tried again.

        Args:
            number: identifies the call, as agents are told it.
            deadline: seconds until the call counts as timed out.
        """
        started = time.monotonic()
        agent = self.agents[ModelName.parse(call.model).model]
        try:
            async with asyncio.timeout(deadline):
                said = await answered(agent, body(call, number))
            error = said.get("error")
            reply = broken(error, retry=False) if error else read(said)
        except TimeoutError:
            detail = f"no answer within {deadline:g} seconds"
            reply = Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)
        seconds = round(time.monotonic() - started, 4)
        return metered(reply, call, alone=False).model_copy(update={"seconds": seconds})

    def begin(self) -> None:
        """All are here."""

    def halt(self) -> None:
        """All are here."""

    def conclude(self) -> None:
        """Nothing is to be told."""


def as_guests(given: Guests | Mapping[str, Agent] | None) -> Guests | None:
    """Guests as a run takes them: a door, or agents of this process by name."""
    return Functions(given) if isinstance(given, Mapping) else given
