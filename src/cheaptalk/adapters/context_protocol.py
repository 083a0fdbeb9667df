"""A Model Context Protocol server through which a client's model plays as a remote agent."""

import hmac
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from cheaptalk.adapters.remote_agent import RemoteAgent, RemoteAgentError, agent_token
from cheaptalk.extras import needing

PATIENCE = 60.0
"""Seconds for which a tool retries while the agent server is unreachable."""
INSTRUCTIONS = """You play games of bargaining, negotiation and persuasion in cheaptalk. Each
request is self-contained: its messages contain the rules, the match so far, and the decision to
make. Wait for a request, answer it, and repeat until the state is over. Several matches may be in
progress at once; the call number identifies the request that you answer."""
LOOK = """Return the open request without waiting. The state is open (there is a request), waiting
(there is none: use wait) or over (all games have ended: stop). A request has a call number, the
game, your seat, the messages, and the form of the answer with its JSON schema."""
WAIT = """Wait for a request or the end of all games; returns the same as look.
seconds: maximum time to wait, up to 60; if there is no request by then, wait again."""
ANSWER = """Answer a request and return the next one, as look does.
call: the request's call number.
answer: an object that fits the form's schema; the usual way to answer.
text: instead of answer, the full reply as text, if the messages ask for more than JSON.
seconds: maximum time to wait for the next request, up to 60.
An invalid answer counts as an attempt: the same request is repeated, and its last messages contain
your answer and the reason."""
NEXT = {
    "open": "read the messages and use the tool answer with this call number",
    "waiting": "there is no open request: use the tool wait",
    "over": "all games have ended: there is nothing left to do",
}
"""The next step in each state."""


def mcp_server(url: str, token: str | None = None) -> Any:
    """Return an MCP server for a remote agent; requires the ``[mcp]`` extra.

    Args:
        url: the agent server's URL for the remote agent, shown at the start of the run.
        token: the agent's token, shown there too; by default from the environment variable
            ``CHEAPTALK_AGENT_TOKEN``.

    Raises:
        CheaptalkError: the SDK isn't installed.
        RemoteAgentError: the token is missing or the URL is invalid.
    """
    with needing("mcp"):
        sdk = import_module("mcp.server")
    server_class: Any = getattr(sdk, "MCPServer", None) or sdk.FastMCP  # its name before mcp 2
    errors = import_module(f"{server_class.__module__.rpartition('.')[0]}.exceptions")
    server = server_class("cheaptalk", instructions=INSTRUCTIONS, log_level="ERROR")
    RemoteAgent(url, token)  # reports errors before the first client connects

    async def shown(seconds: float, sent_answer: tuple[str, dict[str, Any]] | None = None) -> Any:
        """Send the answer, if given; return the agent's state and its open request, if any."""
        try:
            async with RemoteAgent(url, token, PATIENCE) as remote_agent:
                if sent_answer is not None:
                    await remote_agent.answer(*sent_answer)
                state = await remote_agent.look(min(max(seconds, 0), 60), 1)
        except RemoteAgentError as refused:
            raise errors.ToolError(str(refused)) from None
        request = {"request": state["requests"][0]} if state["requests"] else {}
        return {"state": state["state"], "next": NEXT[state["state"]], **request}

    async def look() -> dict[str, Any]:
        return dict(await shown(0))

    async def wait(seconds: float = 20) -> dict[str, Any]:
        return dict(await shown(seconds))

    async def answer(
        call: str, answer: dict[str, Any] | None = None, text: str = "", seconds: float = 10
    ) -> dict[str, Any]:
        fields = ({} if answer is None else {"answer": answer}) | ({"text": text} if text else {})
        return dict(await shown(seconds, (call, fields)))

    for tool, does in ((look, LOOK), (wait, WAIT), (answer, ANSWER)):
        server.add_tool(tool, description=does)
    return server


def serve_mcp(url: str, token: str | None = None, listener: socket.socket | None = None) -> None:
    """Serve a remote agent to an MCP client until it disconnects; requires ``[mcp]``.

    Args:
        url: see :func:`mcp_server`.
        token: see :func:`mcp_server`.
        listener: a socket for streamable HTTP at the path ``/mcp``; clients must send the remote
            agent's token as a bearer token. None to serve one client over standard input and
            output.

    Raises:
        CheaptalkError: the SDK isn't installed.
        RemoteAgentError: the token is missing or the URL is invalid.
    """
    server = mcp_server(url, token)
    if listener is None:
        with standard_streams_lent():
            server.run("stdio")
        return
    uvicorn = import_module("uvicorn")
    app = locked(server.streamable_http_app(), agent_token(token))
    settings = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(settings).run(sockets=[listener])


@contextmanager
def standard_streams_lent() -> Iterator[None]:
    """Replace standard input and output with duplicates, because MCP SDK 1 closes both."""
    original = sys.stdin, sys.stdout
    with (
        os.fdopen(os.dup(original[0].fileno()), encoding="utf-8") as sys.stdin,
        os.fdopen(os.dup(original[1].fileno()), "w", encoding="utf-8") as sys.stdout,
    ):
        try:
            yield
        finally:
            sys.stdin, sys.stdout = original


def locked(app: Any, token: str) -> Any:
    """Wrap an ASGI application so that it requires a bearer token."""
    expected = f"Bearer {token}".encode()
    error = {"error": "send the remote agent's token as Authorization: Bearer TOKEN"}
    response = import_module("starlette.responses").JSONResponse
    refusal = response(error, status_code=401, headers={"WWW-Authenticate": "Bearer"})

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        header = dict(scope.get("headers") or ()).get(b"authorization", b"")
        allowed = scope["type"] != "http" or hmac.compare_digest(header, expected)
        await (app if allowed else refusal)(scope, receive, send)

    return answering
