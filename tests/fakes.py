"""Mock models in this process, a mock server in a thread, and small studies."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, distributions
from typing import Any, Self

import pytest
from aiohttp import web

import cheaptalk as ct
from cheaptalk.mock_models import Answerer, answer, make_mock_server, serving
from cheaptalk.mock_models.formats import completion, with_schema
from cheaptalk.mock_models.server import Handler as Responder
from cheaptalk.models import PROVIDERS, Failure, ModelCall, Reply, Usage
from cheaptalk.models.http.transport import CALL_HEADER
from cheaptalk.rules import GameSpec, registry

Answers = Callable[[ModelCall, str], Reply | str]
"""Returns a model's reply to a call with this number."""
Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse | None]]
"""Responds to a request with this body, or returns None for the default response."""

PATIENCE = 60.0
"""Timeout in seconds for expected events."""


def legal(call: ModelCall, number: str = "") -> str:
    """Return a legal answer, chosen by a hash of the conversation."""
    schema = None if call.form is None else call.form.json_schema
    return answer(with_schema([message.model_dump() for message in call.messages], schema))


class Canned:
    """Models that reply from a function; ``calls`` holds the calls and ``numbers`` their numbers.

    ``most`` is the largest number of concurrent calls so far; each call takes ``pause`` seconds
    and costs ``tokens``. No call returns before ``at_once`` calls have been in flight
    concurrently.
    """

    def __init__(
        self, answers: Answers = legal, tokens: int = 10, pause: float = 0.0, at_once: int = 1
    ) -> None:
        self.answers = answers
        self.tokens = tokens
        self.pause = pause
        self.at_once = at_once
        self.met = asyncio.Event()
        self.calls: list[ModelCall] = []
        self.numbers: list[str] = []
        self.in_flight = self.most = 0

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        self.calls.append(call)
        self.numbers.append(number)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        if self.most >= self.at_once:
            self.met.set()
        async with asyncio.timeout(PATIENCE):
            await self.met.wait()
        await asyncio.sleep(self.pause)
        self.in_flight -= 1
        reply = self.answers(call, number)
        if isinstance(reply, Reply):
            return reply
        return Reply(
            text=reply, model="canned", usage=Usage(input_tokens=self.tokens - 1, output_tokens=1)
        )


REFUSAL = Reply(failure=Failure.REFUSED, detail="no")


class Refusing(Canned):
    """A model that refuses in its first ``matches`` matches and then answers legally."""

    def __init__(self, matches: int) -> None:
        self.left = matches
        self.refused: set[str] = set()
        super().__init__(self.say)

    def say(self, call: ModelCall, number: str) -> Reply | str:
        match = number.partition("/")[0]
        if match not in self.refused and len(self.refused) < self.left:
            self.refused.add(match)
        return REFUSAL if match in self.refused else legal(call)


def broken(detail: str = "overloaded", *, retry: bool = True) -> Reply:
    """Return a provider error."""
    return Reply(failure=Failure.PROVIDER_ERROR, detail=detail, retry=retry)


def late() -> Reply:
    """Return a timeout."""
    return Reply(failure=Failure.TIMED_OUT, detail="too late", retry=True)


async def uncounting(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """Respond without token counts."""
    data = completion(body, answer(body["messages"]))
    del data["usage"]
    return web.json_response(data)


def spec(**changes: Any) -> dict[str, Any]:
    """Return the YAML data of a study of two short, scripted bargaining matches."""
    return {
        "name": "small",
        "games": [{"game": "bargaining", "fixed": {"horizon": 2}}],
        "players": {"fair": {"strategy": "equal_split"}, "firm": {"strategy": "fixed_demand"}},
        "pairing": [["fair", "firm"], ["firm", "fair"]],
    } | changes


def study(**changes: Any) -> ct.Study:
    """Return the parsed study of :func:`spec`."""
    return ct.studies.parse_study(spec(**changes), "small.yaml")


def with_model(url: str | None = None, **settings: Any) -> dict[str, Any]:
    """Return changes of the study: a model plays ``fair`` on three instances in each seat."""
    model = {"model": "vllm/tiny" + (f"@{url}" if url else "")} | settings
    return {
        "players": {"tiny": model, "fair": {"strategy": "equal_split"}},
        "pairing": [["tiny", "fair"], ["fair", "tiny"]],
        "instances": 3,
    }


def essence(record: ct.MatchRecord) -> dict[str, Any]:
    """Return a record without times and attempts, which differ between runs of a match."""
    data: dict[str, Any] = json.loads(json.dumps(record.as_json()))
    del data["started_at"], data["ended_at"]
    for given in data.get("answers", ()):
        for call in given.get("calls", ()):
            del call["sending"], call["sent"], call["received"], call["reply"]["seconds"]
    return data


class Served:
    """A web application in a thread. Use as a context manager.

    Attributes:
        url: the base URL of the API.
        root: the URL without a path.
    """

    def __init__(self, app: web.Application) -> None:
        self._serving = serving(app)

    def __enter__(self) -> Self:
        self.root = self._serving.__enter__()
        self.url = f"{self.root}/v1"
        return self

    def __exit__(self, *exception: Any) -> None:
        self._serving.__exit__(*exception)


async def nothing_special(request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
    return None


class Server(Served):
    """A mock model server in a thread, which can misbehave.

    Attributes:
        calls: the numbers of the received calls.
        bodies: the received request bodies.
        headers: the headers of the last request.
    """

    def __init__(
        self,
        answerer: Answerer = answer,
        handler: Handler = nothing_special,
        paths: Sequence[str] = ("/v1/chat/completions",),
    ) -> None:
        self.calls: list[str] = []
        self.headers: Mapping[str, str] = {}
        self.bodies: list[dict[str, Any]] = []
        special = handler

        @web.middleware
        async def watch(request: web.Request, handler: Responder) -> web.StreamResponse:
            if request.method != "POST":
                return await handler(request)
            body = await request.json()
            self.calls.append(request.headers.get(CALL_HEADER, ""))
            self.headers = request.headers
            self.bodies.append(body)
            return await special(request, body) or await handler(request)

        super().__init__(make_mock_server(answerer, paths=paths, middlewares=[watch]))


def install(monkeypatch: pytest.MonkeyPatch, points: list[EntryPoint]) -> None:
    """Pretend that packages with these entry points are installed, in addition to others."""
    installed = [point for package in distributions() for point in package.entry_points]
    monkeypatch.setattr(registry, "entry_points", lambda: EntryPoints([*installed, *points]))


def install_game(monkeypatch: pytest.MonkeyPatch, game_spec: GameSpec) -> None:
    """Register a game, replacing any game of the same name."""
    monkeypatch.setitem(registry.GAMES._here, game_spec.name, game_spec)
    monkeypatch.setattr(registry.GAMES, "_merged", None)
    for name in ("games", "_extended"):
        fresh = cache(getattr(registry, name).__wrapped__)
        monkeypatch.setattr(registry, name, fresh)


@contextmanager
def at_home(provider: str, url: str) -> Iterator[None]:
    """Set a provider's default URL to a test server, which then receives its key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROVIDERS._all(), provider, replace(PROVIDERS[provider], url=url))
        yield
