"""The command that profiles how an agent bargains: gates, and one-sentence errors."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

import cheaptalk as ct
from cheaptalk.cli.results.profile import _entry
from cheaptalk.loopback import listening
from tests.cli import CASES
from tests.conftest import Command, Done
from tests.fakes import Server

BATTERY: dict[str, Any] = CASES["tiny_battery"]
PROFILE = ("profile", "script/legal", "--label", "mine", "--battery", "mine.yaml")


@pytest.fixture
def cli(cheaptalk: Command, tmp_path: Path) -> Command:
    """Return the command line in a folder with a small battery."""
    battery = BATTERY | {"name": "mine-1", "sizes": {"small": 3}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(battery))
    return cheaptalk


def test_gates_set_the_exit_status_and_junit_file(cli: Command, tmp_path: Path) -> None:
    passed = cli(*PROFILE, "--require", "earned >= -1", "--junit", "gates.xml")
    assert passed.status == 0
    assert "weaknesses tested was found in mine" in passed.out
    assert "tested but not found, which does not rule them out: " in passed.out
    assert "\nEarned, against the baselines: 0." in passed.out
    assert (tmp_path / "mine-profile.html").exists()
    assert 'failures="0"' in (tmp_path / "gates.xml").read_text()
    open_yet = cli(*PROFILE, "--require", "earned >= 0.25", "--json")
    result = open_yet.json
    assert (open_yet.status, result["gates"][0]["verdict"]) == (3, "open")
    stored = json.loads((tmp_path / "mine-profile.json").read_text())
    assert result["numbers"].keys() == stored["numbers"].keys()
    before = ("--compare-to", "mine-profile.json", "--json-file", "now.json")
    again = cli(*PROFILE, *before)
    advice = "if the model has changed, test it with another --store"
    assert f"the player was not called; {advice}" in again.said
    assert "no metric changed significantly" in again.out
    again = cli(*PROFILE, *before, "-q", "--require", "change.earned >= -0.1")
    assert (again.status, "the player was not called" in again.said) == (0, True)
    page = (tmp_path / "mine-profile.html").read_text(encoding="utf-8")
    assert "1 of 1 pass" in page
    assert "Since mine, 0 of" in page


def test_players_are_taken_from_panels_and_rosters(cli: Command) -> None:
    assert cli("profile panel/hard --battery mine.yaml").status == 0
    for player, message in CASES["players_are_taken_from_panels_and_rosters"]:
        done = cli("profile", player, "--battery", "mine.yaml")
        assert (done.status, message in done.said) == (2, True), done.err


def test_gates_do_not_pass_after_frequent_forfeits(cli: Command) -> None:
    nonsense = ("profile", "script/echo", "--label", "mad", "--battery", "mine.yaml")
    done = cli(*nonsense, "--require", "mistakes <= 5", "--require", "regret <= 9")
    assert done.status == 3
    assert "mad forfeited" in done.said
    assert "Valid at once: 0.00" in done.out
    assert "Earned, against the baselines: " not in done.out
    assert "mistakes <= 5: open" in done.out
    assert cli(*nonsense, "--require", "valid >= 0.9").status == 1


PAGES = {"me-profile.html", "me-profile.json"}
KEPT = "remaining (completed matches are kept); continue with: cheaptalk profile "
RunProfile = Callable[..., Done]


Answer = Callable[[dict[str, Any]], dict[str, Any]]
"""Answers a request of the agent protocol."""


@contextmanager
def agent(answer: Answer) -> Iterator[str]:
    """Serve an agent over HTTP and yield its model string; exceptions become status 500."""

    async def act(request: web.Request, body: dict[str, Any]) -> web.Response:
        return web.json_response({"answer": answer(body)})

    with Server(handler=act, paths=["/act"]) as server:
        yield f"agent/me@{server.root}/act"


def half(request: dict[str, Any]) -> dict[str, Any]:
    """Offer half and accept any offer."""
    if request["form"]["name"] == "Reply":
        return {"decision": "accept"}
    return {"alice_gain": 50, "bob_gain": 50}


def crashing(request: dict[str, Any]) -> dict[str, Any]:
    """Crash on Alice's requests and answer Bob's."""
    return half(request) if request["seat"] == "bob" else {"crash": 1 // 0}


@pytest.fixture
def profile(cheaptalk: Command, tmp_path: Path) -> RunProfile:
    """Return a function that profiles a player as ``me`` by the battery ``tiny.yaml``."""
    write_battery()

    def command(player: str, *options: str) -> Done:
        return cheaptalk("profile", player, "--label", "me", "--battery", "tiny.yaml", *options)

    return command


def write_battery(**changes: Any) -> None:
    Path("tiny.yaml").write_text(yaml.safe_dump(BATTERY | changes))


def results() -> tuple[Any, str]:
    """Return the metrics and the page of a profile."""
    data = json.loads(Path("me-profile.json").read_text())
    return data, Path("me-profile.html").read_text(encoding="utf-8")


def file_names(folder: Path) -> set[str]:
    """Return the files in a folder, except the battery and the lock of the store."""
    return {path.name for path in folder.iterdir()} - {"tiny.yaml", "cheaptalk.sqlite.lock"}


def call_count(folder: Path) -> int:
    """Return the number of calls in the matches in the store."""
    with ct.Store.open(folder / "cheaptalk.sqlite") as store:
        return sum(record.calls for record in store.records("me-tiny-1-small"))


def test_invalid_options_fail_before_any_call(profile: RunProfile, tmp_path: Path) -> None:
    files = CASES["earlier_profiles"]
    for name, data in files.items():
        (tmp_path / name).write_text(json.dumps(data))
    for options, message in CASES["invalid_profiles"].values():
        done = profile("script/legal", *options)
        assert (done.status, message in done.said) == (2, True), (options, done)
        assert file_names(tmp_path) == {*files}


def test_invalid_players_are_rejected(profile: RunProfile, tmp_path: Path) -> None:
    for player, message in CASES["players_without_a_seat_are_rejected"]:
        assert message in profile(player).rejection
        assert file_names(tmp_path) == set()
    panel = {"fair": {"meaning": "errs", "player": {"strategies": {"barganing": "equal_split"}}}}
    write_battery(panel=panel)
    rejection = profile("linear").rejection
    assert 'unknown game "barganing" (did you mean "bargaining"?)' in rejection


def test_halted_profile_continues_with_the_same_command(
    profile: RunProfile, tmp_path: Path
) -> None:
    options = ("--max-calls", "3", "--require", "earned >= 2", "--allow-failures")
    done = profile("script/legal", *options)
    assert done.status == 4, "unplayed matches override a failing gate"
    assert "halted: this run's limit of 3 calls is exhausted" in done.out
    assert f"{KEPT}script/legal --label me" in " ".join(done.out.split())
    unplayed = "2 matches of the study not played; all metrics cover the 2 matches of me"
    assert unplayed in done.said
    assert "resume" not in done.out + done.err
    assert file_names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    assert results()[0]["unplayed_matches"] == 2
    assert profile("script/legal").status == 0
    assert file_names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    calls = call_count(tmp_path)
    assert profile("script/legal", "--max-calls", "1").status == 0, "no request is repeated"
    assert call_count(tmp_path) == calls


def test_failed_matches_override_passing_and_open_gates(
    profile: RunProfile, no_waits: None
) -> None:
    with agent(crashing) as player:
        for options, status in CASES["failed_matches_override_passing_and_open_gates"]:
            assert profile(player, "--require", *options).status == status, options


def test_interrupted_profile_prints_how_to_continue(
    profile: RunProfile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ct.run

    def interrupted(*study: Any, progress: Callable[[ct.Progress], None], **how: Any) -> None:
        def interrupt_after_first_match(so_far: ct.Progress) -> None:
            progress(so_far)
            if so_far.counts:
                raise KeyboardInterrupt

        run(*study, progress=interrupt_after_first_match, **how)

    monkeypatch.setattr(ct, "run", interrupted)
    done = profile("linear", "--workers", "1")
    again = "cheaptalk profile linear --label me --battery tiny.yaml"
    assert (done.status, f"stopped; continue with: {again}" in done.said) == (130, True)
    assert file_names(tmp_path) == {"cheaptalk.sqlite"}


def test_matches_of_the_chosen_game_beyond_the_limit_remain(profile: RunProfile) -> None:
    limited = profile("script/legal", "--game", "bargaining", "--max-matches", "1")
    assert limited.status == 4
    assert "not played" in limited.said
    assert profile("script/legal", "--game", "bargaining").status == 0


def test_gates_without_matches_are_junit_errors(
    profile: RunProfile, tmp_path: Path, no_waits: None
) -> None:
    with agent(lambda _: {"crash": 1 // 0}) as player:
        done = profile(player, "--require", "earned >= 0.4", "--junit", "gates.xml")
    assert done.status == 4
    suite = (tmp_path / "gates.xml").read_text(encoding="utf-8")
    texts = ('tests="1" failures="0" errors="1"', "<error", "no match of me has ended")
    assert all(text in suite for text in texts), suite
    assert "status 500" in done.said
    assert file_names(tmp_path) == {"cheaptalk.sqlite", "gates.xml"}, "no page without matches"


def test_unreachable_agent_fails_quickly_with_advice(
    profile: RunProfile, tmp_path: Path, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.models.flow_control.GRACE", 0.0)
    with listening(0) as listener:
        port = listener.getsockname()[1]
    done = profile(f"agent/mine@http://127.0.0.1:{port}/act")
    assert done.status == 4
    text = f"no server answers at 127.0.0.1:{port} (Connection refused): check that it is running"
    output = " ".join(done.out.split())
    assert text in output
    assert KEPT in output
    assert file_names(tmp_path) == {"cheaptalk.sqlite"}


def test_partly_crashing_agent_gets_a_page_of_completed_matches(
    profile: RunProfile, tmp_path: Path, no_waits: None
) -> None:
    write_battery(sizes={"small": 8})
    with agent(crashing) as player:
        done = profile(player)
    assert done.status == 4
    assert file_names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    assert "16 matches failed: 16 x status 500" in done.said
    scope = "all metrics cover the 16 matches of me that ended; to play them, run: cheaptalk"
    assert scope in done.said
    data, page = results()
    assert sum(data["failed_matches"].values()) == 16
    assert data["numbers"]["ended"]["value"] == 1, "a crash of the harness is no forfeit"
    assert "16 matches failed: 16 x " in page


def test_crashes_on_one_kind_of_message_are_identified(profile: RunProfile, no_waits: None) -> None:
    talkers = {key: {"strategy": "talker", "manner": key} for key in ("silent", "polite", "threat")}
    words = CASES["crashes_on_one_kind_of_message_are_identified"]
    write_battery(talkers=talkers, words=words, repeats=[])

    def crash_on_threat(request: dict[str, Any]) -> dict[str, Any]:
        if "warn you" in request["messages"][-1]["content"]:
            return {"crash": 1 // 0}
        if request["form"]["name"] == "Reply":
            return {"decision": "reject"}
        return {"alice_gain": 100, "bob_gain": 100, "message": ""}

    with agent(crash_on_threat) as player:
        done = profile(player, "--require", "findings <= 0")
    assert done.status == 1
    finding = (
        r"me crashes on a threat: 8 of 8 matches failed \(\d+ requests\), and 0 of "
        r"the 20 others \(\d+ requests\)"
    )
    assert re.search(finding, " ".join(done.out.split()))
    reason = "8 \N{MULTIPLICATION SIGN} status 500"
    assert reason in results()[1], "reasons are grouped, whichever request failed"


def test_requests_that_fail_at_first_are_counted(profile: RunProfile, no_waits: None) -> None:
    """Regression: an agent that failed some requests at the first attempt had no weakness."""
    write_battery(sizes={"small": 8})
    received = count(1)

    def flaky(request: dict[str, Any]) -> dict[str, Any]:
        return half(request) if next(received) % 4 else {"crash": 1 // 0}

    with agent(flaky) as player:
        gates = ("answered >= 0.95", "findings <= 0", "calls.answer <= 1.01")
        done = profile(player, *(part for gate in gates for part in ("--require", gate)))
    assert done.status == 1
    data, page = results()
    calls, requests, errors = data["calls"], data["requests"], data["errors"]
    assert (calls, data["timeouts"]) == (next(received) - 1, 0)
    assert requests < calls
    numbers = data["numbers"]
    assert numbers["answered"]["value"] == pytest.approx(1 - errors / requests)
    assert numbers["calls.answer"]["value"] == pytest.approx(calls / requests)
    assert numbers["valid"]["value"] == 1
    assert "unanswered" in data["findings"]
    for gate in gates:
        assert f"{gate}: fail" in done.out
    text = (
        f"{errors} of {requests} requests got no answer at the first attempt: {errors} failed "
        f"with an error; with retries, {calls} attempts were made."
    )
    assert text in " ".join(done.out.split())
    assert text in page


def test_agent_deadline_is_60_seconds_by_default() -> None:
    for player, deadline in (
        ("agent/me@http://127.0.0.1:1/act", 60),
        ('{model: "agent/me@http://127.0.0.1:1/act", deadline: 20}', 20),
    ):
        assert _entry(player).written()["deadline"] == deadline
    assert _entry("openai/gpt-4o").written()["deadline"] == 300


def test_forfeits_are_reported_in_the_terminal(profile: RunProfile) -> None:
    """Regression: an agent that never answered one kind of request got "valid at once: 1.00"."""

    def silent_as_bob(request: dict[str, Any]) -> dict[str, Any]:
        return half(request) if request["seat"] == "alice" else {"nothing": "useful"}

    with agent(silent_as_bob) as player:
        done = profile(player)
    advice = "show the reasons with: cheaptalk match list"
    assert re.search(rf"me forfeited \d+ of \d+ matches; {advice}", done.said)


def test_unplayed_profile_does_not_claim_stored_matches(profile: RunProfile) -> None:
    """Regression: the second call counted the baselines' matches as already played."""
    unreachable = "agent/me@http://127.0.0.1:9/act"
    for _ in range(2):
        done = profile(unreachable, "--retry-timeout", "0")
        assert done.status == 4
        assert "already in the store" not in done.said


def test_gate_on_an_unavailable_metric_stays_open(profile: RunProfile, tmp_path: Path) -> None:
    gates = ("--require", "tokens <= 900", "--require", "earned >= 0")
    done = profile("linear", *gates, "--junit", "gates/me.xml")
    assert done.status == 3
    assert "tokens <= 900: open; no finished match has this metric" in done.out
    assert "earned >= 0: open" in done.out
    assert file_names(tmp_path) - {"gates"} == {"cheaptalk.sqlite", *PAGES}
    junit = (tmp_path / "gates" / "me.xml").read_text()
    texts = ('tests="2" failures="0" errors="2"', 'name="earned &gt;= 0"', "<error message=")
    assert all(text in junit for text in texts), junit


def test_profiles_of_other_players_or_sizes_are_not_overwritten(
    profile: RunProfile, tmp_path: Path
) -> None:
    write_battery(sizes={"small": 1, "big": 2})
    assert profile("linear").status == 0
    before = (tmp_path / "me-profile.json").read_bytes()
    done = profile("script/legal", "--store", "other.sqlite")
    assert "me-profile.json is the profile of another player with the label me" in done.rejection
    assert not (tmp_path / "other.sqlite").exists()
    done = profile("script/legal", "--json-file", "other.json")
    assert "would be superseded; confirm with --yes, or set another --label" in done.rejection
    done = profile("linear", "--compare-to", "me-profile.json")
    assert "--compare-to me-profile.json would be overwritten; set another" in done.rejection
    assert profile("linear", "--size", "big").status == 0
    assert (tmp_path / "me-profile.json").read_bytes() == before
    assert json.loads((tmp_path / "me-big-profile.json").read_text())["size"] == "big"
    assert profile("script/legal", "--store", "other.sqlite", "--yes").status == 0


def test_excluded_games_do_not_count_as_unplayed(profile: RunProfile) -> None:
    price = {"title": "A price", "game": "negotiation", "fixed": {"horizon": 2}}
    write_battery(parts=BATTERY["parts"] | {"price": price})
    done = profile("linear", "--game", "bargaining")
    assert (done.status, "not played" in done.said) == (0, False)
    assert results()[0]["unplayed_matches"] == 0
