"""Where guests come in: agents that ask over HTTP what they are asked, and answer.

A call to a guest is sent nowhere. It waits in this process until the guest has looked and answered,
or its time is up.
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
from threading import Thread
from types import TracebackType
from typing import Any, TypeAlias

from aiohttp import web

from cheaptalk.loopback import HOST, listening
from cheaptalk.models.calls import Failure, ModelCall, Reply
from cheaptalk.models.guests.openapi import OPENAPI
from cheaptalk.models.guests.questions import NotOpen, Questions
from cheaptalk.models.http.agent import LARGEST, body, read
from cheaptalk.models.http.decoding import decoded
from cheaptalk.models.http.failures import beginning, broken
from cheaptalk.models.http.secrets import LEAST, scrubbed_values
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.usage import metered
from cheaptalk.rules import CheaptalkError, counted, suggest

PORT = 8140
"""The port at which guests are awaited unless another is named."""
VARIABLE = "CHEAPTALK_GUEST_TOKENS"
"""The environment variable of guests' tokens: ``NAME=TOKEN``, with commas between."""
PATIENCE = 600.0
"""Seconds for which a run waits for a guest that has never come."""
LONGEST_WAIT = 60.0
"""Seconds that one look can wait for a question at most."""
MOST = 64
"""Questions that one look shows at most."""
FAREWELL = 5.0
"""Seconds within which guests come to hear that it is over."""
GONE = broken("the run stopped before the guest came", retry=True, unreached=True)
"""What comes of a call that is given up."""
Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guest_tokens(names: Iterable[str]) -> dict[str, str]:
    """The guests' tokens: from the environment, and made at random for those not named there.

    Raises:
        CheaptalkError: the variable cannot be read, a token is too short, or two guests have the
            same; no token is repeated.
    """
    pairs = [one.partition("=") for one in os.environ.get(VARIABLE, "").split(",") if one.strip()]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise CheaptalkError(f"{VARIABLE}: write NAME=TOKEN for each guest, with commas between")
    given = {name.strip(): token.strip() for name, _, token in pairs}
    for name, token in given.items():
        if len(token) < LEAST or not (token.isascii() and token.isprintable()):
            raise CheaptalkError(
                f"{VARIABLE}: the token of {name} must be {LEAST} letters, digits or signs at least"
            )
    if len({*given.values()}) < len(given):
        raise CheaptalkError(f"{VARIABLE}: two guests have one token; each needs its own")
    return {name: given.get(name) or secrets.token_urlsafe(24) for name in names}


class Door:
    """A small HTTP server at which guests look what they are asked, and answer.

    Use it as a context manager around runs: it serves in a thread of its own.

    Args:
        names: the guests, as they stand behind ``guest/``.
        port: where it listens; 0 takes any free port.
        host: at which of this machine's addresses.
        tokens: by which guests are known; by default those of :func:`guest_tokens`.
        patience: seconds for which a run's calls wait for a guest that has never come. Where one
            has, each call's own deadline holds.

    Attributes:
        url: where it listens, once it is open.
        names: the guests.

    Raises:
        CheaptalkError: the environment names tokens that cannot be; as it opens, the port or the
            address cannot be used.
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
        self._tokens = dict(guest_tokens(names) if tokens is None else tokens)
        self._guests: dict[str, Questions] = {}
        self.names = tuple(self._tokens)
        self.patience = patience
        self.url = ""
        self._place = port, host
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._ending = asyncio.Event()
        self._over = self._halted = False
        self._thread: Thread | None = None

    def url_of(self, name: str) -> str:
        """Where a guest looks and answers."""
        return f"{self.url}/guests/{name}"

    def token_of(self, name: str) -> str:
        """The token by which a guest is known: a secret of it and of whoever runs the study."""
        return self._tokens[name]

    def __enter__(self) -> "Door":
        there = listening(*self._place)
        self.url = "http://{}:{}".format(*there.getsockname())
        self._thread = Thread(target=self._run, args=(there,), name="guests", daemon=True)
        self._thread.start()
        self._loop.result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        self._loop.result().call_soon_threadsafe(self._end)
        self._thread.join()

    def lacking(self, name: str) -> str | None:
        """Why a guest of this name cannot be asked here; None where one can."""
        if name in self._tokens:
            return None
        return f"the door is open for no guest {suggest(name, list(self._tokens))}"

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Have a guest asked. Every failure comes back as a reply that says what failed.

        Args:
            number: identifies the call, as agents are told it.
            deadline: seconds until the call counts as timed out, once the guest has come.
        """
        asking = self._ask(call, number, deadline)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(asking, self._loop.result())
        )

    def begin(self) -> None:
        """A run begins: its calls wait for guests."""
        self._over = self._halted = False
        for questions in self._guests.values():
            questions.awaited = None

    def halt(self) -> None:
        """Give up the calls to guests that have never come: the run stops; from any thread."""
        self._halted = True
        self._loop.result().call_soon_threadsafe(self._give_up)

    def conclude(self) -> None:
        """Tell the guests that it is over; whoever does not come for a while is not told."""
        asyncio.run_coroutine_threadsafe(self._conclude(), self._loop.result()).result()

    def app(self) -> web.Application:
        """The routes of the server."""
        app = web.Application(client_max_size=LARGEST, middlewares=[told_as_json])
        app.router.add_get("/openapi.json", describe, allow_head=False)
        app.router.add_get("/guests/{name}", self._look, allow_head=False)
        app.router.add_post("/guests/{name}/answers", self._answer)
        return app

    def _run(self, there: socket.socket) -> None:
        asyncio.run(self._serve(there))

    async def _serve(self, there: socket.socket) -> None:
        self._guests = {name: Questions() for name in self._tokens}
        runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.SockSite(runner, there).start()
        self._loop.set_result(asyncio.get_running_loop())
        await self._ending.wait()
        await runner.cleanup()

    def _give_up(self) -> None:
        for questions in self._guests.values():
            if not questions.came.is_set():
                questions.settle(GONE)

    def _end(self) -> None:
        self._ending.set()
        self._ring()

    def _ring(self) -> None:
        for questions in self._guests.values():
            questions.ring()

    async def _conclude(self) -> None:
        self._over = True
        self._ring()
        heard = [one.heard.wait() for one in self._guests.values() if one.came.is_set()]
        try:
            async with asyncio.timeout(FAREWELL):
                await asyncio.gather(*heard)
        except TimeoutError:
            pass

    async def _ask(self, call: ModelCall, number: str, deadline: float) -> Reply:
        name, started = ModelName.parse(call.model).model, time.monotonic()
        questions = self._guests[name]
        question = questions.put(number, body(call, number))
        try:
            reply = await self._awaited(name, questions, number, question.reply, deadline)
        finally:
            questions.close(number)
        seconds = round(time.monotonic() - started, 4)
        return metered(reply, call, alone=False).model_copy(update={"seconds": seconds})

    async def _awaited(
        self,
        name: str,
        questions: Questions,
        number: str,
        reply: "asyncio.Future[Reply]",
        deadline: float,
    ) -> Reply:
        """The reply to a question, or what is said where none comes."""
        if self._halted and not questions.came.is_set():
            return GONE
        if not questions.came.is_set():
            now = time.monotonic()
            questions.awaited = now if questions.awaited is None else questions.awaited
            left = max(0.0, questions.awaited + self.patience - now)
            came = asyncio.create_task(questions.came.wait())
            either: set[asyncio.Future[Any]] = {came, reply}
            await asyncio.wait(either, timeout=left, return_when=FIRST_COMPLETED)
            came.cancel()
        if not (questions.came.is_set() or reply.done()):
            return broken(self._never_came(name, questions), retry=True, unreached=True)
        await asyncio.wait({reply}, timeout=deadline)
        if reply.done():  # what was taken counts, though it came in the last moment
            return reply.result()
        if why := questions.refused(number):
            detail = f"the guest {name} has sent nothing but what is no answer: {why}"
            return broken(detail, retry=True)
        detail = f"the guest {name} gave no answer within {deadline:g} seconds"
        return Reply(failure=Failure.TIMED_OUT, detail=detail, retry=True)

    def _never_came(self, name: str, questions: Questions) -> str:
        """What is said of a guest that nobody has seen, with how it comes."""
        strangers = counted(questions.strangers, "request")
        with_another = f" ({strangers} had another token)" if questions.strangers else ""
        return (
            f"no guest {name} has come to {self.url_of(name)} in {self.patience:g} seconds"
            f"{with_another}: start it with that URL and the token that was shown"
        )

    def _known(self, request: web.Request) -> tuple[Questions, str]:
        """A guest's questions and token.

        Raises:
            HTTPUnauthorized: the request does not have the token of this guest.
        """
        name = request.match_info["name"]
        scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
        token = self._tokens.get(name)
        right = hmac.compare_digest(shown.strip().encode(), (token or "").encode())
        if token is None or scheme.lower() != "bearer" or not right:
            if token is not None:
                self._guests[name].strangers += 1
            raise web.HTTPUnauthorized(
                text=f'this is not the token of a guest "{name:.100}": send the one that was shown '
                "when the run began as Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return self._guests[name], token

    async def _look(self, request: web.Request) -> web.StreamResponse:
        questions, _ = self._known(request)
        questions.came.set()
        wait = number_in(request, "wait", 0, 0, LONGEST_WAIT)
        most = int(number_in(request, "most", MOST, 1, MOST))
        after = request.query.get("after", "")
        try:
            async with asyncio.timeout(wait):
                while not (self._over or self._ending.is_set() or questions.shown(after, 1)[0]):
                    await questions.news()
        except TimeoutError:
            pass
        found, mark = questions.shown(after, most)
        state = "asked" if found else "over" if self._over else "waiting"
        if state == "over":
            questions.heard.set()
        return web.json_response({"state": state, "questions": found, "after": mark})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        questions, token = self._known(request)
        questions.came.set()
        data, call = b"", None
        try:
            data = await request.read()
            said = scrubbed_values(decoded(data), (token,))
            if not isinstance(said, dict) or not isinstance(said.get("call"), str):
                raise ValueError('write the number of the question that is answered as its "call"')
            call = said.pop("call")
            reply = read(said)
        except web.HTTPRequestEntityTooLarge:
            questions.refuse(f"it is larger than {LARGEST:,} bytes")
            raise
        except (ValueError, RecursionError) as error:
            questions.refuse(f"{error}; {beginning(data, (token,))}", call)
            raise web.HTTPBadRequest(
                text=f"this is no answer: {error}; the question is open still"
            ) from None
        try:
            questions.take(call, said, reply)
        except NotOpen as problem:
            kind = web.HTTPConflict if problem.known else web.HTTPNotFound
            raise kind(text=str(problem)) from None
        return web.json_response({"state": "taken"})


async def describe(_: web.Request) -> web.StreamResponse:
    """The description of what a guest can do, for programs."""
    return web.json_response(OPENAPI)


@web.middleware
async def told_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Say what is wrong as JSON, whatever it is."""
    try:
        return await handler(request)
    except web.HTTPRequestEntityTooLarge:
        said = f"this is too large: an answer has {LARGEST:,} bytes at most"
        return web.json_response({"error": said}, status=413)
    except web.HTTPError as refused:
        headers = {k: v for k, v in refused.headers.items() if k in ("Allow", "WWW-Authenticate")}
        said = refused.text or refused.reason
        return web.json_response({"error": said}, status=refused.status, headers=headers)


def number_in(request: web.Request, name: str, default: float, least: float, most: float) -> float:
    """A number of a request's query.

    Raises:
        HTTPBadRequest: it is none, or out of its range.
    """
    written = request.query.get(name, str(default))
    try:
        number = float(written)
    except ValueError:
        number = float("nan")
    if not least <= number <= most:
        raise web.HTTPBadRequest(text=f"{name} is a number from {least:g} to {most:g}")
    return number


def door_at(address: str, names: Iterable[str], patience: float = PATIENCE) -> Door:
    """A door at ``HOST:PORT`` or ``PORT``.

    Raises:
        CheaptalkError: the address is none, or cannot be used.
    """
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise CheaptalkError(f'"{address}" is no address: write HOST:PORT, or PORT; 0 takes any')
    return Door(names, int(port), host or HOST, patience=patience)
