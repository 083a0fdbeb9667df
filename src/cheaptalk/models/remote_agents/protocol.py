"""Interface of a run's remote agents."""

from typing import Protocol

from cheaptalk.models.calls import ModelCall, Reply


class RemoteAgents(Protocol):
    """Serves the remote agents of a run."""

    def unavailable(self, name: str) -> str | None:
        """Return why a remote agent is unavailable; None if it is available."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Send one call to a remote agent; failures are returned as replies.

        Args:
            number: the call's id, which is sent to the agent.
            deadline: timeout in seconds.
        """

    def begin(self) -> None:
        """Start a run: its calls wait for remote agents to connect."""

    def halt(self) -> None:
        """Cancel calls to remote agents that have not connected; callable from any thread."""

    def conclude(self) -> None:
        """Notify the remote agents that the run is over."""
