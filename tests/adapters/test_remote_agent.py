"""An agent's side of a remote agent's seat: whole runs over HTTP and by functions, and what goes
wrong."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import RemoteAgentError, play_as_remote_agent
from cheaptalk.loopback import listening
from cheaptalk.mock_server import answer
from cheaptalk.models.remote_agents import AgentServer
from tests.adapters.remote_agents import NAME, TOKEN, every_game
from tests.conftest import Command
from tests.fakes import essence, study

Messages = list[dict[str, str]]


def with_agent(**player: Any) -> ct.Study:
    """A study of two matches of a remote agent against a script."""
    players = {NAME: {"model": f"remote/{NAME}", **player}, "fair": {"strategy": "equal_split"}}
    return study(players=players, pairing=[[NAME, "fair"], ["fair", NAME]])


def legal(messages: Messages) -> str:
    return answer(messages)


def played(told: ct.Study, store: ct.Store, agent: Any, **how: Any) -> tuple[ct.Progress, int]:
    """Run a study with an agent that comes by itself: what it came to, and the answers taken."""
    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door, ThreadPoolExecutor(1) as pool:
        remote_agent = pool.submit(play_as_remote_agent, door.url_of(NAME), agent, TOKEN)
        progress = ct.run(told, store, remote_agents=door, **how)
        return progress, remote_agent.result()


def matches(store: ct.Store, name: str) -> dict[str, Any]:
    """What the matches of a study came to, without what tells players and runs apart."""
    return {one.id: essence(one) for one in store.records(name, bodies=True)}


def kinds(store: ct.Store, name: str) -> set[str]:
    """The kinds of the remote agent's answers."""
    return {
        kind
        for one in store.records(name) for place, found in one.kinds.items()
        if one.label(place) == NAME for kind in found
    }  # fmt: skip


def test_a_remote_agent_plays_every_game_over_http_as_it_does_by_a_function(
    store: ct.Store, tmp_path: Path
) -> None:
    told = ct.studies.parse_study(every_game(), "coming")
    progress, taken = played(told, store, legal)
    assert (progress.left, progress.failed) == (0, 0)
    records = list(store.records("coming", bodies=True))
    assert {one.game for one in records} == set(ct.rules.games())
    calls = [call for one in records for given in one.answers for call in given.calls]
    assert taken == len(calls)
    assert TOKEN not in str([one.as_json() for one in records])
    assert kinds(store, "coming") == {"ok"}
    with ct.Store.open(tmp_path / "functions.sqlite", create=True) as other:
        ct.run(told, other, remote_agents={NAME: legal})
        assert matches(other, "coming") == matches(store, "coming")


def test_an_answer_that_is_refused_comes_back_with_the_reason(store: ct.Store) -> None:
    asked: list[Messages] = []

    def stubborn(messages: Messages) -> dict[str, Any]:
        asked.append(messages)
        if '"decision"' in messages[-1]["content"]:
            return {"decision": "accept"}
        return {"alice_gain": 80, "bob_gain": 80, "message": ""}

    played(with_agent(tries=2), store, stubborn)
    again = [one for one in asked if len(one) == 4]
    assert again
    assert all(json.loads(one[2]["content"])["alice_gain"] == 80 for one in again)
    assert all("must add up to" in one[3]["content"] for one in again)
    assert "illegal" in kinds(store, "small")


def test_what_an_agent_raises_fails_its_matches_in_its_words(
    store: ct.Store, no_waits: None
) -> None:
    def broken(messages: Messages) -> str:
        raise KeyError("my memory")

    progress, taken = played(with_agent(), store, broken)
    assert (progress.done, taken) == (0, 0)
    assert all("the agent failed" in one and "my memory" in one for one in progress.problems)


def halting(progress: ct.Progress) -> None:
    """Press Ctrl-C once a match has ended."""
    if progress.counts:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("how", "ends"),
    [
        ({"cap": ct.studies.Cap(calls=1)}, nullcontext()),
        ({"progress": halting}, pytest.raises(KeyboardInterrupt)),
    ],
    ids=["money is spent", "it is interrupted"],
)
def test_a_remote_agent_hears_that_it_is_over_however_a_run_ends(
    store: ct.Store, how: dict[str, Any], ends: AbstractContextManager[Any]
) -> None:
    with ThreadPoolExecutor(1) as pool, AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door:
        remote_agent = pool.submit(
            play_as_remote_agent, door.url_of(NAME), legal, TOKEN, patience=1
        )
        with ends:
            ct.run(with_agent(), store, remote_agents=door, **how)
        assert remote_agent.result(60) >= 1


def test_an_agent_that_never_answers_in_time_forfeits(store: ct.Store, no_waits: None) -> None:
    over = Event()

    def hangs(messages: Messages) -> str:
        over.wait(60)
        return answer(messages)

    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door, ThreadPoolExecutor(1) as pool:
        remote_agent = pool.submit(play_as_remote_agent, door.url_of(NAME), hangs, TOKEN)
        progress = ct.run(with_agent(deadline=0.1), store, remote_agents=door)
        over.set()
        assert (progress.left, remote_agent.result()) == (0, 0)
    assert kinds(store, "small") == {"timed_out"}


def test_an_answer_that_is_too_large_is_told_as_the_agent_s_failure(
    store: ct.Store, no_waits: None
) -> None:
    progress, _ = played(with_agent(), store, lambda messages: "7" * 2**19)
    assert progress.done == 0
    assert all("too large: the maximum is 262,144 bytes" in one for one in progress.problems)


def test_a_remote_agent_without_the_right_token_is_turned_away() -> None:
    with AgentServer([NAME, "other"], 0, tokens={NAME: TOKEN, "other": "another token"}) as door:
        for url in (door.url_of("other"), door.url_of("nobody")):
            with pytest.raises(RemoteAgentError, match="invalid token for remote agent") as refused:
                play_as_remote_agent(url, legal, TOKEN)
            assert refused.value.status == 401


def test_who_finds_nobody_or_somebody_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(0) as there:
        nobody = f"http://127.0.0.1:{there.getsockname()[1]}/agents/mine"
    with pytest.raises(RemoteAgentError, match=f"no response from {nobody}"):
        play_as_remote_agent(nobody, legal, TOKEN, patience=0.1)
    elsewhere = pytest.raises(RemoteAgentError, match="404: Not Found")
    with AgentServer([NAME], 0, tokens={NAME: TOKEN}) as door, elsewhere:
        play_as_remote_agent(f"{door.url}/elsewhere", legal, TOKEN)
    monkeypatch.delenv("CHEAPTALK_AGENT_TOKEN", raising=False)
    with pytest.raises(RemoteAgentError, match="set CHEAPTALK_AGENT_TOKEN"):
        play_as_remote_agent(nobody, legal)
    with pytest.raises(
        RemoteAgentError, match='"mine" is not a URL; use http://HOST:PORT/agents/NAME'
    ):
        play_as_remote_agent("mine", legal, TOKEN)


def test_a_study_with_remote_agents_says_how_they_come(store: ct.Store) -> None:
    with pytest.raises(
        ct.StudyError, match=r"remote/mine is a remote agent, which can only play in studies"
    ):
        ct.run(with_agent(), store)
    with pytest.raises(ct.StudyError, match="this run has no remote agent"):
        ct.run(with_agent(), store, remote_agents={"min": legal})


def test_the_command_shows_where_remote_agents_come_and_stops_where_none_does(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_waits: None
) -> None:
    monkeypatch.setenv("CHEAPTALK_AGENT_TOKENS", f"{NAME}={TOKEN}")
    told = {**with_agent().written(), "name": "coming"}
    (tmp_path / "coming.json").write_text(json.dumps(told))
    done = cheaptalk("run", "coming.json", "--agent-server", "0", "--retry-timeout", "0.06")
    assert done.status == 1
    assert "remote agent mine: connect to http://127.0.0.1:" in done.said
    assert f"/agents/mine with token {TOKEN}" in done.said
    assert "remote agent mine has not connected to http://127.0.0.1:" in done.said + done.out
    none = cheaptalk("run", "quickstart", "--agent-server", "0")
    assert (none.status, "the study has no remote agent" in none.said) == (2, True)
    wrong = cheaptalk("run", "coming.json", "--agent-server", "here")
    assert (wrong.status, "write HOST:PORT, or PORT" in wrong.said) == (2, True)
    with listening(0) as there:
        port = f"{there.getsockname()[1]}"
        taken = cheaptalk("run", "coming.json", "--agent-server", port)
        assert f"port {port} cannot be used" in taken.said
