"""A remote agent over the Model Context Protocol, with the official client."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.loopback import listening
from cheaptalk.models.remote_agents import AgentServer
from tests.adapters.remote_agents import NAME, TOKEN, every_game, make_answer
from tests.conftest import Command
from tests.fakes import PATIENCE, study

mcp = pytest.importorskip("mcp")
CHEAPTALK = [sys.executable, "-m", "cheaptalk"]
KILL_AFTER = 40
"""Answers after which the run is killed."""


@asynccontextmanager
async def agent_session(url: str, token: str = TOKEN) -> AsyncIterator[Any]:
    """The official client's session with ``cheaptalk model mcp`` over standard input and output."""
    stdio = import_module("mcp.client.stdio").stdio_client
    arguments = [*CHEAPTALK[1:], "model", "mcp", url]
    environment = {**os.environ, "CHEAPTALK_AGENT_TOKEN": token}
    command = mcp.StdioServerParameters(command=CHEAPTALK[0], args=arguments, env=environment)
    async with stdio(command) as (reading, writing), mcp.ClientSession(reading, writing) as session:
        await session.initialize()
        yield session


async def use_tool(session: Any, tool: str, **arguments: Any) -> tuple[bool, Any]:
    """Use a tool. Return whether it succeeded, and its data or its error message."""
    result = await session.call_tool(tool, arguments)
    failed = getattr(result, "isError", None) or getattr(result, "is_error", False)
    (part,) = result.content
    return not failed, part.text if failed else json.loads(part.text)


async def play(session: Any, after: Callable[[int], Awaitable[None]]) -> list[str]:
    """Play to the end with the tools only, and return the numbers of the answered requests.

    Args:
        after: Awaited after each answer, with the number of answers so far.
    """
    answered: list[str] = []
    worked, shown = await use_tool(session, "look")
    while worked and shown["state"] != "over":
        if shown["state"] == "open":
            request = shown["request"]
            answer = {"call": request["call"], "seconds": 20, **make_answer(request["messages"])}
            worked, shown = await use_tool(session, "answer", **answer)
            if (
                not worked and "this remote agent has no request" in shown
            ):  # of the run that was killed
                worked, shown = await use_tool(session, "wait")
                continue
            answered.append(request["call"])
            await after(len(answered))
        else:
            worked, shown = await use_tool(session, "wait")
    assert worked, shown
    return answered


@pytest.mark.kill
def test_official_client_plays_every_game_across_killed_run(tmp_path: Path) -> None:
    file, store = tmp_path / "coming.json", tmp_path / "coming.sqlite"
    file.write_text(json.dumps(every_game(instances=2)))
    with listening(0) as listener:
        port = f"{listener.getsockname()[1]}"
    variables = {**os.environ, "CHEAPTALK_AGENT_TOKENS": f"{NAME}={TOKEN}"}

    def begin(*arguments: str) -> "subprocess.Popen[bytes]":
        command = [*CHEAPTALK, *arguments, "--store", str(store), "--agent-server", port]
        return subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, cwd=tmp_path)

    runs = [begin("run", str(file))]

    async def kill_once(answers: int) -> None:
        if answers == KILL_AFTER:
            runs[0].kill()
            await asyncio.to_thread(runs[0].wait)
            with ct.Store.open(store) as opened:
                assert opened.with_open_calls(), "the run ended before it could be killed"
            runs.append(begin("resume", "coming"))

    async def played() -> list[str]:
        async with agent_session(f"http://127.0.0.1:{port}/agents/{NAME}") as session:
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
            "/".join(str(call[key]) for key in ("match_id", "request", "actor", "attempt", "try"))
            for call in opened.unresolved()
        }
    assert {record.game for record in records} == set(ct.rules.games())
    assert len(records) == len({record.id for record in records}) == 2 * len(ct.rules.games())
    assert {
        (record.status, kind)
        for record in records
        for counts in record.kinds.values()
        for kind in counts
    } == {("finished", "ok")}
    recorded = [
        f"{record.id}/{answer.request}/{answer.actor}/{attempt}/{call['sending']}"
        for record in records
        for answer in record.answers
        for attempt, call in enumerate(answer.calls)
    ]
    assert len(recorded) == len(set(recorded))
    assert len(answered) == len(set(answered)), "a question was answered twice"
    assert set(recorded) <= set(answered)
    assert set(answered) - set(recorded) <= unresolved, "an answer that was taken is lost"


def check_descriptions(tools: dict[str, Any]) -> None:
    """Check that the tools are complete and describe all their parameters."""
    assert set(tools) == {"look", "wait", "answer"}
    schema = getattr(tools["answer"], "inputSchema", None) or tools["answer"].input_schema
    assert schema["required"] == ["call"]
    assert set(schema["properties"]) == {"call", "answer", "text", "seconds"}
    for name in schema["properties"]:
        assert f"{name}: " in tools["answer"].description


async def answer_wrongly(session: Any) -> list[str]:
    """Answer the first request in wrong ways, then play; return the errors."""
    listed = await session.list_tools()
    check_descriptions({tool.name: tool for tool in listed.tools})
    worked, shown = await use_tool(session, "wait", seconds=60)
    call = shown["request"]["call"]
    problems = []
    for arguments in (
        {"call": call},
        {"call": call, "text": "7", "answer": {"price": 7}},
        {"call": "m/7/bob/0/0", "text": "7"},
        {"call": call, "text": "7 " * 2**18},
    ):
        worked, error = await use_tool(session, "answer", **arguments)
        assert not worked
        problems.append(error)
    await play(session, lambda _: asyncio.sleep(0))
    return problems


@asynccontextmanager
async def http_session(url: str, token: str) -> AsyncIterator[Any]:
    """The official client's session with a server over HTTP."""
    connect = import_module("mcp.client.streamable_http").streamable_http_client
    requests = import_module("mcp.shared._httpx_utils").create_mcp_http_client
    async with (
        requests(headers={"Authorization": f"Bearer {token}"}) as sending,
        connect(url, http_client=sending) as (reading, writing, *_),
        mcp.ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


def test_http_server_requires_token_and_rejects_invalid_tool_calls(
    cheaptalk: Command, store: ct.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server runs in this process; a subprocess spends seconds on imports."""
    uvicorn: Any = import_module("uvicorn")
    players = {NAME: {"model": f"remote/{NAME}"}, "fair": {"strategy": "equal_split"}}
    two_matches = study(players=players, pairing=[[NAME, "fair"]], instances=1)
    urls: list[str] = []
    problems: list[str] = []

    async def serve_clients(server: Any, sockets: list[socket.socket]) -> None:
        serving = asyncio.create_task(server.serve(sockets))
        urls.append(f"http://127.0.0.1:{sockets[0].getsockname()[1]}/mcp")
        with pytest.raises(BaseExceptionGroup):
            async with http_session(urls[0], "another token"):
                pass
        async with http_session(urls[0], TOKEN) as session:
            worked, shown = await use_tool(session, "look")
            assert (worked, shown["state"]) == (True, "waiting")
            run = ct.run_async(two_matches, store.path, remote_agents=agents)
            progress, errors = await asyncio.gather(run, answer_wrongly(session))
        problems.extend(errors)
        assert (progress.left, progress.failed) == (0, 0)
        server.should_exit = True
        await serving

    monkeypatch.setattr(uvicorn, "Config", partial(uvicorn.Config, log_config=None))
    monkeypatch.setattr(
        uvicorn.Server, "run", lambda self, sockets: asyncio.run(serve_clients(self, sockets))
    )
    monkeypatch.setenv("CHEAPTALK_AGENT_TOKEN", TOKEN)
    store.close()
    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as agents:
        done = cheaptalk("model mcp --port 0", agents.url_of(NAME))
    assert (done.status, urls[0] in done.err) == (0, True)
    reasons = [
        "an agent answers with either",
        "an agent answers with either",
        'this remote agent has no request "m/7/bob/0/0"',
        "too large: the maximum is 262,144 bytes",
    ]
    assert [part in problem for part, problem in zip(reasons, problems, strict=True)] == [True] * 4
