"""Faults of a profile: one-sentence errors, no partial files, and played matches are kept."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

import cheaptalk as ct
from cheaptalk.cli.results.profile import _entry
from cheaptalk.loopback import listening
from tests.cli import CASES
from tests.conftest import Command, Done

BATTERY: dict[str, Any] = CASES["tiny_battery"]
PAGES = {"me-profile.html", "me-profile.json"}
KEPT = "remaining (completed matches are kept); continue with: cheaptalk profile "
RunProfile = Callable[..., Done]


@pytest.fixture
def profile(cheaptalk: Command, tmp_path: Path) -> RunProfile:
    """Return a function that profiles a player as ``me`` by the battery ``tiny.yaml``."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY))

    def command(player: str, *options: str) -> Done:
        return cheaptalk("profile", player, "--label", "me", "--battery", "tiny.yaml", *options)

    return command


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


def test_players_without_a_seat_are_rejected(profile: RunProfile, tmp_path: Path) -> None:
    for player, message in CASES["players_without_a_seat_are_rejected"]:
        done = profile(player)
        assert (done.status, message in done.said) == (2, True), done.said
        assert file_names(tmp_path) == set()


def test_invalid_panel_player_is_rejected(profile: RunProfile, tmp_path: Path) -> None:
    panel = {"fair": {"meaning": "errs", "player": {"strategies": {"barganing": "equal_split"}}}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"panel": panel}))
    done = profile("linear")
    assert 'unknown game "barganing" (did you mean "bargaining"?)' in done.rejection


def test_halted_profile_continues_with_the_same_command(
    profile: RunProfile, tmp_path: Path
) -> None:
    options = ("--max-calls", "3", "--require", "earned >= 2", "--allow-failures")
    done = profile("script/legal", *options)
    assert done.status == 4, "unplayed matches override a failing gate"
    assert "halted: this run's limit of 3 calls is exhausted" in done.out
    assert f"{KEPT}script/legal --label me" in " ".join(done.out.split())
    output = " ".join(done.said.split())
    assert "2 matches of the study not played; all metrics cover the 2 matches of me" in output
    assert "resume" not in done.out + done.err
    assert file_names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    assert json.loads((tmp_path / "me-profile.json").read_text())["unplayed_matches"] == 2
    assert profile("script/legal").status == 0
    assert file_names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    calls = call_count(tmp_path)
    assert profile("script/legal", "--max-calls", "1").status == 0, "no request is repeated"
    assert call_count(tmp_path) == calls


@pytest.mark.parametrize(
    ("gate", "status", "allowed"), CASES["failed_matches_override_passing_and_open_gates"]
)
def test_failed_matches_override_passing_and_open_gates(
    profile: RunProfile, no_waits: None, gate: str, status: int, allowed: int
) -> None:
    with agent_server(crashing) as url:
        command = (f"agent/me@{url}", "--require", gate)
        assert profile(*command).status == status
        assert profile(*command, "--allow-failures").status == allowed


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
    assert done.status == 130
    assert (
        "stopped; continue with: cheaptalk profile linear --label me --battery tiny.yaml"
        in done.said
    )
    assert file_names(tmp_path) == {"cheaptalk.sqlite"}


def test_gates_without_matches_are_junit_errors(
    profile: RunProfile, tmp_path: Path, no_waits: None
) -> None:
    with agent_server(lambda _: {"crash": 1 // 0}) as url:
        done = profile(f"agent/me@{url}", "--require", "earned >= 0.4", "--junit", "gates.xml")
    assert done.status == 4
    suite = (tmp_path / "gates.xml").read_text(encoding="utf-8")
    assert 'tests="1" failures="0" errors="1"' in suite
    assert "<error" in suite
    assert "no match of me has ended" in suite
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
    assert text in " ".join(done.out.split())
    assert KEPT in done.out
    assert file_names(tmp_path) == {"cheaptalk.sqlite"}


Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Answer a request of the agent protocol, or return None to close the connection."""


@contextmanager
def agent_server(answer: Answer) -> Iterator[str]:
    """Serve an agent over HTTP and yield its URL; exceptions become status 500."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                content = answer(request)
            except ZeroDivisionError as error:
                self.send_error(500, str(error))
                return
            if content is None:
                self.close_connection = True
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"answer": content}).encode())

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/act"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def half(request: dict[str, Any]) -> dict[str, Any]:
    """Offer half and accept any offer."""
    if request["form"]["name"] == "Reply":
        return {"decision": "accept"}
    return {"alice_gain": 50, "bob_gain": 50}


def crashing(request: dict[str, Any]) -> dict[str, Any] | None:
    """Crash on Alice's requests and answer Bob's."""
    return half(request) if request["seat"] == "bob" else {"crash": 1 // 0}


def test_partly_crashing_agent_gets_a_page_of_completed_matches(
    profile: RunProfile, tmp_path: Path, no_waits: None
) -> None:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"sizes": {"small": 8}}))
    with agent_server(crashing) as url:
        done = profile(f"agent/me@{url}")
        assert done.status == 4
    assert file_names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    text = " ".join(done.said.split())
    assert "16 matches failed: 16 x status 500" in text
    assert "all metrics cover the 16 matches of me that ended; to play them, run: cheaptalk" in text
    data = json.loads((tmp_path / "me-profile.json").read_text())
    assert sum(data["failed_matches"].values()) == 16
    assert data["numbers"]["ended"]["value"] == 1, "a crash of the harness is no forfeit"
    page = (tmp_path / "me-profile.html").read_text(encoding="utf-8")
    assert "16 matches failed: 16 x " in page


def test_crashes_on_one_kind_of_message_are_identified(
    profile: RunProfile, tmp_path: Path, no_waits: None
) -> None:
    talkers = {key: {"strategy": "talker", "manner": key} for key in ("silent", "polite", "threat")}
    words = CASES["crashes_on_one_kind_of_message_are_identified"]
    battery = BATTERY | {"talkers": talkers, "words": words, "repeats": []}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(battery))

    def crash_on_threat(request: dict[str, Any]) -> dict[str, Any]:
        if "warn you" in request["messages"][-1]["content"]:
            return {"crash": 1 // 0}
        if request["form"]["name"] == "Reply":
            return {"decision": "reject"}
        return {"alice_gain": 100, "bob_gain": 100, "message": ""}

    with agent_server(crash_on_threat) as url:
        done = profile(f"agent/me@{url}", "--require", "findings <= 0")
    assert done.status == 1
    output = " ".join(done.out.split())
    assert re.search(
        r"me crashes on a threat: 8 of 8 matches failed \(\d+ requests\), and 0 of "
        r"the 20 others \(\d+ requests\)",
        output,
    )
    page = (tmp_path / "me-profile.html").read_text(encoding="utf-8")
    assert "8 \N{MULTIPLICATION SIGN} status 500" in page, (
        "reasons are grouped, whichever request failed"
    )


def test_requests_that_fail_at_first_are_counted(
    profile: RunProfile, tmp_path: Path, no_waits: None
) -> None:
    """Regression: an agent that failed some requests at the first attempt had no weakness."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"sizes": {"small": 8}}))
    lock, received = threading.Lock(), [0]

    def flaky(request: dict[str, Any]) -> dict[str, Any]:
        with lock:
            received[0] += 1
            return half(request) if received[0] % 4 else {"crash": 1 // 0}

    with agent_server(flaky) as url:
        gates = ("answered >= 0.95", "findings <= 0", "calls.answer <= 1.01")
        done = profile(f"agent/me@{url}", *(part for gate in gates for part in ("--require", gate)))
    assert done.status == 1
    data = json.loads((tmp_path / "me-profile.json").read_text())
    calls, requests, errors = data["calls"], data["requests"], data["errors"]
    assert (calls, data["timeouts"]) == (received[0], 0)
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
        f"with an error; "
        f"with retries, {calls} attempts were made."
    )
    assert text in " ".join(done.out.split())
    assert text in (tmp_path / "me-profile.html").read_text(encoding="utf-8")


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

    with agent_server(silent_as_bob) as url:
        done = profile(f"agent/me@{url}")
    output = " ".join(done.said.split())
    assert re.search(
        r"me forfeited \d+ of \d+ matches; show the reasons with: cheaptalk match list", output
    )


def test_unplayed_profile_does_not_claim_stored_matches(profile: RunProfile) -> None:
    """Regression: the second call counted the baselines' matches as already played."""
    unreachable = "agent/me@http://127.0.0.1:9/act"
    for _ in range(2):
        done = profile(unreachable, "--retry-timeout", "0")
        assert done.status == 4
        assert "already in the store" not in done.said


def test_gate_on_an_unavailable_metric_stays_open(profile: RunProfile, tmp_path: Path) -> None:
    done = profile("linear", "--require", "tokens <= 900", "--junit", "gates/me.xml")
    assert done.status == 3
    assert "tokens <= 900: open; no finished match has this metric" in done.out
    assert file_names(tmp_path) - {"gates"} == {"cheaptalk.sqlite", *PAGES}
    done = profile("linear", "--require", "earned >= 0", "--junit", "gates/me.xml")
    assert (done.status, "earned >= 0: open" in done.out) == (3, True)
    junit = (tmp_path / "gates" / "me.xml").read_text()
    assert 'tests="1" failures="0" errors="1"' in junit
    assert 'name="earned &gt;= 0"' in junit
    assert "<error message=" in junit


def test_another_player_under_the_same_label_is_rejected(profile: RunProfile) -> None:
    assert profile("linear").status == 0
    done = profile("script/legal", "--json-file", "other.json")
    assert "would be superseded; confirm with --yes, or set another --label" in done.rejection


def test_profiles_of_other_players_or_sizes_are_not_overwritten(
    profile: RunProfile, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"sizes": {"small": 1, "big": 2}}))
    assert profile("linear").status == 0
    before = (tmp_path / "me-profile.json").read_bytes()
    done = profile("script/legal", "--store", "other.sqlite")
    assert "me-profile.json is the profile of another player with the label me" in done.rejection
    assert not (tmp_path / "other.sqlite").exists()
    done = profile("linear", "--compare-to", "me-profile.json")
    assert "--compare-to me-profile.json would be overwritten; set another" in done.rejection
    assert profile("linear", "--size", "big").status == 0
    assert (tmp_path / "me-profile.json").read_bytes() == before
    assert json.loads((tmp_path / "me-big-profile.json").read_text())["size"] == "big"
    assert profile("script/legal", "--store", "other.sqlite", "--yes").status == 0


def test_excluded_games_do_not_count_as_unplayed(profile: RunProfile, tmp_path: Path) -> None:
    parts = BATTERY["parts"] | {
        "price": {"title": "A price", "game": "negotiation", "fixed": {"horizon": 2}}
    }
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"parts": parts}))
    done = profile("linear", "--game", "bargaining")
    assert done.status == 0
    assert "not played" not in done.said
    assert json.loads((tmp_path / "me-profile.json").read_text())["unplayed_matches"] == 0
