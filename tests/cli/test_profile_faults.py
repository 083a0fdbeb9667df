"""What goes wrong with a profile: one sentence each, nothing half-written, what was played kept."""

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
from tests.conftest import Command, Done

BATTERY: dict[str, Any] = {
    "name": "tiny-1",
    "sizes": {"small": 1},
    "panel": {
        "fair": {"meaning": "offers half", "player": "equal_split"},
        "hard": {"meaning": "gives way late", "player": "boulware"},
    },
    "parts": {
        "pie": {"title": "A pie", "game": "bargaining",
                "fixed": {"money": 100, "horizon": 2, "messages": False}},
    },
}  # fmt: skip
PAGES = {"me-profile.html", "me-profile.json"}
KEPT = "remaining (completed matches are kept); continue with: cheaptalk profile "
Profiled = Callable[..., Done]


@pytest.fixture
def profiled(cheaptalk: Command, tmp_path: Path) -> Profiled:
    """Makes a profile of a player called ``me`` by the battery ``tiny.yaml``, where they run."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY))

    def command(player: str, *options: str) -> Done:
        return cheaptalk("profile", player, "--label", "me", "--battery", "tiny.yaml", *options)

    return command


def names(folder: Path) -> set[str]:
    """What is there beside the battery; a store is there if its file is, which has a lock."""
    return {one.name for one in folder.iterdir()} - {"tiny.yaml", "cheaptalk.sqlite.lock"}


def asked(folder: Path) -> int:
    """How many calls the matches in the store took."""
    with ct.Store.open(folder / "cheaptalk.sqlite") as store:
        return sum(one.calls for one in store.records("me-tiny-1-small"))


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "no number": (
        ("--require", "earnd >= 0.4"),
        'a profile by tiny-1 has no metric "earnd" (did you mean "earned"?)',
    ),
    "no gate": (("--require", "earned => 0.4"), '"earned => 0.4" is not a gate; write METRIC >='),
    "no file": (("--compare-to", "no.json"), "no.json: can't read the profile: No such file"),
    "no JSON": (
        ("--compare-to", "tiny.yaml"),
        "tiny.yaml: can't read the profile: Expecting value",
    ),
    "no profile": (
        ("--compare-to", "list.json"),
        "list.json: the file is not a profile; ",
    ),
    "half a profile": (("--compare-to", "half.json"), "half.json: the file is n"),
    "another battery": (
        ("--compare-to", "other.json"),
        "other.json: the earlier profile of you has the battery tiny-0 instead of tiny-1; comp",
    ),
    "no size": (("--size", "huge"), 'tiny-1 has no size "huge" (known: small)'),
    "a folder": (("--out", "."), "cannot write .: Is a directory"),
    "no folder": (("--json-file", "tiny.yaml/me.json"), "cannot write tiny.yaml/me.json: "),
    "no folder for gates": (
        ("--require", "earned >= 0", "--junit", "tiny.yaml/me.xml"),
        "cannot write tiny.yaml/me.xml: ",
    ),
    "no gates": (
        ("--junit", "new/me.xml"),
        "--junit requires at least one gate",
    ),
    "no battery": (("--battery", "standard"), 'unknown battery "standard" (did you mean'),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused_before_anything_is_bought(
    profiled: Profiled, tmp_path: Path, case: str
) -> None:
    written = {
        "list.json": [1],
        "half.json": {"format": 2, "player": "you", "battery": "tiny-1"},
        "other.json": {"format": 1, "player": "you", "battery": "tiny-0", "values": {"rows": {}}},
    }
    for name, data in written.items():
        (tmp_path / name).write_text(json.dumps(data))
    options, said = WRONG[case]
    done = profiled("script/legal", *options)
    assert done.status == 2
    assert f"error: {said}" in done.said
    assert names(tmp_path) == {*written}


@pytest.mark.parametrize(
    ("player", "said"),
    [
        ("agent/x", 'agent/x: model: "agent/x": add the URL of the server: agent/x@http://HOST:'),
        ("", ": null is not a player; write a strategy's name"),
        ("{strategy: linear, start: 9}", "error: start: should be less than or equal to 1"),
        (
            "{strategies: {persuasion: {alice: honest}}}",
            "me can't fill any seat in tiny-1: the player cannot play",
        ),
    ],
)
def test_who_cannot_sit_down_is_told_why(
    profiled: Profiled, tmp_path: Path, player: str, said: str
) -> None:
    done = profiled(player)
    assert (done.status, said in done.said) == (2, True), done.said
    assert names(tmp_path) == set()


def test_a_battery_whose_panel_cannot_play_is_told(profiled: Profiled, tmp_path: Path) -> None:
    panel = {"fair": {"meaning": "errs", "player": {"strategies": {"barganing": "equal_split"}}}}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"panel": panel}))
    done = profiled("linear")
    assert done.status == 2
    assert 'unknown game "barganing" (did you mean "bargaining"?)' in done.said


def test_a_profile_that_is_halted_says_what_is_kept_and_the_same_command_goes_on(
    profiled: Profiled, tmp_path: Path
) -> None:
    done = profiled("script/legal", "--max-calls", "3")
    assert done.status == 4
    assert "halted: this run's limit of 3 calls is exhausted" in done.out
    assert f"{KEPT}script/legal --label me" in " ".join(done.out.split())
    said = " ".join(done.said.split())
    assert "2 matches of the study not played; all metrics cover the 2 matches of me" in said
    assert "resume" not in done.out + done.err
    assert names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    assert json.loads((tmp_path / "me-profile.json").read_text())["unplayed_matches"] == 2
    assert profiled("script/legal").status == 0
    assert names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    calls = asked(tmp_path)
    assert profiled("script/legal", "--max-calls", "1").status == 0, "nothing is asked again"
    assert asked(tmp_path) == calls


@pytest.mark.parametrize("gate", ["earned >= 2", "earned >= 0.25", "earned >= -1"])
def test_matches_left_to_play_override_every_gate(profiled: Profiled, gate: str) -> None:
    """A dead agent had the status of an open gate, which a job may accept."""
    done = profiled("script/legal", "--max-calls", "3", "--require", gate, "--allow-failures")
    assert "2 matches of the study not played" in " ".join(done.said.split())
    assert done.status == 4


@pytest.mark.parametrize(
    ("gate", "status", "allowed"),
    [("earned >= 2", 1, 1), ("findings <= 99", 4, 0), ("tokens >= 1", 4, 3)],
)
def test_failed_matches_override_gates_that_do_not_fail(
    profiled: Profiled, no_waits: None, gate: str, status: int, allowed: int
) -> None:
    with agent_server(crashing) as url:
        command = (f"agent/me@{url}", "--require", gate)
        assert profiled(*command).status == status
        assert profiled(*command, "--allow-failures").status == allowed


def test_a_profile_that_is_interrupted_says_what_is_kept(
    profiled: Profiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ct.run

    def interrupted(*study: Any, progress: Callable[[ct.Progress], None], **how: Any) -> None:
        def told(so_far: ct.Progress) -> None:
            progress(so_far)
            if so_far.counts:
                raise KeyboardInterrupt

        run(*study, progress=told, **how)

    monkeypatch.setattr(ct, "run", interrupted)
    done = profiled("linear", "--workers", "1")
    assert done.status == 130
    assert (
        "stopped; continue with: cheaptalk profile linear --label me --battery tiny.yaml"
        in done.said
    )
    assert names(tmp_path) == {"cheaptalk.sqlite"}


def test_gates_of_a_profile_without_matches_are_errors_for_ci(
    profiled: Profiled, tmp_path: Path, no_waits: None
) -> None:
    with agent_server(lambda _: {"crash": 1 // 0}) as url:
        done = profiled(
            f"agent/me@{url}", "--require", "earned >= 0.4", "--junit", "gates.xml"
        )  # fmt: skip
    assert done.status == 4
    suite = (tmp_path / "gates.xml").read_text(encoding="utf-8")
    assert 'tests="1" failures="0" errors="1"' in suite
    assert "<error" in suite
    assert "no match of me has ended" in suite


def test_an_agent_that_is_not_there_is_told_soon_and_with_the_cure(
    profiled: Profiled, tmp_path: Path, no_waits: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cheaptalk.models.flow_control.GRACE", 0.0)
    with listening(0) as there:
        port = there.getsockname()[1]
    done = profiled(f"agent/mine@http://127.0.0.1:{port}/act")
    assert done.status == 4
    away = f"no server answers at 127.0.0.1:{port} (Connection refused): check that it is running"
    assert away in " ".join(done.out.split())
    assert KEPT in done.out
    assert names(tmp_path) == {"cheaptalk.sqlite"}


Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Answers a request of the agent protocol; None closes the connection without an answer."""


@contextmanager
def agent_server(answer: Answer) -> Iterator[str]:
    """An agent over HTTP; an exception becomes status 500. Yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                answered = answer(request)
            except ZeroDivisionError as error:
                self.send_error(500, str(error))
                return
            if answered is None:
                self.close_connection = True
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"answer": answered}).encode())

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
    """Offer half, and accept anything."""
    if request["form"]["name"] == "Reply":
        return {"decision": "accept"}
    return {"alice_gain": 50, "bob_gain": 50}


def crashing(request: dict[str, Any]) -> dict[str, Any] | None:
    """Crash on every first offer of Alice, and answer all else."""
    return half(request) if request["seat"] == "bob" else {"crash": 1 // 0}


def closing(request: dict[str, Any]) -> dict[str, Any] | None:
    """Close the connection at every offer of Alice, and answer all else."""
    return half(request) if request["seat"] == "bob" else None


@pytest.mark.parametrize(
    ("answer", "reason"), [(crashing, "status 500"), (closing, "without a response")]
)
def test_an_agent_that_crashes_on_some_requests_gets_a_page_of_the_other_matches(
    profiled: Profiled, tmp_path: Path, no_waits: None, answer: Answer, reason: str
) -> None:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"sizes": {"small": 8}}))
    with agent_server(answer) as url:
        done = profiled(f"agent/me@{url}")
        assert done.status == 4
        assert profiled(f"agent/me@{url}", "--allow-failures").status == 0
    assert names(tmp_path) == {"cheaptalk.sqlite", *PAGES}
    said = " ".join(done.said.split())
    assert "16 matches failed: 16 x " in said
    assert reason in said
    assert "all metrics cover the 16 matches of me that ended; to play them, run: cheaptalk" in said
    data = json.loads((tmp_path / "me-profile.json").read_text())
    assert sum(data["failed_matches"].values()) == 16
    assert data["numbers"]["ended"]["value"] == 1, "a crash of the harness is no forfeit"
    page = (tmp_path / "me-profile.html").read_text(encoding="utf-8")
    assert "16 matches failed: 16 x " in page


def test_an_agent_that_crashes_on_one_kind_of_message_is_told_which(
    profiled: Profiled, tmp_path: Path, no_waits: None
) -> None:
    talkers = {one: {"strategy": "talker", "manner": one} for one in ("silent", "polite", "threat")}
    words = {"pie-words": {"title": "A pie, with words", "game": "bargaining", "instances": 4,
                           "fixed": {"money": 200, "horizon": 3, "messages": True}}}  # fmt: skip
    battery = BATTERY | {"talkers": talkers, "words": words, "repeats": []}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(battery))

    def afraid(request: dict[str, Any]) -> dict[str, Any]:
        if "warn you" in request["messages"][-1]["content"]:
            return {"crash": 1 // 0}
        if request["form"]["name"] == "Reply":
            return {"decision": "reject"}
        return {"alice_gain": 100, "bob_gain": 100, "message": ""}

    with agent_server(afraid) as url:
        done = profiled(f"agent/me@{url}", "--require", "findings <= 0")
    assert done.status == 1
    told = " ".join(done.out.split())
    assert re.search(r"me crashes on a threat: 8 of 8 matches failed \(\d+ requests\), and 0 of "
                     r"the 20 others \(\d+ requests\)", told)  # fmt: skip
    page = (tmp_path / "me-profile.html").read_text(encoding="utf-8")
    assert "8 \N{MULTIPLICATION SIGN} status 500" in page, (
        "reasons are grouped, whichever request failed"
    )


def test_requests_that_failed_at_first_are_counted(
    profiled: Profiled, tmp_path: Path, no_waits: None
) -> None:
    """An agent that crashed on some requests, and answered it later, had no weakness."""
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"sizes": {"small": 8}}))
    lock, received = threading.Lock(), [0]

    def flaky(request: dict[str, Any]) -> dict[str, Any]:
        with lock:
            received[0] += 1
            return half(request) if received[0] % 4 else {"crash": 1 // 0}

    with agent_server(flaky) as url:
        gates = ("answered >= 0.95", "findings <= 0", "calls.answer <= 1.01")
        done = profiled(f"agent/me@{url}", *(part for one in gates for part in ("--require", one)))
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


def test_an_agent_that_never_answers_gets_no_page(
    profiled: Profiled, tmp_path: Path, no_waits: None
) -> None:
    with agent_server(lambda _: {"crash": 1 // 0}) as url:
        done = profiled(f"agent/me@{url}")
    assert done.status == 4
    assert "status 500" in done.said
    assert names(tmp_path) == {"cheaptalk.sqlite"}


def test_an_agent_has_a_minute_for_each_answer_unless_its_entry_says_otherwise() -> None:
    for player, deadline in (
        ("agent/me@http://127.0.0.1:1/act", 60),
        ('{model: "agent/me@http://127.0.0.1:1/act", deadline: 20}', 20),
    ):
        assert _entry(player).written()["deadline"] == deadline
    assert _entry("openai/gpt-4o").written()["deadline"] == 300


def test_forfeits_are_reported_in_the_terminal(profiled: Profiled) -> None:
    """An agent that never answered one kind of request had "valid at once: 1.00" and no word."""

    def silent_as_bob(request: dict[str, Any]) -> dict[str, Any]:
        return half(request) if request["seat"] == "alice" else {"nothing": "useful"}

    with agent_server(silent_as_bob) as url:
        done = profiled(f"agent/me@{url}")
    said = " ".join(done.said.split())
    assert re.search(
        r"me forfeited \d+ of \d+ matches; show the reasons with: cheaptalk match list", said
    )


def test_a_profile_that_is_not_played_claims_nothing_about_its_matches(profiled: Profiled) -> None:
    """The second call said that all matches had been played: those of the baselines."""
    unreachable = "agent/me@http://127.0.0.1:9/act"
    for _ in range(2):
        done = profiled(unreachable, "--retry-timeout", "0")
        assert done.status == 4
        assert "already in the store" not in done.said


def test_who_forfeits_all_is_told_as_that_and_fails(profiled: Profiled, tmp_path: Path) -> None:
    done = profiled("script/refuse", "--require", "earned >= 0.4")
    assert done.status == 1
    assert (
        "me forfeited 4 of 4 matches; all other metrics exclude these matches; show the reasons"
        in done.said
    )
    assert names(tmp_path) == {"cheaptalk.sqlite", *PAGES}


def test_a_gate_on_what_is_not_known_of_a_player_cannot_be_told(
    profiled: Profiled, tmp_path: Path
) -> None:
    done = profiled("linear", "--require", "tokens <= 900", "--junit", "gates/me.xml")
    assert done.status == 3
    assert "tokens <= 900: open; no finished match has this metric" in done.out
    assert names(tmp_path) - {"gates"} == {"cheaptalk.sqlite", *PAGES}
    done = profiled("linear", "--require", "earned >= 0", "--junit", "gates/me.xml")
    assert (done.status, "earned >= 0: open" in done.out) == (3, True)
    written = (tmp_path / "gates" / "me.xml").read_text()
    assert 'tests="1" failures="0" errors="1"' in written
    assert 'name="earned &gt;= 0"' in written
    assert "<error message=" in written


def test_another_player_under_the_same_name_is_refused(profiled: Profiled) -> None:
    assert profiled("linear").status == 0
    done = profiled("script/legal", "--json-file", "other.json")
    assert done.status == 2
    assert "would be superseded; confirm with --yes, or set another --label" in done.said


def test_the_file_of_another_player_or_size_is_not_replaced(
    profiled: Profiled, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"sizes": {"small": 1, "big": 2}}))
    assert profiled("linear").status == 0
    before = (tmp_path / "me-profile.json").read_bytes()
    done = profiled("script/legal", "--store", "other.sqlite")
    assert done.status == 2
    assert "me-profile.json is the profile of another player with the label me" in done.said
    assert not (tmp_path / "other.sqlite").exists()
    assert profiled("linear", "--size", "big").status == 0
    assert (tmp_path / "me-profile.json").read_bytes() == before
    assert json.loads((tmp_path / "me-big-profile.json").read_text())["size"] == "big"
    assert profiled("script/legal", "--store", "other.sqlite", "--yes").status == 0


def test_what_is_compared_with_is_not_written_over(profiled: Profiled, tmp_path: Path) -> None:
    assert profiled("linear").status == 0
    before = (tmp_path / "me-profile.json").read_bytes()
    done = profiled("linear", "--compare-to", "me-profile.json")
    assert done.status == 2
    assert "--compare-to me-profile.json would be overwritten; set another --json-file" in done.said
    assert (tmp_path / "me-profile.json").read_bytes() == before


def test_games_that_were_not_requested_are_not_missing(profiled: Profiled, tmp_path: Path) -> None:
    parts = BATTERY["parts"] | {
        "price": {"title": "A price", "game": "negotiation", "fixed": {"horizon": 2}},
    }
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(BATTERY | {"parts": parts}))
    done = profiled("linear", "--game", "bargaining")
    assert done.status == 0
    assert "not played" not in done.said
    assert json.loads((tmp_path / "me-profile.json").read_text())["unplayed_matches"] == 0
