"""An agent's side of a guest's seat: whole runs over HTTP and by functions, and what goes wrong."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.adapters import GuestError, play_as_guest
from cheaptalk.loopback import listening
from cheaptalk.models.guests import Door
from cheaptalk.stand_in import answer
from tests.adapters.guests import NAME, TOKEN, every_game
from tests.conftest import Command
from tests.fakes import essence, study

Messages = list[dict[str, str]]


def with_guest(**player: Any) -> ct.Study:
    """A study of two matches of a guest against a script."""
    players = {NAME: {"model": f"guest/{NAME}", **player}, "fair": {"strategy": "equal_split"}}
    return study(players=players, pairing=[[NAME, "fair"], ["fair", NAME]])


def legal(messages: Messages) -> str:
    return answer(messages)


def played(told: ct.Study, store: ct.Store, agent: Any, **how: Any) -> tuple[ct.Progress, int]:
    """Run a study with an agent that comes by itself: what it came to, and the answers taken."""
    with Door([NAME], 0, tokens={NAME: TOKEN}) as door, ThreadPoolExecutor(1) as pool:
        guest = pool.submit(play_as_guest, door.url_of(NAME), agent, TOKEN)
        progress = ct.run(told, store, guests=door, **how)
        return progress, guest.result()


def matches(store: ct.Store, name: str) -> dict[str, Any]:
    """What the matches of a study came to, without what tells players and runs apart."""
    return {one.id: essence(one) for one in store.records(name, bodies=True)}


def kinds(store: ct.Store, name: str) -> set[str]:
    """The kinds of the guest's answers."""
    return {
        kind
        for one in store.records(name) for place, found in one.kinds.items()
        if one.label(place) == NAME for kind in found
    }  # fmt: skip


def test_a_guest_plays_every_game_over_http_as_it_does_by_a_function(
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
        ct.run(told, other, guests={NAME: legal})
        assert matches(other, "coming") == matches(store, "coming")


def test_an_answer_that_is_refused_comes_back_with_the_reason(store: ct.Store) -> None:
    asked: list[Messages] = []

    def stubborn(messages: Messages) -> dict[str, Any]:
        asked.append(messages)
        if '"decision"' in messages[-1]["content"]:
            return {"decision": "accept"}
        return {"alice_gain": 80, "bob_gain": 80, "message": ""}

    played(with_guest(tries=2), store, stubborn)
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

    progress, taken = played(with_guest(), store, broken)
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
def test_a_guest_hears_that_it_is_over_however_a_run_ends(
    store: ct.Store, how: dict[str, Any], ends: AbstractContextManager[Any]
) -> None:
    with ThreadPoolExecutor(1) as pool, Door([NAME], 0, tokens={NAME: TOKEN}) as door:
        guest = pool.submit(play_as_guest, door.url_of(NAME), legal, TOKEN, patience=1)
        with ends:
            ct.run(with_guest(), store, guests=door, **how)
        assert guest.result(60) >= 1


def test_an_agent_that_never_answers_in_time_forfeits(store: ct.Store, no_waits: None) -> None:
    over = Event()

    def hangs(messages: Messages) -> str:
        over.wait(60)
        return answer(messages)

    with Door([NAME], 0, tokens={NAME: TOKEN}) as door, ThreadPoolExecutor(1) as pool:
        guest = pool.submit(play_as_guest, door.url_of(NAME), hangs, TOKEN)
        progress = ct.run(with_guest(deadline=0.1), store, guests=door)
        over.set()
        assert (progress.left, guest.result()) == (0, 0)
    assert kinds(store, "small") == {"timed_out"}


def test_an_answer_that_is_too_large_is_told_as_the_agent_s_failure(
    store: ct.Store, no_waits: None
) -> None:
    progress, _ = played(with_guest(), store, lambda messages: "7" * 2**19)
    assert progress.done == 0
    assert all("too large: an answer has 262,144 bytes" in one for one in progress.problems)


def test_a_guest_without_the_right_token_is_turned_away() -> None:
    with Door([NAME, "other"], 0, tokens={NAME: TOKEN, "other": "another token"}) as door:
        for url in (door.url_of("other"), door.url_of("nobody")):
            with pytest.raises(GuestError, match="this is not the token of a guest") as refused:
                play_as_guest(url, legal, TOKEN)
            assert refused.value.status == 401


def test_who_finds_nobody_or_somebody_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(0) as there:
        nobody = f"http://127.0.0.1:{there.getsockname()[1]}/guests/mine"
    with pytest.raises(GuestError, match=f"nobody answers at {nobody}"):
        play_as_guest(nobody, legal, TOKEN, patience=0.1)
    elsewhere = pytest.raises(GuestError, match="404: Not Found")
    with Door([NAME], 0, tokens={NAME: TOKEN}) as door, elsewhere:
        play_as_guest(f"{door.url}/elsewhere", legal, TOKEN)
    monkeypatch.delenv("CHEAPTALK_GUEST_TOKEN", raising=False)
    with pytest.raises(GuestError, match="set CHEAPTALK_GUEST_TOKEN"):
        play_as_guest(nobody, legal)
    with pytest.raises(GuestError, match='"mine" is no URL: write http://HOST:PORT/guests/NAME'):
        play_as_guest("mine", legal, TOKEN)


def test_a_study_with_guests_says_how_they_come(store: ct.Store) -> None:
    with pytest.raises(ct.StudyError, match=r"guest/mine comes by itself, and only to studies"):
        ct.run(with_guest(), store)
    with pytest.raises(ct.StudyError, match="among the guests of this run there is no"):
        ct.run(with_guest(), store, guests={"min": legal})


def test_the_command_shows_where_guests_come_and_stops_where_none_does(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_waits: None
) -> None:
    monkeypatch.setenv("CHEAPTALK_GUEST_TOKENS", f"{NAME}={TOKEN}")
    told = {**with_guest().written(), "name": "coming"}
    (tmp_path / "coming.json").write_text(json.dumps(told))
    done = cheaptalk("run", "coming.json", "--guests", "0", "--patience", "0.001")
    assert done.status == 1
    assert "guest mine comes to http://127.0.0.1:" in done.said
    assert f"/guests/mine with the token {TOKEN}" in done.said
    assert "no guest mine has come to http://127.0.0.1:" in done.said + done.out
    none = cheaptalk("run", "quickstart", "--guests", "0")
    assert (none.status, "no player of the study is a guest/NAME" in none.said) == (2, True)
    wrong = cheaptalk("run", "coming.json", "--guests", "here")
    assert (wrong.status, "write HOST:PORT, or PORT" in wrong.said) == (2, True)
    with listening(0) as there:
        port = f"{there.getsockname()[1]}"
        taken = cheaptalk("run", "coming.json", "--guests", port)
        assert f"port {port} cannot be used" in taken.said
