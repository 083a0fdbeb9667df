"""Remote agents that are functions or objects in this process."""

import asyncio
import time
from collections.abc import Mapping

from cheaptalk.models.calls import Failure, ModelCall, Reply
from cheaptalk.models.http.agent import body, read
from cheaptalk.models.http.failures import broken
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.remote_agents.callables import Agent, answer_of
from cheaptalk.models.remote_agents.protocol import RemoteAgents
from cheaptalk.models.usage import metered
from cheaptalk.rules import suggest


class Functions:
    """A client for agents that are functions or objects in this process.

    Args:
        agents: agents by name, without ``remote/``; see :data:`.Agent`.
    """

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self.agents = dict(agents)

    def unavailable(self, name: str) -> str | None:
        if name in self.agents:
            return None
        return f"this run has no remote agent {suggest(name, list(self.agents))}"

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Call an agent; return a failure without a retry if it raises an exception.

        Args:
            number: the call's id, which is sent to the agent.
            deadline: timeout in seconds.
        """
        started = time.monotonic()
        agent = self.agents[ModelName.parse(call.model).model]
        try:
            async with asyncio.timeout(deadline):
                answer = await answer_of(agent, body(call, number))
            error = answer.get("error")
            reply = broken(error, retry=False) if error else read(answer)
        except TimeoutError:
            detail = f"no answer within {deadline:g} seconds"
            reply = Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)
        seconds = round(time.monotonic() - started, 4)
        return metered(reply, call, alone=False).model_copy(update={"seconds": seconds})

    def begin(self) -> None:
        """Do nothing at the start of a run, because all agents are available."""

    def halt(self) -> None:
        """Do nothing when a run stops, because no call waits for an agent to connect."""

    def conclude(self) -> None:
        """Do nothing at the end of a run, because there is no connection to close."""


def as_remote_agents(agents: RemoteAgents | Mapping[str, Agent] | None) -> RemoteAgents | None:
    """Wrap a mapping of agents in a client, and return other values unchanged."""
    return Functions(agents) if isinstance(agents, Mapping) else agents
