"""A remote agent's seat by the Model Context Protocol, played by the official client."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.loopback import listening
from cheaptalk.models.remote_agents import AgentServer
from tests.adapters.remote_agents import NAME, TOKEN, every_game, said
from tests.fakes import PATIENCE, study

mcp = pytest.importorskip("mcp")
CALLED = [sys.executable, "-m", "cheaptalk"]
GOES_ON = 40
"""Answers after which the run is killed."""


@asynccontextmanager
async def seated(url: str, token: str = TOKEN) -> AsyncIterator[Any]:
    """The official client's session with ``cheaptalk model mcp`` over standard input and output."""
    stdio = import_module("mcp.client.stdio").stdio_client
    words = [*CALLED[1:], "model", "mcp", url]
    environment = {**os.environ, "CHEAPTALK_AGENT_TOKEN": token}
    there = mcp.StdioServerParameters(command=CALLED[0], args=words, env=environment)
    async with stdio(there) as (reading, writing), mcp.ClientSession(reading, writing) as session:
        await session.initialize()
        yield session


async def used(session: Any, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Whether a tool worked, and what it showed: data, or words where it did not."""
    found = await session.call_tool(tool, arguments)
    failed = getattr(found, "isError", None) or getattr(found, "is_error", False)
    (part,) = found.content
    return not failed, part.text if failed else json.loads(part.text)


async def play(session: Any, after: Callable[[int], Awaitable[None]]) -> list[str]:
    """Play until it is over, by what the tools show alone: the numbers of the answered questions.

    Args:
        after: awaited after each answer, with how many there are.
    """
    answered: list[str] = []
    worked, seen = await used(session, "look")
    while worked and seen["state"] != "over":
        if seen["state"] == "open":
            question = seen["request"]
            given = {"call": question["call"], "seconds": 20, **said(question["messages"])}
            worked, seen = await used(session, "answer", **given)
            if (
                not worked and "this remote agent has no request" in seen
            ):  # of the run that was killed
                worked, seen = await used(session, "wait")
                continue
            answered.append(question["call"])
            await after(len(answered))
        else:
            worked, seen = await used(session, "wait")
    assert worked, seen
    return answered


@pytest.mark.kill
def test_the_official_client_plays_every_game_though_the_run_is_killed(tmp_path: Path) -> None:
    file, store = tmp_path / "coming.json", tmp_path / "coming.sqlite"
    file.write_text(json.dumps(every_game(instances=2)))
    with listening(0) as there:
        port = f"{there.getsockname()[1]}"
    variables = {**os.environ, "CHEAPTALK_AGENT_TOKENS": f"{NAME}={TOKEN}"}

    def begin(*words: str) -> "subprocess.Popen[bytes]":
        command = [*CALLED, *words, "--store", str(store), "--agent-server", port]
        return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, cwd=tmp_path)

    runs = [begin("run", str(file))]

    async def kill_once(answers: int) -> None:
        if answers == GOES_ON:
            runs[0].kill()
            await asyncio.to_thread(runs[0].wait)
            with ct.Store.open(store) as opened:
                assert opened.with_open_calls(), "the run ended before it could be killed"
            runs.append(begin("resume", "coming"))

    async def played() -> list[str]:
        async with seated(f"http://127.0.0.1:{port}/agents/{NAME}") as session:
            return await play(session, kill_once)

    try:
        answered = asyncio.run(played())
        assert runs[1].wait(PATIENCE) == 0
    finally:
        for run in runs:
            run.kill()
            run.wait()
    with ct.Store.open(store) as opened:
        records = list(opened.records("coming", bodies=True))
        unresolved = {
            "/".join(str(one[key]) for key in ("match_id", "request", "actor", "attempt", "try"))
            for one in opened.unresolved()
        }
    assert {one.game for one in records} == set(ct.rules.games())
    assert len(records) == len({one.id for one in records}) == 2 * len(ct.rules.games())
    assert {(one.status, kind) for one in records for found in one.kinds.values()
            for kind in found} == {("finished", "ok")}  # fmt: skip
    recorded = [
        f"{one.id}/{given.request}/{given.actor}/{attempt}/{call['sending']}"
        for one in records for given in one.answers for attempt, call in enumerate(given.calls)
    ]  # fmt: skip
    assert len(recorded) == len(set(recorded))
    assert len(answered) == len(set(answered)), "a question was answered twice"
    assert set(recorded) <= set(answered)
    assert set(answered) - set(recorded) <= unresolved, "an answer that was taken is lost"


def test_the_tools_tell_a_model_all_that_it_has_to_know() -> None:
    async def told(url: str) -> Any:
        async with seated(url) as session:
            listed = await session.list_tools()
            return {one.name: one for one in listed.tools}, await used(session, "look")

    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door:
        tools, seen = asyncio.run(told(door.url_of(NAME)))
    assert set(tools) == {"look", "wait", "answer"}
    schema = getattr(tools["answer"], "inputSchema", None) or tools["answer"].input_schema
    assert schema["required"] == ["call"]
    assert set(schema["properties"]) == {"call", "answer", "text", "seconds"}
    for name in schema["properties"]:
        assert f"{name}: " in tools["answer"].description
    assert seen == (
        True,
        {"state": "waiting", "next": "there is no open request: use the tool wait"},
    )


def test_what_a_client_does_wrong_is_told_in_a_sentence_and_changes_nothing(
    store: ct.Store,
) -> None:
    players = {NAME: {"model": f"remote/{NAME}"}, "fair": {"strategy": "equal_split"}}
    told = study(players=players, pairing=[[NAME, "fair"]], instances=1)
    problems: list[str] = []

    async def wrong(url: str) -> None:
        async with seated(url) as session:
            worked, seen = await used(session, "wait", seconds=60)
            call = seen["request"]["call"]
            for arguments in (
                {"call": call},
                {"call": call, "text": "7", "answer": {"price": 7}},
                {"call": "m/7/bob/0/0", "text": "7"},
                {"call": call, "text": "7 " * 2**19},
            ):
                worked, why = await used(session, "answer", **arguments)
                assert not worked
                problems.append(why)
            await play(session, lambda _: asyncio.sleep(0))

    async def both(door: AgentServer) -> ct.Progress:
        remote_agent = asyncio.create_task(wrong(door.url_of(NAME)))
        progress = await ct.run_async(told, store.path, remote_agents=door)
        await remote_agent
        return progress

    store.close()
    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door:
        progress = asyncio.run(both(door))
    assert (progress.left, progress.failed) == (0, 0)
    reasons = [
        "an agent answers with either", "an agent answers with either",
        'this remote agent has no request "m/7/bob/0/0"', "too large: the maximum is 262,144 bytes",
    ]  # fmt: skip
    assert [why in one for why, one in zip(reasons, problems, strict=True)] == [True] * 4


def test_another_s_token_opens_no_seat() -> None:
    async def other(url: str) -> Any:
        async with seated(url) as session:
            return await used(session, "look")

    with AgentServer([NAME, "other"], 0, tokens={NAME: TOKEN, "other": "another token"}) as door:
        worked, why = asyncio.run(other(door.url_of("other")))
    assert (worked, "invalid token for remote agent" in why) == (False, True)


def test_it_serves_by_http_whoever_has_the_remote_agent_s_token() -> None:
    connect = import_module("mcp.client.streamable_http").streamable_http_client
    requests = import_module("mcp.shared._httpx_utils").create_mcp_http_client

    async def told(url: str, token: str) -> Any:
        async with (
            requests(headers={"Authorization": f"Bearer {token}"}) as sending,
            connect(url, http_client=sending) as (reading, writing, *_),
            mcp.ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            return await used(session, "look")

    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door:
        command = [*CALLED, "model", "mcp", door.url_of(NAME), "--port", "0"]
        variables = {**os.environ, "CHEAPTALK_AGENT_TOKEN": TOKEN}
        serving = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)
        try:
            assert serving.stderr is not None
            url = serving.stderr.readline().split()[4]
            worked, seen = asyncio.run(told(url, TOKEN))
            assert (worked, seen["state"]) == (True, "waiting")
            with pytest.raises(BaseExceptionGroup):
                asyncio.run(told(url, "another token"))
        finally:
            serving.kill()
            serving.communicate()
