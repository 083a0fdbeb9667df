"""A guest's seat as a server of the Model Context Protocol: a client's model sits down by tools."""

import hmac
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeAlias

from cheaptalk.adapters.guest import Guest, GuestError, guest_token
from cheaptalk.extras import needing

PATIENCE = 60.0
"""Seconds for which a tool tries again where nobody answers."""
INSTRUCTIONS = """You sit at a table of cheaptalk and play games of bargaining, negotiation and
persuasion against others. Each question comes whole: its messages hold the rules, all that you were
told and said so far, and what is asked now. Use the tools: wait for a question, answer it, and go
on until the state is over. Several matches may be under way at once; each question stands for
itself, and its call number tells which one you answer."""
LOOK = """Look what you are asked now, without waiting. The state is asked (there is a question),
waiting (nothing is asked now: use wait) or over (the games have ended: stop). A question has a call
number, the game, your seat, the messages to read, and the form of the answer that is wanted with
its JSON schema."""
WAIT = """Wait until you are asked something, or until it is over, and show it as look does.
seconds: how long to wait at most, up to 60; if nothing is asked by then, wait again."""
ANSWER = """Answer a question, and see what is asked next, as look shows it.
call: the number of the question, as it was shown.
answer: an object that fits the schema of the question's form; this is the usual way.
text: instead of answer, the whole reply in words, where the messages ask for more than JSON.
seconds: how long to wait for the next question, up to 60.
An answer that the rules refuse costs a try: the same question comes again, and its last messages
hold what you answered and the reason."""
NEXT = {
    "asked": "read the messages, and use the tool answer with this call number",
    "waiting": "nothing is asked now: use the tool wait",
    "over": "the games have ended: nothing is left to do",
}
"""What to do in each state."""
Scope: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[[Scope, Any, Any], Awaitable[None]]


def mcp_server(url: str, token: str | None = None) -> Any:
    """The server of a guest's seat, of MCP's own Python SDK; it needs ``[mcp]``.

    Args:
        url: where the guest looks and answers, as it was shown when the run began.
        token: shown there, too; by default that of the environment variable
            ``CHEAPTALK_GUEST_TOKEN``.

    Raises:
        CheaptalkError: the SDK is not installed.
        GuestError: there is no token, or the URL is none.
    """
    with needing("mcp"):
        sdk = import_module("mcp.server")
    made: Any = getattr(sdk, "MCPServer", None) or sdk.FastMCP  # as it was called before mcp 2
    errors = import_module(f"{made.__module__.rpartition('.')[0]}.exceptions")
    server = made("cheaptalk", instructions=INSTRUCTIONS, log_level="ERROR")
    Guest(url, token)  # what is wrong is said here, not to the first client

    async def shown(seconds: float, said: tuple[str, dict[str, Any]] | None = None) -> Any:
        """What is asked, after an answer was given if there is one."""
        try:
            async with Guest(url, token, PATIENCE) as guest:
                if said is not None:
                    await guest.answer(*said)
                seen = await guest.look(min(max(seconds, 0), 60), 1)
        except GuestError as refused:
            raise errors.ToolError(str(refused)) from None
        asked = {"question": seen["questions"][0]} if seen["questions"] else {}
        return {"state": seen["state"], "next": NEXT[seen["state"]], **asked}

    async def look() -> dict[str, Any]:
        return dict(await shown(0))

    async def wait(seconds: float = 20) -> dict[str, Any]:
        return dict(await shown(seconds))

    async def answer(
        call: str,
        answer: dict[str, Any] | None = None,
        text: str = "",
        seconds: float = 10,
    ) -> dict[str, Any]:
        said = ({} if answer is None else {"answer": answer}) | ({"text": text} if text else {})
        return dict(await shown(seconds, (call, said)))

    for tool, does in ((look, LOOK), (wait, WAIT), (answer, ANSWER)):
        server.add_tool(tool, description=does)
    return server


def serve_mcp(url: str, token: str | None = None, there: socket.socket | None = None) -> None:
    """Serve a guest's seat to a client of MCP until it leaves; it needs ``[mcp]``.

    Args:
        url: as :func:`mcp_server` takes it.
        token: the same.
        there: a socket at which it serves by streamable HTTP, at the path ``/mcp``, to whoever
            sends the guest's token as a bearer token; None to serve one client by standard input
            and output.

    Raises:
        CheaptalkError: the SDK is not installed.
        GuestError: there is no token, or the URL is none.
    """
    server = mcp_server(url, token)
    if there is None:
        with standard_streams_lent():
            server.run("stdio")
        return
    uvicorn = import_module("uvicorn")
    app = locked(server.streamable_http_app(), guest_token(token))
    settings = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    uvicorn.Server(settings).run(sockets=[there])


@contextmanager
def standard_streams_lent() -> Iterator[None]:
    """Duplicates of standard input and output in their places: before mcp 2 the SDK closes them."""
    own = sys.stdin, sys.stdout
    with (
        os.fdopen(os.dup(own[0].fileno()), encoding="utf-8") as sys.stdin,
        os.fdopen(os.dup(own[1].fileno()), "w", encoding="utf-8") as sys.stdout,
    ):
        try:
            yield
        finally:
            sys.stdin, sys.stdout = own


def locked(app: App, token: str) -> App:
    """An application that answers those alone who send a token as a bearer token."""
    right = f"Bearer {token}".encode()
    body = json.dumps({"error": "send the guest's token as Authorization: Bearer TOKEN"}).encode()
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]

    async def answering(scope: Scope, receive: Any, send: Any) -> None:
        shown = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] != "http" or hmac.compare_digest(shown, right):
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answering
