"""Remote agents: requests and answers over real HTTP, and rejected ones."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from threading import Event
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

import cheaptalk as ct
from cheaptalk.models import AnswerForm, ChatMessage, Failure, ModelCall, Reply, Usage
from cheaptalk.models.http.agent import LARGEST, AgentReply, body
from cheaptalk.models.remote_agents import AgentServer, Functions, agent_server_at
from cheaptalk.models.remote_agents.agent_server import VARIABLE
from cheaptalk.models.remote_agents.openapi import OPENAPI
from tests.fakes import PATIENCE

SCHEMA = {"type": "object", "properties": {"price": {"type": "integer"}}}
TOKENS = {"mine": "a token of mine", "other": "another token"}
HEADERS = {"Authorization": "Bearer a token of mine"}
CALL = "m/0/alice/0/0"
EXPIRING = 7.0
ACCEPTED = (200, {"state": "taken"})


def call(remote_agent: str = "mine", text: str = "Your price?") -> ModelCall:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    chat = (ChatMessage(role="user", content=text),)
    return ModelCall(
        model=f"remote/{remote_agent}", messages=chat, form=form, game="negotiation", seat="alice"
    )


class Client:
    """A client of an agent server, by default as the remote agent ``mine``."""

    def __init__(self, server: AgentServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    def ask(
        self, request: ModelCall, number: str = CALL, deadline: float = PATIENCE
    ) -> "asyncio.Task[Reply]":
        """Start a call to a remote agent."""
        return asyncio.create_task(self.server.call(request, number, deadline))

    async def look(
        self, name: str = "mine", headers: dict[str, str] = HEADERS, **query: Any
    ) -> tuple[int, Any]:
        request = self.session.get(self.server.url_of(name), headers=headers, params=query)
        async with request as response:
            return response.status, await response.json()

    async def requests(self, count: int = 0, **query: Any) -> list[str]:
        """Return the numbers of the listed requests, when there are at least ``count``."""
        while True:
            status, seen = await self.look(wait=20 if count else 0, **query)
            assert status == 200
            if len(seen["requests"]) >= count:
                return [request["call"] for request in seen["requests"]]

    async def answer(
        self, answer: Any = None, name: str = "mine", headers: dict[str, str] = HEADERS, **sent: Any
    ) -> tuple[int, Any]:
        sent = sent or {"json": answer}
        url = f"{self.server.url_of(name)}/answers"
        async with self.session.post(url, headers=headers, **sent) as response:
            return response.status, await response.json()


@pytest.fixture
def server() -> Iterator[AgentServer]:
    with AgentServer(TOKENS, 0, tokens=TOKENS) as opened:
        yield opened


@pytest.fixture
async def client(server: AgentServer) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession() as session, asyncio.timeout(2 * PATIENCE):
        yield Client(server, session)


async def test_remote_agent_gets_same_request_as_http_agent(client: Client) -> None:
    pending = client.ask(call())
    _, first = await client.look(wait=20)
    usage = {"input_tokens": 3, "output_tokens": 2}
    answer = {"call": CALL, "answer": {"price": 7}, "model": "mine-2", "usage": usage}
    assert await client.answer(answer) == ACCEPTED
    _, then = await client.look()
    reply = await pending
    assert first["state"] == "open"
    assert first["requests"] == [
        {
            "call": CALL,
            "agent": "mine",
            "game": "negotiation",
            "seat": "alice",
            "messages": [{"role": "user", "content": "Your price?"}],
            "form": {"name": "Price", "schema": SCHEMA},
        }
    ]
    assert (then["state"], then["requests"]) == ("waiting", [])
    assert (reply.text, reply.route, reply.model) == ('{"price":7}', "schema", "mine-2")
    assert reply.usage == Usage(input_tokens=3, output_tokens=2)


@pytest.fixture
def expire(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Return an event that expires all requests with the deadline :data:`EXPIRING`."""
    event, wait = Event(), asyncio.wait

    async def wait_or_expire(tasks: Any, *, timeout: float | None = None, **options: Any) -> Any:
        if timeout == EXPIRING:
            assert await asyncio.to_thread(event.wait, PATIENCE)
            timeout = 0
        return await wait(tasks, timeout=timeout, **options)

    monkeypatch.setattr(asyncio, "wait", wait_or_expire)
    return event


async def test_request_stays_open_until_answered_once(client: Client) -> None:
    pending = client.ask(call())
    assert await client.requests(1) == [CALL]  # fetched, then lost in transit
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"data": b"7 dollars"}, 400, "invalid answer"),
        ({"json": [CALL]}, 400, 'set "call" to the id of the request'),
        ({"json": {"answer": {"price": 7}}}, 400, 'set "call"'),
        ({"json": {"call": CALL}}, 400, "an agent answers with either"),
        ({"json": {"call": CALL, "text": "7", "seat": "bob"}}, 400, "unknown field `seat`"),
        ({"json": {"call": "m/7/bob/0/0", "text": "7"}}, 404, 'no request "m/7/bob/0/0"'),
        ({"data": b"[" * 100_000}, 400, "invalid answer"),
        ({"data": BytesIO(b"7" * 2**20)}, 413, f"the maximum is {LARGEST:,} bytes"),
    ]
    for sent, status, why in cases:
        answer_status, problem = await client.answer(**sent)
        assert (answer_status, why in problem["error"]) == (status, True), problem
        assert await client.requests() == [CALL]
    answer = {"call": CALL, "text": "I ask 7."}
    assert await client.answer(answer) == ACCEPTED
    assert await client.answer(answer) == ACCEPTED
    status, problem = await client.answer({"call": CALL, "text": "I ask 8."})
    assert status == 409
    assert "already has a different answer" in problem["error"]
    reply = await pending
    assert (reply.text, reply.route) == ("I ask 7.", "text")


async def test_requests_are_answered_in_any_order_and_paged(client: Client) -> None:
    numbers = [f"m/{place}/alice/0/0" for place in range(3)]
    pending = [client.ask(call(text=f"{number}?"), number) for number in numbers]
    assert await client.requests(3) == numbers
    _, first = await client.look(max=2)
    assert [request["call"] for request in first["requests"]] == numbers[:2]
    assert await client.requests(after=first["after"]) == numbers[2:]
    assert await client.requests(after="of another run-17") == numbers
    for number in reversed(numbers):
        assert await client.answer({"call": number, "text": f"to {number}"}) == ACCEPTED
    assert [(await reply).text for reply in pending] == [f"to {number}" for number in numbers]


async def test_agent_that_never_connects_is_unreachable(client: Client) -> None:
    client.server.patience = 0.05
    before = await client.ask(call())
    for _ in range(2):
        assert (await client.look("mine", {"Authorization": "Bearer guessed"}))[0] == 401
    after = await client.ask(call())
    for reply, strangers in ((before, ""), (after, " (2 requests had a wrong token)")):
        assert reply.detail == (
            f"remote agent mine has not connected to {client.server.url}/agents/mine within 0.05 "
            f"seconds{strangers}: start it with this URL and the displayed token"
        )
        assert (reply.failure, reply.unreached) == (Failure.PROVIDER_ERROR, True)


async def test_connection_timeout_applies_to_run_not_to_call(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, server = [0.0], client.server
    monkeypatch.setattr(
        "cheaptalk.models.remote_agents.agent_server.time",
        SimpleNamespace(monotonic=lambda: clock[0]),
    )
    server.patience = 0
    assert (await client.ask(call())).unreached
    server.patience = clock[0] = 600.0
    assert (await client.ask(call())).unreached, "at once"
    server.begin()
    second = client.ask(call(), deadline=0.2)
    await asyncio.sleep(0)
    await client.requests(1)
    late = await second
    assert (late.failure, late.retry) == (Failure.TIMED_OUT, True)
    assert late.detail == "the remote agent mine gave no answer within 0.2 seconds"
    status, problem = await client.answer({"call": CALL, "text": "I ask 7."})
    assert (status, "it timed out" in problem["error"]) == (409, True)


async def test_calls_to_unconnected_agent_fail_when_run_stops(client: Client) -> None:
    await client.look()
    connected_call = client.ask(call())
    early = client.ask(call("other"), "m/1/bob/0/0")
    assert await client.requests(1) == [CALL]
    client.server.halt()
    late = client.ask(call("other"), "m/2/bob/0/0")
    for reply in (await early, await late):
        assert reply.detail == "the run stopped before the remote agent connected"
        assert reply.unreached
    assert await client.answer({"call": CALL, "text": "7"}) == ACCEPTED
    assert (await connected_call).text == "7"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"json": {"call": CALL, "answer": 7}}, "Expected `object | null`, got `int`"),
        ({"data": b"7 dollars, a token of mine"}, "it begins with: 7 dollars, [key]"),
        ({"data": BytesIO(b"7" * 2**20)}, f"the answer is larger than {LARGEST:,} bytes"),
    ],
    ids=["wrong type", "words", "megabyte"],
)
async def test_only_invalid_answers_are_provider_error_not_timeout(
    client: Client, expire: Event, sent: dict[str, Any], why: str
) -> None:
    pending = [client.ask(call(), number, EXPIRING) for number in (CALL, "m/1/alice/0/0")]
    await client.requests(2)
    assert (await client.answer(**sent))[0] in (400, 413)
    expire.set()
    first, second = await asyncio.gather(*pending)
    assert (first.failure, first.retry) == (Failure.PROVIDER_ERROR, True)
    assert (first.detail or "").startswith("the remote agent mine has sent only invalid answers: ")
    assert why in (first.detail or "")
    assert len(first.detail or "") < 400
    attributed = "json" in sent  # without a call id, it may be the answer to any request
    assert second.failure is (Failure.TIMED_OUT if attributed else Failure.PROVIDER_ERROR)


async def test_agents_cannot_access_requests_of_others(client: Client) -> None:
    pending = client.ask(call("other"))
    for name, headers in [
        ("other", HEADERS),
        ("nobody", HEADERS),
        ("mine", {}),
        ("mine", {"Authorization": "Basic a token of mine"}),
        ("mine", {"Authorization": "Bearer a token of miné"}),
    ]:
        error = f'invalid token for remote agent "{name}"; send the token printed at the start'
        for status, refusal in [
            await client.look(name, headers, wait=20),
            await client.answer({"call": CALL, "text": "mine now"}, name, headers),
        ]:
            assert (status, refusal["error"].startswith(error)) == (401, True)
    _, problem = await client.answer({"call": CALL, "text": "mine now"})
    assert "this remote agent has no request" in problem["error"]
    other_headers = {"Authorization": f"Bearer {TOKENS['other']}"}
    assert await client.answer({"call": CALL, "text": "7"}, "other", other_headers) == ACCEPTED
    assert (await pending).text == "7"


async def test_token_is_redacted_in_replies_and_logs(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    pending = client.ask(call())
    await client.look(wait=20)
    answer = {"call": CALL, "answer": {"price": "a token of mine"}, "model": "A Token of Mine"}
    assert await client.answer(answer) == ACCEPTED
    reply = await pending
    assert (reply.text, reply.model) == ('{"price":"[key]"}', "[key]")
    assert "a token of mine" not in caplog.text


async def test_waiting_agent_sees_end_of_run_and_next_run() -> None:
    server = AgentServer(TOKENS, 0, tokens=TOKENS).__enter__()
    async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE):
        client = Client(server, session)
        await client.look()
        waiting_look = asyncio.create_task(client.look(wait=60))
        await asyncio.to_thread(server.conclude)
        assert (await waiting_look)[1]["state"] == "over"
        server.begin()
        reply = client.ask(call())
        await client.requests(1)
        assert await client.answer({"call": CALL, "text": "7"}) == ACCEPTED
        assert (await reply).text == "7"
        waiting_look = asyncio.create_task(client.look(wait=60))
        await asyncio.sleep(0)
        await asyncio.to_thread(server.__exit__, None, None, None)
        assert (await waiting_look)[1]["state"] == "waiting", "the server has closed"


async def test_openapi_description_matches_routes_and_schemas(client: Client) -> None:
    async with client.session.get(f"{client.server.url}/openapi.json") as response:
        assert await response.json() == OPENAPI
    async with client.session.put(client.server.url_of("mine")) as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET")
    async with client.session.get(f"{client.server.url}/agents") as response:
        assert (response.status, await response.json()) == (404, {"error": "404: Not Found"})
    for query, limits in (("wait", "0 to 60"), ("max", "1 to 64")):
        for number in ("long", "nan", "65"):
            error = {"error": f"{query} must be a number from {limits}"}
            assert await client.look("mine", HEADERS, **{query: number}) == (400, error)
    routes = AgentServer(TOKENS, 0, tokens=TOKENS).app().router.routes()
    actual = {
        (route.method, route.resource.canonical) for route in routes if route.resource is not None
    }
    described = {
        (method.upper(), path)
        for path, methods in OPENAPI["paths"].items()
        for method in methods
        if method != "parameters"
    }
    assert described == actual
    fields = {
        name: set(schema["properties"]) for name, schema in OPENAPI["components"]["schemas"].items()
    }
    assert fields["Answer"] == {"call", *AgentReply.__struct_fields__}
    assert fields["AgentUsage"] == set(Usage.model_fields)
    assert fields["AgentRequest"] == set(body(call(), CALL))


def test_tokens_are_read_from_environment_or_random(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "mine=open-sesame, third=not-in-this-run")
    first, second = AgentServer(["mine", "other"], 0), AgentServer(["mine", "other"], 0)
    assert first.token_of("mine") == second.token_of("mine") == "open-sesame"
    assert len({first.token_of("other"), second.token_of("other"), "open-sesame"}) == 3
    assert len(first.token_of("other")) >= 32


def test_invalid_tokens_are_rejected_without_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, why in [
        ("open-sesame", "write NAME=TOKEN for each remote agent"),
        ("mine=short", "the token of mine must have at least 8 printable ASCII characters"),
        ("mine=öffne-dich", "the token of mine must have"),
        ("mine=open-sesame,other=open-sesame", "two remote agents have the same token"),
    ]:
        monkeypatch.setenv(VARIABLE, text)
        with pytest.raises(ct.CheaptalkError, match=why) as caught:
            AgentServer(["mine", "other"], 0)
        assert not any(word in str(caught.value) for word in ("sesame", "short", "dich"))


def test_invalid_address_is_rejected() -> None:
    for address in ["mine", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", ""]:
        with pytest.raises(
            ct.CheaptalkError, match="write HOST:PORT, or PORT; 0 picks a free port"
        ):
            agent_server_at(address, ["mine"])


async def functions_reply(agent: Any, deadline: float = PATIENCE) -> Reply:
    return await Functions({"mine": agent}).call(call(), CALL, deadline)


async def slow(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(PATIENCE)
    return "too late"


async def echo(messages: list[dict[str, str]]) -> str:
    return f"to {messages[-1]['content']}"


async def test_functions_and_objects_answer_with_text_or_fields() -> None:
    async def run(messages: list[dict[str, str]]) -> Any:
        return SimpleNamespace(final_output=await echo(messages))

    def invoke(messages: list[dict[str, str]]) -> Any:
        return SimpleNamespace(content=f"to {messages[-1]['content']}")

    for agent in [
        echo,
        lambda messages: f"to {messages[-1]['content']}",
        lambda messages: echo(messages),
        lambda messages: SimpleNamespace(text=f"to {messages[-1]['content']}"),
        SimpleNamespace(invoke=invoke),  # as in LangChain
        SimpleNamespace(run=run),  # as in OpenAI's agent library
    ]:
        reply = await functions_reply(agent)
        assert (reply.text, reply.route) == ("to Your price?", "text")
    fields = await functions_reply(lambda messages: {"price": 7})
    assert (fields.text, fields.route) == ('{"price":7}', "schema")


async def test_failing_function_is_provider_error() -> None:
    for agent, why in [
        (7, "int is not an agent: pass a function of chat messages"),
        (lambda messages: 7, "returned int; return a text"),
        (lambda messages: messages[9], "IndexError"),
        (lambda: "7", "takes 0 positional arguments"),
    ]:
        reply = await functions_reply(agent)
        assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, False)
        assert "the agent failed" in (reply.detail or "")
        assert why in (reply.detail or "")


async def test_hanging_function_times_out_without_blocking() -> None:
    released = Event()
    for agent in (slow, lambda messages: released.wait(2 * PATIENCE)):
        reply = await functions_reply(agent, deadline=0.05)
        assert reply.failure is Failure.TIMED_OUT
        assert reply.detail == "no answer within 0.05 seconds"
    assert not released.is_set()
    released.set()
