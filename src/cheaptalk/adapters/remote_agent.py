"""Client of the agent server: poll for requests and answer them until the run is over."""

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any

import aiohttp

from cheaptalk.calls.event_loop import first_error
from cheaptalk.models.remote_agents import Agent, answer_of
from cheaptalk.rules import CheaptalkError

VARIABLE = "CHEAPTALK_AGENT_TOKEN"
"""The environment variable of the agent's token."""
PATIENCE = 600.0
"""Seconds for which a remote agent retries while the server is unreachable, for example while a
killed run is resumed."""
WAIT = 20.0
"""Seconds that one poll waits for a request."""
LONGEST_PAUSE = 2.0
"""Maximum seconds between two retries."""
FAREWELL = 5.0
"""Seconds to wait for pending answers once the run is over."""
SLACK = 30.0
"""Additional seconds of an HTTP request's timeout."""


class RemoteAgentError(CheaptalkError):
    """Raised if the server rejects a remote agent; the message contains the reason and the fix.

    Attributes:
        status: the HTTP status; None if the server is unreachable.
    """

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def agent_token(token: str | None = None) -> str:
    """Return a remote agent's token, by default from ``CHEAPTALK_AGENT_TOKEN``.

    Raises:
        RemoteAgentError: there is no token.
    """
    value = (token or os.environ.get(VARIABLE, "")).strip()
    if not value:
        raise RemoteAgentError(
            f"a remote agent needs its token, shown at the start of the run: set {VARIABLE}"
        )
    return value


class RemoteAgent:
    """Client of the agent server, used as an asynchronous context manager.

    Args:
        url: the agent server's URL for the remote agent, shown at the start of the run.
        token: see :func:`agent_token`; it is shown at the start of the run.
        patience: timeout in seconds for an unreachable server.

    Raises:
        RemoteAgentError: there is no token; from all methods: the token is wrong, or the server is
            unreachable.
    """

    def __init__(self, url: str, token: str | None = None, patience: float = PATIENCE) -> None:
        value = agent_token(token)
        if not url.startswith(("http://", "https://")):
            raise RemoteAgentError(f'"{url}" is not a URL; use http://HOST:PORT/agents/NAME')
        self.url = url.rstrip("/")
        self.patience = patience
        self._headers = {"Authorization": f"Bearer {value}"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "RemoteAgent":
        self._session = aiohttp.ClientSession(headers=self._headers)
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def look(self, wait: float = 0, maximum: int = 64, after: str = "") -> dict[str, Any]:
        """Return the open decision requests, waiting for one if necessary.

        Args:
            wait: maximum seconds to wait for a request, up to 60.
            maximum: maximum number of requests, up to 64.
            after: the marker of an earlier poll, to return only later requests.

        Returns:
            The ``state`` (``open``, ``waiting`` or ``over``), the open ``requests``, and the
            marker for the next poll, ``after``.
        """
        query = {"wait": f"{wait:g}", "max": f"{maximum}", "after": after}
        return await self._send("GET", self.url, SLACK + wait, params=query)

    async def answer(self, call: str, fields: Mapping[str, Any]) -> None:
        """Answer a decision request with ``{"answer": ...}``, ``{"text": ...}`` or an ``error``.

        Raises:
            RemoteAgentError: the answer is malformed, or the request is closed.
        """
        await self._send("POST", f"{self.url}/answers", SLACK, json={"call": call, **fields})

    async def _send(self, method: str, url: str, patience: float, **request: Any) -> dict[str, Any]:
        assert self._session is not None, "use the remote agent in an async with statement"
        until, pause = time.monotonic() + self.patience, 0.1
        limit = aiohttp.ClientTimeout(total=patience)
        while True:
            try:
                pending = self._session.request(method, url, timeout=limit, **request)
                async with pending as response:
                    data = await response.json(content_type=None)
                    if response.status < 500:
                        return _checked(data, response.status, url)
                    problem = Exception(f"status {response.status}")
            except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
                problem = error
            if time.monotonic() + pause > until:
                raise RemoteAgentError(
                    f"no response from {url} ({problem or type(problem).__name__}); check that the "
                    "run has started and the port is right"
                ) from None
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _checked(data: Any, status: int, url: str) -> dict[str, Any]:
    body = data if isinstance(data, dict) else {}
    if status != 200 or "state" not in body:
        why = body.get("error") or f"the server at {url} is not a cheaptalk run"
        raise RemoteAgentError(str(why), status)
    return body


async def play_as_remote_agent_async(
    url: str,
    agent: Agent,
    token: str | None = None,
    *,
    at_once: int = 8,
    patience: float = PATIENCE,
) -> int:
    """Connect an agent to a run asynchronously; see :func:`play_as_remote_agent`."""
    try:
        async with RemoteAgent(url, token, patience) as remote_agent:
            return await _play(remote_agent, agent, at_once)
    except BaseExceptionGroup as group:
        raise first_error(group) from None


async def _play(remote_agent: RemoteAgent, agent: Agent, at_once: int) -> int:
    taken, after = 0, ""
    room = asyncio.Semaphore(at_once)

    async def answer(request: Mapping[str, Any]) -> None:
        nonlocal taken
        fields = await answer_of(agent, request)
        try:
            await remote_agent.answer(request["call"], fields)
            taken += "error" not in fields
        except RemoteAgentError as refused:
            if refused.status in (None, 401):
                raise
            if refused.status in (400, 413):
                await remote_agent.answer(request["call"], {"error": str(refused)})
        finally:
            room.release()

    async with asyncio.TaskGroup() as group:
        under_way: set[asyncio.Task[None]] = set()
        while True:
            await room.acquire()
            state = await remote_agent.look(WAIT, 1, after)
            after = state["after"]
            if state["state"] == "over":
                break
            if state["requests"]:
                task = group.create_task(answer(state["requests"][0]))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
            else:
                room.release()
        if under_way:
            await asyncio.wait(under_way, timeout=FAREWELL)
        for task in under_way:
            task.cancel()
    return taken


def play_as_remote_agent(
    url: str,
    agent: Agent,
    token: str | None = None,
    *,
    at_once: int = 8,
    patience: float = PATIENCE,
) -> int:
    """Connect an agent to a run as a remote agent until the run is over.

    Exceptions of the agent are reported to the run, and the match fails with this reason.

    Args:
        agent: a function of chat messages, synchronous or asynchronous, that returns a text or a
            mapping of the answer's fields; or an object with ``ainvoke``, ``invoke`` or ``run``.
        url: see :class:`RemoteAgent`.
        token: see :class:`RemoteAgent`.
        patience: see :class:`RemoteAgent`.
        at_once: maximum number of requests answered concurrently.

    Returns:
        The number of accepted answers.

    Raises:
        RemoteAgentError: the token is wrong, or the server is unreachable.
    """
    playing = play_as_remote_agent_async(url, agent, token, at_once=at_once, patience=patience)
    return asyncio.run(playing)
