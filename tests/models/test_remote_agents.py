"""RemoteAgents: what they look at and answer, over real HTTP, and what is refused."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
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
OURS = {"Authorization": "Bearer a token of mine"}
CALL = "m/0/alice/0/0"
SOME_TIME = 7.0
TAKEN = (200, {"state": "taken"})


def call(remote_agent: str = "mine", text: str = "Your price?") -> ModelCall:
    form = AnswerForm(name="Price", json_schema=SCHEMA)
    asked = (ChatMessage(role="user", content=text),)
    return ModelCall(
        model=f"remote/{remote_agent}", messages=asked, form=form, game="negotiation", seat="alice"
    )


class Visitor:
    """Sends requests to a door, as the remote agent ``mine`` unless it says otherwise."""

    def __init__(self, door: AgentServer, session: aiohttp.ClientSession) -> None:
        self.door = door
        self.session = session

    async def look(
        self, name: str = "mine", headers: dict[str, str] = OURS, **query: Any
    ) -> tuple[int, Any]:
        asked = self.session.get(self.door.url_of(name), headers=headers, params=query)
        async with asked as response:
            return response.status, await response.json()

    async def requests(self, **query: Any) -> list[str]:
        """The numbers of the listed requests."""
        status, seen = await self.look(**query)
        assert status == 200
        return [one["call"] for one in seen["requests"]]

    async def answer(
        self, said: Any = None, name: str = "mine", headers: dict[str, str] = OURS, **sent: Any
    ) -> tuple[int, Any]:
        sent = sent or {"json": said}
        url = f"{self.door.url_of(name)}/answers"
        async with self.session.post(url, headers=headers, **sent) as response:
            return response.status, await response.json()


@asynccontextmanager
async def visiting(door: AgentServer) -> AsyncIterator[Visitor]:
    async with aiohttp.ClientSession() as session:
        yield Visitor(door, session)


def asked(
    visit: Callable[[Visitor], Awaitable[None]], *calls: ModelCall, deadline: float = PATIENCE
) -> list[Reply]:
    """The replies to calls, numbered by their places, to a door that is visited so."""

    async def all_of_it(door: AgentServer) -> list[Reply]:
        async with visiting(door) as visitor, asyncio.timeout(PATIENCE):
            made = [
                asyncio.create_task(door.call(one, f"m/{place}/alice/0/0", deadline))
                for place, one in enumerate(calls)
            ]
            await visit(visitor)
            return await asyncio.gather(*made)

    with AgentServer(TOKENS, 0, tokens=TOKENS) as door:
        return asyncio.run(all_of_it(door))


def test_a_remote_agent_is_shown_what_an_agent_is_posted_and_answers_as_one_does() -> None:
    seen: list[Any] = []

    async def visit(visitor: Visitor) -> None:
        seen.append(await visitor.look(wait=20))
        used = {"input_tokens": 3, "output_tokens": 2}
        said = {"call": CALL, "answer": {"price": 7}, "model": "mine-2", "usage": used}
        assert await visitor.answer(said) == TAKEN
        seen.append(await visitor.look())

    (reply,) = asked(visit, call())
    (_, first), (_, then) = seen
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
def time_is_up(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Set it, and the time of all questions is up whose deadline is :data:`SOME_TIME`."""
    event, wait = Event(), asyncio.wait

    async def waited(these: Any, *, timeout: float | None = None, **how: Any) -> Any:
        if timeout == SOME_TIME:
            assert await asyncio.to_thread(event.wait, PATIENCE)
            timeout = 0
        return await wait(these, timeout=timeout, **how)

    monkeypatch.setattr(asyncio, "wait", waited)
    return event


def test_a_question_is_shown_until_it_is_answered_and_the_same_answer_is_taken_once() -> None:
    async def visit(visitor: Visitor) -> None:
        assert await visitor.requests(wait=20) == [CALL]  # fetched, and lost on the way
        assert await visitor.requests() == [CALL]
        said = {"call": CALL, "text": "I ask 7."}
        assert await visitor.answer(said) == TAKEN
        assert await visitor.answer(said) == TAKEN
        status, problem = await visitor.answer({"call": CALL, "text": "I ask 8."})
        assert status == 409
        assert "already has a different answer" in problem["error"]

    (reply,) = asked(visit, call())
    assert (reply.text, reply.route) == ("I ask 7.", "text")


def test_several_are_answered_in_any_order_and_those_behind_a_mark_are_shown_alone() -> None:
    numbers = [f"m/{place}/alice/0/0" for place in range(3)]

    async def visit(visitor: Visitor) -> None:
        while len(await visitor.requests(wait=20)) < 3:
            pass
        _, first = await visitor.look(max=2)
        assert [one["call"] for one in first["requests"]] == numbers[:2]
        assert await visitor.requests(after=first["after"]) == numbers[2:]
        assert await visitor.requests(after="of another run-17") == numbers
        for number in reversed(numbers):
            assert await visitor.answer({"call": number, "text": f"to {number}"}) == TAKEN

    replies = asked(visit, *(call(text=f"{place}?") for place in range(3)))
    assert [one.text for one in replies] == [f"to {number}" for number in numbers]


def test_an_answer_that_is_late_is_refused_and_the_call_has_timed_out() -> None:
    async def visit(visitor: Visitor) -> None:
        assert await visitor.requests(wait=20) == [CALL]
        while await visitor.requests():
            pass
        status, problem = await visitor.answer({"call": CALL, "text": "I ask 7."})
        assert status == 409
        assert "it timed out" in problem["error"]

    (reply,) = asked(visit, call(), deadline=0.2)
    assert (reply.failure, reply.retry) == (Failure.TIMED_OUT, True)
    assert reply.detail == "the remote agent mine gave no answer within 0.2 seconds"


def test_a_remote_agent_that_never_comes_is_told_as_one_that_cannot_be_reached() -> None:
    with AgentServer(TOKENS, 0, tokens=TOKENS, patience=0.05) as door:
        reply = asyncio.run(door.call(call(), CALL, 30))
        assert reply.detail == (
            f"remote agent mine has not connected to {door.url}/agents/mine within 0.05 "
            "seconds: start it with this URL and the displayed token"
        )
    assert (reply.failure, reply.unreached) == (Failure.PROVIDER_ERROR, True)


def test_a_remote_agent_with_another_token_has_not_come_and_is_told_of() -> None:
    async def turned_away(door: AgentServer) -> Reply:
        async with visiting(door) as visitor, asyncio.timeout(PATIENCE):
            for _ in range(2):
                assert (await visitor.look("mine", {"Authorization": "Bearer guessed"}))[0] == 401
            return await door.call(call(), CALL, PATIENCE)

    with AgentServer(TOKENS, 0, tokens=TOKENS, patience=0) as door:
        reply = asyncio.run(turned_away(door))
    assert "in 0 seconds (2 requests had a wrong token): start it" in (reply.detail or "")


def test_patience_with_a_remote_agent_that_never_came_is_that_of_a_run_and_not_of_each_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr(
        "cheaptalk.models.remote_agents.agent_server.time",
        SimpleNamespace(monotonic=lambda: clock[0]),
    )

    async def waiting(door: AgentServer) -> None:
        async with visiting(door) as visitor, asyncio.timeout(PATIENCE):
            assert (await door.call(call(), CALL, PATIENCE)).unreached
            door.patience = clock[0] = 600.0
            assert (await door.call(call(), CALL, PATIENCE)).unreached, "at once"
            door.begin()
            again = asyncio.create_task(door.call(call(), CALL, PATIENCE))
            await asyncio.sleep(0)
            while not await visitor.requests(wait=20):
                pass
            assert await visitor.answer({"call": CALL, "text": "7"}) == TAKEN
            assert (await again).text == "7"

    with AgentServer(TOKENS, 0, tokens=TOKENS, patience=0) as door:
        asyncio.run(waiting(door))


def test_calls_to_a_remote_agent_that_never_came_are_given_up_when_the_run_stops() -> None:
    async def stopped(door: AgentServer) -> list[Reply]:
        async with visiting(door) as visitor, asyncio.timeout(PATIENCE):
            await visitor.look()
            came = asyncio.create_task(door.call(call(), CALL, PATIENCE))
            early = asyncio.create_task(door.call(call("other"), "m/1/bob/0/0", PATIENCE))
            assert await visitor.requests(wait=20) == [CALL]
            door.halt()
            late = await door.call(call("other"), "m/2/bob/0/0", PATIENCE)
            gone = [await early, late]
            assert await visitor.answer({"call": CALL, "text": "7"}) == TAKEN
            return [*gone, await came]

    with AgentServer(TOKENS, 0, tokens=TOKENS) as door:
        *gone, came = asyncio.run(stopped(door))
    assert {one.detail for one in gone} == {"the run stopped before the remote agent connected"}
    assert [one.unreached for one in gone] == [True, True]
    assert came.text == "7"


NONSENSE: list[tuple[dict[str, Any], int, str]] = [
    ({"data": b"7 dollars"}, 400, "invalid answer"),
    ({"json": [CALL]}, 400, 'set "call" to the id of the request'),
    ({"json": {"answer": {"price": 7}}}, 400, 'set "call"'),
    ({"json": {"call": CALL}}, 400, "an agent answers with either"),
    ({"json": {"call": CALL, "anwser": {"price": 7}}}, 400, "unknown field `anwser`"),
    ({"json": {"call": CALL, "text": "7", "seat": "bob"}}, 400, "unknown field `seat`"),
    ({"json": {"call": "m/7/bob/0/0", "text": "7"}}, 404, 'has no request "m/7/bob/0/0"'),
    ({"data": b"[" * 100_000}, 400, "invalid answer"),
    ({"data": BytesIO(b"7" * 2**20)}, 413, f"the maximum is {LARGEST:,} bytes"),
]


@pytest.mark.parametrize(("sent", "status", "why"), NONSENSE, ids=[one[2] for one in NONSENSE])
def test_nonsense_is_refused_and_the_question_stays_open(
    sent: dict[str, Any], status: int, why: str
) -> None:
    async def visit(visitor: Visitor) -> None:
        assert await visitor.requests(wait=20) == [CALL]
        found, problem = await visitor.answer(**sent)
        assert (found, why in problem["error"]) == (status, True), problem
        assert await visitor.requests() == [CALL]
        assert await visitor.answer({"call": CALL, "text": "I ask 7."}) == TAKEN

    (reply,) = asked(visit, call())
    assert reply.text == "I ask 7."


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({"data": b"7 dollars, a token of mine"}, "it begins with: 7 dollars, [key]"),
        ({"json": [CALL]}, f'it begins with: ["{CALL}"]'),
        ({"json": {"call": CALL, "answer": 7}}, "Expected `object | null`, got `int`"),
        ({"json": {"call": [CALL], "text": "7"}}, 'set "call"'),
        ({"data": BytesIO(b"7" * 2**20)}, f"the answer is larger than {LARGEST:,} bytes"),
    ],
    ids=["words", "list", "wrong type", "wrong call", "megabyte"],
)
def test_who_sends_nonsense_alone_is_recorded_as_that_and_not_as_late(
    time_is_up: Event, sent: dict[str, Any], why: str
) -> None:
    async def visit(visitor: Visitor) -> None:
        assert await visitor.requests(wait=20) == [CALL]
        assert (await visitor.answer(**sent))[0] in (400, 413)
        time_is_up.set()

    (reply,) = asked(visit, call(), deadline=SOME_TIME)
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, True)
    assert reply.detail is not None
    assert reply.detail.startswith("the remote agent mine has sent only invalid answers: ")
    assert why in reply.detail
    assert len(reply.detail) < 400


def test_nonsense_to_one_question_says_nothing_of_another(time_is_up: Event) -> None:
    async def visit(visitor: Visitor) -> None:
        while len(await visitor.requests(wait=20)) < 2:
            pass
        assert (await visitor.answer({"call": CALL, "answer": 7}))[0] == 400
        time_is_up.set()

    replies = asked(visit, call(), call(), deadline=SOME_TIME)
    assert [one.failure for one in replies] == [Failure.PROVIDER_ERROR, Failure.TIMED_OUT]


def test_a_remote_agent_s_own_complaint_is_told() -> None:
    async def visit(visitor: Visitor) -> None:
        assert await visitor.requests(wait=20) == [CALL]
        assert await visitor.answer({"call": CALL, "error": "no such game"}) == TAKEN

    (reply,) = asked(visit, call())
    assert (reply.failure, reply.detail) == (
        Failure.PROVIDER_ERROR,
        "status 500: no such game",
    )


@pytest.mark.parametrize(
    ("name", "headers"),
    [
        ("other", OURS),
        ("nobody", OURS),
        ("mine", {}),
        ("mine", {"Authorization": "Bearer"}),
        ("mine", {"Authorization": "Basic a token of mine"}),
        ("mine", {"Authorization": "Bearer a token of miné"}),
    ],
)
def test_no_remote_agent_sees_or_answers_what_another_is_asked(
    name: str, headers: dict[str, str]
) -> None:
    async def visit(visitor: Visitor) -> None:
        refusals = [
            await visitor.look(name, headers, wait=20),
            await visitor.answer({"call": CALL, "text": "mine now"}, name, headers),
        ]
        assert [status for status, _ in refusals] == [401, 401]
        why = (
            f'invalid token for remote agent "{name}"; send the token printed at the start of '
            f"the run"
        )
        assert all(said["error"].startswith(why) for _, said in refusals)
        _, problem = await visitor.answer({"call": CALL, "text": "mine now"})
        assert "this remote agent has no request" in problem["error"]
        theirs = {"Authorization": f"Bearer {TOKENS['other']}"}
        assert await visitor.answer({"call": CALL, "text": "7"}, "other", theirs) == TAKEN

    (reply,) = asked(visit, call("other"))
    assert reply.text == "7"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"wait": "long"}, "wait must be a number from 0 to 60"),
        ({"wait": "nan"}, "wait must be a number from 0 to 60"),
        ({"wait": "61"}, "wait must be a number from 0 to 60"),
        ({"max": "0"}, "max must be a number from 1 to 64"),
    ],
)
def test_a_look_that_asks_for_what_cannot_be_is_refused(query: dict[str, Any], why: str) -> None:
    async def visit(visitor: Visitor) -> None:
        assert await visitor.look(**query) == (400, {"error": why})

    asked(visit)


def test_a_token_is_in_no_reply_and_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def visit(visitor: Visitor) -> None:
        await visitor.look(wait=20)
        said = {"call": CALL, "answer": {"price": "a token of mine"}, "model": "A Token of Mine"}
        assert await visitor.answer(said) == TAKEN

    (reply,) = asked(visit, call())
    assert (reply.text, reply.model) == ('{"price":"[key]"}', "[key]")
    assert "a token of mine" not in caplog.text


def test_who_waits_hears_that_it_is_over_and_it_goes_on_where_more_is_asked() -> None:
    async def together(door: AgentServer) -> None:
        async with visiting(door) as visitor, asyncio.timeout(PATIENCE):
            await visitor.look()
            waits = asyncio.create_task(visitor.look(wait=60))
            await asyncio.to_thread(door.conclude)
            assert (await waits)[1]["state"] == "over"
            door.begin()
            reply = asyncio.create_task(door.call(call(), CALL, PATIENCE))
            while not await visitor.requests():
                pass
            assert await visitor.answer({"call": CALL, "text": "7"}) == TAKEN
            assert (await reply).text == "7"

    with AgentServer(TOKENS, 0, tokens=TOKENS) as door:
        asyncio.run(together(door))


def test_who_waits_is_let_go_when_the_door_closes() -> None:
    async def closing() -> Any:
        door = AgentServer(TOKENS, 0, tokens=TOKENS).__enter__()
        async with visiting(door) as visitor, asyncio.timeout(PATIENCE):
            await visitor.look()
            waits = asyncio.create_task(visitor.look(wait=60))
            await asyncio.sleep(0)
            await asyncio.to_thread(door.__exit__, None, None, None)
            return (await waits)[1]["state"]

    assert asyncio.run(closing()) == "waiting"


def test_the_description_has_the_routes_and_the_answers_that_there_are() -> None:
    async def visit(visitor: Visitor) -> None:
        async with visitor.session.get(f"{visitor.door.url}/openapi.json") as response:
            assert await response.json() == OPENAPI
        for method in ("PUT", "DELETE", "PATCH"):
            async with visitor.session.request(method, visitor.door.url_of("mine")) as response:
                assert response.status == 405
                assert {*response.headers["Allow"].split(",")} == {"GET"}
        async with visitor.session.get(f"{visitor.door.url}/agents") as response:
            assert (response.status, await response.json()) == (404, {"error": "404: Not Found"})

    asked(visit)
    routes = AgentServer(TOKENS, 0, tokens=TOKENS).app().router.routes()
    there = {(one.method, one.resource.canonical) for one in routes if one.resource is not None}
    told = {
        (method.upper(), path)
        for path, methods in OPENAPI["paths"].items()
        for method in methods if method != "parameters"
    }  # fmt: skip
    assert told == there
    answer = OPENAPI["components"]["schemas"]["Answer"]["properties"]
    taken = {"answer", "text", "model", "usage", "error"}
    assert set(answer) == {"call"} | taken == {"call"} | set(AgentReply.__struct_fields__)
    assert set(answer["usage"]["properties"]) == set(Usage.model_fields)
    shown = OPENAPI["components"]["schemas"]["Request"]["properties"]
    assert set(shown) == set(body(call(), CALL))


def test_tokens_come_from_the_environment_or_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "mine=open-sesame, third=not-in-this-run")
    first, again = AgentServer(["mine", "other"], 0), AgentServer(["mine", "other"], 0)
    assert first.token_of("mine") == again.token_of("mine") == "open-sesame"
    assert len({first.token_of("other"), again.token_of("other"), "open-sesame"}) == 3
    assert len(first.token_of("other")) >= 32


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("open-sesame", "write NAME=TOKEN for each remote agent"),
        ("mine=short", "the token of mine must have at least 8 printable ASCII characters"),
        ("mine=öffne-dich", "the token of mine must have"),
        ("mine=open-sesame,other=open-sesame", "two remote agents have the same token"),
    ],
)
def test_tokens_that_cannot_be_are_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, written: str, why: str
) -> None:
    monkeypatch.setenv(VARIABLE, written)
    with pytest.raises(ct.CheaptalkError, match=why) as refused:
        AgentServer(["mine", "other"], 0)
    assert not any(word in str(refused.value) for word in ("sesame", "short", "dich"))


@pytest.mark.parametrize("address", ["mine", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ct.CheaptalkError, match="write HOST:PORT, or PORT; 0 picks a free port"):
        agent_server_at(address, ["mine"])


def functions_reply(agent: Any, deadline: float = PATIENCE) -> Reply:
    return asyncio.run(Functions({"mine": agent}).call(call(), CALL, deadline))


async def slow(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(PATIENCE)
    return "too late"


async def waits(messages: list[dict[str, str]]) -> str:
    return f"to {messages[-1]['content']}"


class Said:
    """What a library's agent answers with."""

    def __init__(self, **said: Any) -> None:
        vars(self).update(said)


class Invoked:
    """An agent as LangChain has them."""

    def invoke(self, messages: list[dict[str, str]]) -> Said:
        return Said(content=f"to {messages[-1]['content']}")


class Runner:
    """One that is run, as in OpenAI's library of agents."""

    async def run(self, messages: list[dict[str, str]]) -> Said:
        return Said(final_output=f"to {messages[-1]['content']}")


@pytest.mark.parametrize(
    "agent",
    [
        waits,
        lambda messages: f"to {messages[-1]['content']}",
        lambda messages: waits(messages),
        lambda messages: Said(text=f"to {messages[-1]['content']}"),
        Invoked(),
        Runner(),
    ],
    ids=["asynchronous", "plain", "awaitable", "object", "invoke", "run"],
)
def test_functions_and_objects_of_this_process_answer_in_words(agent: Any) -> None:
    reply = functions_reply(agent)
    assert (reply.text, reply.route) == ("to Your price?", "text")


def test_a_function_may_answer_with_the_fields_of_the_form() -> None:
    reply = functions_reply(lambda messages: {"price": 7})
    assert (reply.text, reply.route) == ('{"price":7}', "schema")


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (7, "int is not an agent: pass a function of chat messages"),
        (lambda messages: 7, "returned int; return a text"),
        (lambda messages: messages[9], "IndexError"),
        (lambda: "7", "takes 0 positional arguments"),
    ],
)
def test_a_function_that_fails_is_told_as_its_failure(agent: Any, why: str) -> None:
    reply = functions_reply(agent)
    assert (reply.failure, reply.retry) == (Failure.PROVIDER_ERROR, False)
    assert "the agent failed" in (reply.detail or "")
    assert why in (reply.detail or "")


def test_a_function_that_hangs_times_out_and_nobody_waits_for_it() -> None:
    let_go = Event()
    for agent in (slow, lambda messages: let_go.wait(2 * PATIENCE)):
        reply = functions_reply(agent, deadline=0.05)
        assert reply.failure is Failure.TIMED_OUT
        assert reply.detail == "no answer within 0.05 seconds"
    assert not let_go.is_set()
    let_go.set()


def test_a_remote_agent_s_model_string_is_its_name_alone() -> None:
    assert ct.models.ModelName.parse("remote/mine-2.1").model == "mine-2.1"
    for written in ("remote/mine@http://127.0.0.1:8140", "remote/a/b", "remote/a b", "remote/..?"):
        with pytest.raises(ValueError, match="a remote agent has no URL"):
            ct.models.ModelName.parse(written)
