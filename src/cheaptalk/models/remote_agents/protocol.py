"""Interface of a run's remote agents."""

from typing import Protocol

from cheaptalk.models.calls import ModelCall, Reply


class RemoteAgents(Protocol):
    """The remote agents of a run, which connect over HTTP or run in this process."""

    def unavailable(self, name: str) -> str | None:
        """Return why a remote agent is unavailable; None if it is available."""

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Send one call to a remote agent; failures are returned as replies.

        Args:
            number: the call's id, which is sent to the agent.
            deadline: timeout in seconds.
        """

    def begin(self) -> None:
        """Start a run; its calls wait until the remote agents connect."""

    def halt(self) -> None:
        """Cancel calls to agents that have not connected; safe to call from any thread."""

    def conclude(self) -> None:
        """Notify the remote agents that the run is over."""
