"""Agent server: remote agents poll it for decision requests over HTTP.

A call to a remote agent waits until the agent has polled and answered, or the call times out.
"""

import asyncio
import hmac
import os
import secrets
import socket
import time
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any, Literal, TypeAlias

from aiohttp import web

from cheaptalk.loopback import HOST, listening
from cheaptalk.models.calls import Failure, ModelCall, Reply
from cheaptalk.models.http.agent import LARGEST, body, read
from cheaptalk.models.http.decoding import decoded
from cheaptalk.models.http.failures import beginning, broken
from cheaptalk.models.http.secrets import LEAST, scrubbed_values
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.remote_agents.functions import RemoteAgents
from cheaptalk.models.remote_agents.openapi import OPENAPI, QUERY, Accepted, Error, Poll
from cheaptalk.models.remote_agents.pending_requests import NotOpen, PendingRequests
from cheaptalk.models.usage import metered
from cheaptalk.rules import CheaptalkError, counted, suggest
from cheaptalk.rules.display import brief

PORT = 8140
"""Default port of the agent server."""
VARIABLE = "CHEAPTALK_AGENT_TOKENS"
"""Environment variable with the agents' tokens: ``NAME=TOKEN``, separated by commas."""
PATIENCE = 600.0
"""Default timeout in seconds for a remote agent to connect."""
FAREWELL = 5.0
"""Timeout in seconds for agents to poll that the run is over."""
STOPPED = broken("the run stopped before the remote agent connected", retry=True, unreached=True)
"""Reply to calls that the end of the run cancelled."""
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def agent_tokens(names: Iterable[str]) -> dict[str, str]:
    """Return agents' tokens from the environment, and random tokens for agents without one.

    Raises:
        CheaptalkError: the variable is malformed, a token is too short, or two agents have the same
            token; messages contain no tokens.
    """
    entries = os.environ.get(VARIABLE, "").split(",")
    pairs = [entry.partition("=") for entry in entries if entry.strip()]
    tokens = {name.strip(): token.strip() for name, _, token in pairs}
    problem = ""
    if not all(name.strip() and equals for name, equals, _ in pairs):
        problem = "write NAME=TOKEN for each remote agent, separated by commas"
    elif len({*tokens.values()}) < len(tokens):
        problem = "two remote agents have the same token; each needs its own"
    for name, token in tokens.items():
        if len(token) < LEAST or not (token.isascii() and token.isprintable()):
            characters = f"at least {LEAST} printable ASCII characters"
            problem = problem or f"the token of {name} must have {characters}"
    if problem:
        raise CheaptalkError(f"{VARIABLE}: {problem}")
    return {name: tokens.get(name) or secrets.token_urlsafe(24) for name in names}


class AgentServer(RemoteAgents):
    """An HTTP server for remote agents.

    Use it as a context manager around runs; it runs in its own thread.

    Args:
        names: names of the remote agents, without ``remote/``.
        port: the port; 0 picks a free port.
        host: the address on which to listen.
        tokens: the agents' tokens; by default those of :func:`agent_tokens`.
        patience: timeout in seconds for a remote agent to connect. After it has connected, each
            call's own timeout applies.

    Attributes:
        url: the server's URL, once it is open.

    Raises:
        CheaptalkError: the environment contains invalid tokens, or the address cannot be used.
    """

    def __init__(
        self,
        names: Iterable[str],
        port: int = PORT,
        host: str = HOST,
        *,
        tokens: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        names = [*names]
        self._tokens = dict(agent_tokens(names) if tokens is None else tokens)
        self._remote_agents: dict[str, PendingRequests] = {}
        self.names = tuple(self._tokens)
        self.patience = patience
        self.url = ""
        self._address = port, host
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._ending = asyncio.Event()
        self._over = self._halted = False
        self._thread: Thread | None = None

    def __repr__(self) -> str:
        return brief(self, f"{', '.join(self.names)} at {self.url or 'no address yet'}")

    def url_of(self, name: str) -> str:
        """Return a remote agent's URL."""
        return f"{self.url}/agents/{name}"

    def token_of(self, name: str) -> str:
        """Return a remote agent's secret token."""
        return self._tokens[name]

    def __enter__(self) -> "AgentServer":
        sock = listening(*self._address)
        self.url = "http://{}:{}".format(*sock.getsockname())
        serving = self._serve(sock)
        self._thread = Thread(None, asyncio.run, "remote agents", (serving,), daemon=True)
        self._thread.start()
        self._loop.result()
        return self

    def __exit__(self, *exc: object) -> None:
        assert self._thread is not None
        self._loop.result().call_soon_threadsafe(self._end)
        self._thread.join()

    def unavailable(self, name: str) -> str | None:
        if name in self._tokens:
            return None
        return f"the agent server has no remote agent {suggest(name, list(self._tokens))}"

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Send one call to a remote agent, whose timeout begins when the agent has connected."""
        pending = self._ask(call, number, deadline)
        future = asyncio.run_coroutine_threadsafe(pending, self._loop.result())
        return await asyncio.wrap_future(future)

    def begin(self) -> None:
        self._over = self._halted = False
        for pending in self._remote_agents.values():
            pending.awaited = None

    def halt(self) -> None:
        self._halted = True
        self._loop.result().call_soon_threadsafe(self._give_up)

    def conclude(self) -> None:
        asyncio.run_coroutine_threadsafe(self._conclude(), self._loop.result()).result()

    def app(self) -> web.Application:
        """Return the server's web application."""
        app = web.Application(client_max_size=LARGEST, middlewares=[errors_as_json])
        app.router.add_get("/openapi.json", describe, allow_head=False)
        app.router.add_get("/agents/{name}", self._look, allow_head=False)
        app.router.add_post("/agents/{name}/answers", self._answer)
        return app

    async def _serve(self, sock: socket.socket) -> None:
        self._remote_agents = {name: PendingRequests() for name in self._tokens}
        runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, sock).start()
        self._loop.set_result(asyncio.get_running_loop())
        await self._ending.wait()
        await runner.cleanup()

    def _give_up(self) -> None:
        for pending in self._remote_agents.values():
            if not pending.connected.is_set():
                pending.settle(STOPPED)

    def _end(self) -> None:
        self._ending.set()
        self._ring()

    def _ring(self) -> None:
        for pending in self._remote_agents.values():
            pending.ring()

    async def _conclude(self) -> None:
        self._over = True
        self._ring()
        agents = [agent for agent in self._remote_agents.values() if agent.connected.is_set()]
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await asyncio.gather(*(agent.notified.wait() for agent in agents))

    async def _ask(self, call: ModelCall, number: str, deadline: float) -> Reply:
        name, started = ModelName.parse(call.model).model, time.monotonic()
        pending = self._remote_agents[name]
        request = pending.put(number, body(call, number))
        try:
            reply = await self._awaited(name, number, request.reply, deadline)
        finally:
            pending.close(number)
        seconds = round(time.monotonic() - started, 4)
        return metered(reply, call, alone=False).model_copy(update={"seconds": seconds})

    async def _awaited(
        self, name: str, number: str, reply: "asyncio.Future[Reply]", deadline: float
    ) -> Reply:
        """Wait for the reply to a request; return a failure after a timeout."""
        pending = self._remote_agents[name]
        if self._halted and not pending.connected.is_set():
            return STOPPED
        if not pending.connected.is_set():
            now = time.monotonic()
            pending.awaited = now if pending.awaited is None else pending.awaited
            remaining = max(0.0, pending.awaited + self.patience - now)
            connected = asyncio.create_task(pending.connected.wait())
            either: set[asyncio.Future[Any]] = {connected, reply}
            await asyncio.wait(either, timeout=remaining, return_when=FIRST_COMPLETED)
            connected.cancel()
        if not (pending.connected.is_set() or reply.done()):
            strangers = counted(pending.strangers, "request")
            wrong = f" ({strangers} had a wrong token)" if pending.strangers else ""
            absence = (
                f"remote agent {name} has not connected to {self.url_of(name)} within "
                f"{self.patience:g} seconds{wrong}: start it with this URL and the displayed token"
            )
            return broken(absence, retry=True, unreached=True)
        await asyncio.wait({reply}, timeout=deadline)
        if reply.done():  # accepted even if it arrived at the last moment
            return reply.result()
        if why := pending.refused(number):
            detail = f"the remote agent {name} has sent only invalid answers: {why}"
            return broken(detail, retry=True)
        detail = f"the remote agent {name} gave no answer within {deadline:g} seconds"
        return Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)

    def _authenticate(self, request: web.Request) -> tuple[PendingRequests, str]:
        """Verify an agent's token; return the agent's pending requests and the token."""
        name = request.match_info["name"]
        scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
        token = self._tokens.get(name)
        valid = hmac.compare_digest(presented.strip().encode(), (token or "").encode())
        if token is None or scheme.lower() != "bearer" or not valid:
            if token is not None:
                self._remote_agents[name].strangers += 1
            raise web.HTTPUnauthorized(
                text=f'invalid token for remote agent "{name:.100}"; send the token printed at the '
                "start of the run as Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return self._remote_agents[name], token

    async def _look(self, request: web.Request) -> web.StreamResponse:
        pending, _ = self._authenticate(request)
        pending.connected.set()
        wait = number_in(request, "wait")
        limit = int(number_in(request, "max"))
        after = request.query.get("after", "")
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                while not (self._over or self._ending.is_set() or pending.listed(after, 1)[0]):
                    await pending.news()
        listed, mark = pending.listed(after, limit)
        if self._over and not listed:
            pending.notified.set()
        state: Literal["open", "over", "waiting"] = "over" if self._over else "waiting"
        poll = Poll(state="open" if listed else state, requests=listed, after=mark)
        return web.json_response(poll)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        pending, token = self._authenticate(request)
        pending.connected.set()
        data, call = b"", None
        try:
            data = await request.read()
            answer = scrubbed_values(decoded(data), (token,))
            if not isinstance(answer, dict) or not isinstance(answer.get("call"), str):
                raise ValueError('set "call" to the id of the request')
            call = answer.pop("call")
            reply = read(answer)
        except web.HTTPRequestEntityTooLarge:
            pending.refuse(f"the answer is larger than {LARGEST:,} bytes")
            raise
        except (ValueError, RecursionError) as error:
            pending.refuse(f"{error}; {beginning(data, (token,))}", call)
            message = f"invalid answer: {error}; the request is still open"
            raise web.HTTPBadRequest(text=message) from None
        try:
            pending.take(call, answer, reply)
        except NotOpen as problem:
            kind = web.HTTPConflict if problem.known else web.HTTPNotFound
            raise kind(text=str(problem)) from None
        return web.json_response(Accepted(state="taken"))


async def describe(_: web.Request) -> web.StreamResponse:
    """Return the OpenAPI description of the server."""
    return web.json_response(OPENAPI)


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Return all HTTP errors as JSON."""
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        message = f"the answer is too large: the maximum is {LARGEST:,} bytes"
        return web.json_response(Error(error=message), status=413)
    except web.HTTPError as error:
        headers = {k: v for k, v in error.headers.items() if k in ("Allow", "WWW-Authenticate")}
        message = error.text or error.reason
        return web.json_response(Error(error=message), status=error.status, headers=headers)


def number_in(request: web.Request, name: str) -> float:
    """Return a numeric query parameter; raise HTTPBadRequest if it is out of range."""
    schema = QUERY[name]
    minimum, maximum = schema["minimum"], schema["maximum"]
    try:
        number = float(request.query.get(name, schema["default"]))
    except ValueError:
        number = float("nan")
    if not minimum <= number <= maximum:
        raise web.HTTPBadRequest(text=f"{name} must be a number from {minimum:g} to {maximum:g}")
    return number


def agent_server_at(address: str, names: Iterable[str], patience: float = PATIENCE) -> AgentServer:
    """Create an agent server at ``HOST:PORT`` or ``PORT``.

    Raises:
        CheaptalkError: the address is invalid, or cannot be used.
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise CheaptalkError(
            f'"{address}" is not an address: write HOST:PORT, or PORT; 0 picks a free port'
        )
    return AgentServer(names, int(port), host or HOST, patience=patience)
