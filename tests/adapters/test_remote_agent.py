"""The client side of remote agents: complete runs over HTTP and with functions, and errors."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import RemoteAgentError, play_as_remote_agent
from cheaptalk.loopback import listening
from cheaptalk.mock_models import answer
from cheaptalk.models.remote_agents import AgentServer
from tests.adapters.remote_agents import NAME, TOKEN, every_game
from tests.conftest import Command
from tests.fakes import essence, study

Messages = list[dict[str, str]]


def with_agent(**player: Any) -> ct.Study:
    """Return a study of two matches of a remote agent against a script."""
    players = {NAME: {"model": f"remote/{NAME}", **player}, "fair": {"strategy": "equal_split"}}
    return study(players=players, pairing=[[NAME, "fair"], ["fair", NAME]])


def legal_answer(messages: Messages) -> str:
    return answer(messages)


def play(spec: ct.Study, store: ct.Store, agent: Any, **options: Any) -> tuple[ct.Progress, int]:
    """Run a study with a remote agent. Return the progress and the number of accepted answers."""
    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as server, ThreadPoolExecutor(1) as pool:
        remote_agent = pool.submit(play_as_remote_agent, server.url_of(NAME), agent, TOKEN)
        progress = ct.run(spec, store, remote_agents=server, **options)
        return progress, remote_agent.result()


def match_outcomes(store: ct.Store, name: str) -> dict[str, Any]:
    """Return the matches of a study without the data that differs between players and runs."""
    return {record.id: essence(record) for record in store.records(name, bodies=True)}


def answer_kinds(store: ct.Store, name: str) -> set[str]:
    """Return the kinds of the remote agent's answers."""
    return {
        kind
        for record in store.records(name)
        for seat, counts in record.kinds.items()
        if record.label(seat) == NAME
        for kind in counts
    }


def test_http_agent_plays_every_game_like_function_agent(store: ct.Store, tmp_path: Path) -> None:
    spec = ct.studies.parse_study(every_game(), "coming")
    progress, answers = play(spec, store, legal_answer)
    assert (progress.left, progress.failed) == (0, 0)
    records = list(store.records("coming", bodies=True))
    assert {record.game for record in records} == set(ct.rules.games())
    calls = [call for record in records for answer in record.answers for call in answer.calls]
    assert answers == len(calls)
    assert TOKEN not in str([record.as_json() for record in records])
    assert answer_kinds(store, "coming") == {"ok"}
    with ct.Store.open(tmp_path / "functions.sqlite", create=True) as other:
        ct.run(spec, other, remote_agents={NAME: legal_answer})
        assert match_outcomes(other, "coming") == match_outcomes(store, "coming")


def test_failures_of_agent_fail_matches_with_their_message(store: ct.Store, no_waits: None) -> None:
    def broken(messages: Messages) -> str:
        raise KeyError("my memory")

    for agent, message in (
        (broken, r"the agent failed.*my memory"),
        (lambda messages: "7" * 2**19, "too large: the maximum is 262,144 bytes"),
    ):
        progress, answers = play(with_agent(), store, agent)
        assert (progress.done, answers) == (0, 0)
        assert all(re.search(message, problem) for problem in progress.problems)


def interrupt(progress: ct.Progress) -> None:
    """Press Ctrl-C once a match has ended."""
    if progress.counts:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        ({"cap": ct.studies.Cap(calls=1)}, nullcontext()),
        ({"progress": interrupt}, pytest.raises(KeyboardInterrupt)),
    ],
    ids=["money is spent", "it is interrupted"],
)
def test_remote_agent_stops_when_run_ends(
    store: ct.Store, options: dict[str, Any], ends: AbstractContextManager[Any]
) -> None:
    with ThreadPoolExecutor(1) as pool, AgentServer([NAME], 0, tokens={NAME: TOKEN}) as server:
        remote_agent = pool.submit(
            play_as_remote_agent, server.url_of(NAME), legal_answer, TOKEN, patience=1
        )
        with ends:
            ct.run(with_agent(), store, remote_agents=server, **options)
        assert remote_agent.result(60) >= 1


def test_agent_that_times_out_forfeits(store: ct.Store, no_waits: None) -> None:
    over = Event()

    def hang(messages: Messages) -> str:
        over.wait(60)
        return answer(messages)

    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as server, ThreadPoolExecutor(1) as pool:
        remote_agent = pool.submit(play_as_remote_agent, server.url_of(NAME), hang, TOKEN)
        progress = ct.run(with_agent(deadline=0.1), store, remote_agents=server)
        over.set()
        assert (progress.left, remote_agent.result()) == (0, 0)
    assert answer_kinds(store, "small") == {"timed_out"}


def test_wrong_url_or_token_raises_error(monkeypatch: pytest.MonkeyPatch, store: ct.Store) -> None:
    with listening(0) as listener:
        unused_url = f"http://127.0.0.1:{listener.getsockname()[1]}/agents/mine"
    with AgentServer([NAME, "other"], 0, tokens={NAME: TOKEN, "other": "another token"}) as server:
        for url, token, error in [
            (server.url_of("other"), TOKEN, "invalid token for remote agent"),
            (server.url_of("nobody"), TOKEN, "invalid token for remote agent"),
            (f"{server.url}/elsewhere", TOKEN, "404: Not Found"),
            (unused_url, TOKEN, f"no response from {unused_url}"),
            ("mine", TOKEN, '"mine" is not a URL; use http://HOST:PORT/agents/NAME'),
            (unused_url, None, "set CHEAPTALK_AGENT_TOKEN"),
        ]:
            monkeypatch.delenv("CHEAPTALK_AGENT_TOKEN", raising=False)
            with pytest.raises(RemoteAgentError, match=error):
                play_as_remote_agent(url, legal_answer, token, patience=0.1)
    with pytest.raises(
        ct.studies.StudyError, match=r"remote/mine is a remote agent, which can only play"
    ):
        ct.run(with_agent(), store)
    with pytest.raises(ct.studies.StudyError, match="this run has no remote agent"):
        ct.run(with_agent(), store, remote_agents={"min": legal_answer})


def test_command_prints_agent_url_and_fails_without_agent(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_waits: None
) -> None:
    monkeypatch.setenv("CHEAPTALK_AGENT_TOKENS", f"{NAME}={TOKEN}")
    spec = {**with_agent().written(), "name": "coming"}
    (tmp_path / "coming.json").write_text(json.dumps(spec))
    done = cheaptalk("run", "coming.json", "--agent-server", "0", "--retry-timeout", "0.06")
    assert done.status == 1
    assert "remote agent mine: connect to http://127.0.0.1:" in done.said
    assert f"/agents/mine with token {TOKEN}" in done.said
    assert "remote agent mine has not connected to http://127.0.0.1:" in done.said + done.out
    none = cheaptalk("run", "quickstart", "--agent-server", "0")
    assert (none.status, "the study has no remote agent" in none.said) == (2, True)
    wrong = cheaptalk("run", "coming.json", "--agent-server", "here")
    assert (wrong.status, "write HOST:PORT, or PORT" in wrong.said) == (2, True)
    with listening(0) as listener:
        port = f"{listener.getsockname()[1]}"
        busy = cheaptalk("run", "coming.json", "--agent-server", port)
        assert f"port {port} cannot be used" in busy.said
