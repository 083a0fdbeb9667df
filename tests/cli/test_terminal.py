"""Commands on a terminal: playing as a person, progress bars and Ctrl-C."""

import asyncio
import io
import re
import subprocess
import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from aiohttp import web

import cheaptalk as ct
from cheaptalk.players import Kind
from cheaptalk.records import Status
from tests.cli import CASES, write_study
from tests.cli.terminal import Terminal, unmeasured
from tests.conftest import Command, Done
from tests.fakes import Server, spec
from tests.test_project import ROOT


def only_record(folder: Path) -> ct.MatchRecord:
    with ct.Store.open(folder / "cheaptalk.sqlite") as store:
        (record,) = store.records(bodies=True)
    return record


def propose(screen: Terminal, alice: str, bob: str) -> None:
    """Propose a division."""
    screen.read_until("alice gain: ")
    screen.type(alice)
    complete_proposal(screen, bob)


def complete_proposal(screen: Terminal, bob: str) -> None:
    """Complete a proposal."""
    for field, text in (("bob gain: ", bob), ("message: ", "[Hi]")):
        screen.read_until(field)
        screen.type(text)


def test_person_plays_a_match_with_invalid_responses(tmp_path: Path) -> None:
    arguments = ["play", "bargaining", "--opponent", "equal_split", "--set", "money=100"]
    with Terminal(*arguments, "--set", "horizon=3", folder=tmp_path) as screen:
        output = screen.read_until("It is your turn to propose how to divide $100.")
        assert "You are Alice." in output
        propose(screen, "60", "50")
        assert "Invalid response: the two parts must add up to 100, not 110." in (
            screen.read_until("alice gain: ")
        )
        screen.type("sixty")
        assert "Please enter a number, e.g. 250." in screen.read_until("alice gain: ")
        screen.type("$60.00")
        complete_proposal(screen, "40")
        assert "Your proposal of round 1 was rejected." in screen.read_until("decision")
        screen.read_until("(accept / reject): ")
        for unclear in ("", "maybe"):
            screen.type(unclear)
            output = screen.read_until("(accept / reject): ")
            assert "Please enter one of: accept, reject." in output
        screen.type("A")
        status, end = screen.ends()
    record = only_record(tmp_path)
    again = f"cheaptalk match show {record.id} --store cheaptalk.sqlite"
    texts = ("End of the match", "Payoff of alice: 45", f"Show the match again with: {again}")
    assert (status, [text for text in texts if text not in end]) == (0, [])
    answers = [answer for answer in record.answers if answer.actor == "alice"]
    assert [answer.kind for answer in answers] == [Kind.REPAIRED, Kind.OK]
    assert answers[0].action == {"alice_gain": 60, "bob_gain": 40, "message": "[Hi]"}
    assert all(call["reply"]["seconds"] > 0 for answer in answers for call in answer.calls)


def test_person_can_stop_with_ctrl_c_and_continue(tmp_path: Path) -> None:
    arguments = ["play", "bargaining", "--seat", "bob", "--opponent", "{strategy: fixed_demand}"]
    with Terminal(*arguments, "--seed", "7", folder=tmp_path) as screen:
        screen.read_until("(accept / reject): ")
        screen.type("reject")
        propose(screen, "1", "1")
        screen.read_until("Invalid response")
        screen.press_ctrl_c()
        status, end = screen.ends()
    assert status == 130
    assert "stopping; waiting for calls in flight to finish" in end
    assert "Traceback" not in end
    hint = end[end.index("continue with: ") + len("continue with: ") :].split("\n")[0]
    assert hint == (
        "cheaptalk play bargaining --seat bob --opponent '{strategy: fixed_demand}' --seed 7 "
        "--store cheaptalk.sqlite"
    )
    assert only_record(tmp_path).status is Status.LIVE
    with Terminal(*arguments, "--seed", "7", folder=tmp_path) as screen:
        output = screen.read_until("Invalid response: the two parts must add up to")
        assert "You are Bob." in output
        assert output.count("Alice proposes: ") == 1
        assert 'You answered {"decision": "reject"}' in output
        assert "It is your turn to propose" in output
        propose(screen, "9000", "1000")
        assert screen.ends()[0] == 0
    record = only_record(tmp_path)
    assert record.status is Status.FINISHED
    assert record.payoffs == {"alice": 8100, "bob": 900}


def test_model_answer_in_flight_is_kept_after_ctrl_c(tmp_path: Path) -> None:
    received, release = Event(), Event()

    async def wait_for_release(request: web.Request, body: dict[str, Any]) -> None:
        received.set()
        await asyncio.to_thread(release.wait, 60)

    with Server(answerer=lambda _: '{"decision": "reject"}', handler=wait_for_release) as server:
        arguments = ["play", "bargaining", "--opponent", f"vllm/tiny@{server.url}", "--seed", "7"]
        with Terminal(*arguments, "--set", "horizon=1", folder=tmp_path) as screen:
            propose(screen, "9000", "1000")
            assert received.wait(60)
            screen.press_ctrl_c()
            screen.read_until("stopping; waiting for calls in flight to finish")
            release.set()
            assert screen.ends()[0] == 0, "the model's answer was the last one wanted"
    assert only_record(tmp_path).status is Status.FINISHED
    assert len(server.calls) == 1


@pytest.fixture
def piped(cheaptalk: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return `cheaptalk play` with its input from a pipe."""

    def play(lines: str, *arguments: str) -> Done:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        return cheaptalk("play", *arguments)

    return play


def test_game_can_be_played_from_a_pipe(piped: Command, tmp_path: Path) -> None:
    rival = ["--seat", "bob", "--opponent", "always_recommend"]
    done = piped("y\n" * 20, "persuasion", *rival)
    assert done.status == 0, done.err
    payoffs = only_record(tmp_path).payoffs
    assert payoffs is not None
    assert f"Payoff of bob: {payoffs['bob']:,.10g}" in done.out.splitlines()
    assert "alice: 20" not in done.out, "the opponent's payoff is private"


def test_opponents_fill_all_other_seats(piped: Command, tmp_path: Path) -> None:
    setting = ["--set", "players=4", "--set", "rounds=1", "--opponent", "free_rider"]
    done = piped("5\n", "public_goods", "--seat", "player_3", *setting)
    assert done.status == 0, done.err
    assert [line for line in done.out.splitlines() if line.startswith("Payoff of player_")] == [
        "Payoff of player_3: 17.5"
    ]
    record = only_record(tmp_path)
    free = "free_rider"
    assert [record.label(seat) for seat in record.seats] == [free, free, "you", free]


def test_played_matches_are_kept_and_counted(piped: Command, tmp_path: Path) -> None:
    half = ("5\n5\nHi\n", "bargaining", "--set", "money=10", "--opponent")
    for rival in ("equal_split", "{strategy: fixed_demand, share: 0.5}", "equal_split"):
        assert piped(*half, rival).status == 0
    seeded = [piped(*half, "equal_split", "--seed", "8").out for _ in range(2)]
    assert "this match was already played; to play a new match, omit --seed" in seeded[1]
    with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
        study, records = store.study("played-bargaining"), list(store.records())
    assert (study.counts, study.set_aside, study.planned) == ({"finished": 4}, 0, 4)
    assert len({record.instance_key for record in records}) == 4
    assert [record.label("bob") for record in records] == [
        "equal_split",
        "{strategy: fixed_demand, share: 0.5}",
        "equal_split",
        "equal_split",
    ]
    assert set(study.spec["players"]) == {"you", *(record.label("bob") for record in records)}


def test_end_of_input_leaves_the_match_resumable(piped: Command, tmp_path: Path) -> None:
    done = piped("y\n" * 3, "persuasion", "--seat", "bob", "--seed", "1")
    assert done.status == 130
    assert "stopped; continue with: cheaptalk play persuasion --seat bob" in done.err
    assert only_record(tmp_path).status is Status.LIVE
    assert piped("y\n" * 17, "persuasion", "--seat", "bob", "--seed", "1").status == 0


async def refusing_bob(request: web.Request, body: dict[str, Any]) -> web.Response | None:
    number = request.headers["X-Cheaptalk-Call"]
    return web.Response(status=401) if "/bob/" in number else None


def test_failed_and_forfeited_matches_print_the_reason(piped: Command) -> None:
    with Server(answerer=lambda _: "Hm", handler=refusing_bob) as server:
        rival = ["--opponent", f"{{model: vllm/tiny@{server.url}, tries: 1}}"]
        failed = piped("9000\n1000\nHi\n", "bargaining", *rival)
        forfeited = piped("", "bargaining", "--seat", "bob", *rival)
    assert failed.status == 1
    assert 'Match failed: call for "bob" in request 1: status 401' in failed.out
    assert forfeited.status == 0
    assert f"Match forfeited: forfeited by {rival[1]} as alice: unparsable" in forfeited.out


def test_invalid_play_arguments_write_nothing(
    cheaptalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for arguments, message in CASES["invalid_play_arguments_write_nothing"]:
        done = cheaptalk("play", *arguments)
        assert message in done.rejection
        assert list(tmp_path.iterdir()) == []


def test_progress_bar_is_shown_and_ctrl_c_stops_workers_without_tracebacks(tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(yaml.safe_dump(spec(instances=20_000)))
    arguments = ["run", "many.yaml", "--workers", "2"]
    with Terminal(*arguments, folder=tmp_path, environment=unmeasured()) as screen:
        screen.read_until("/40000")
        screen.read_until("/s")
        screen.press_ctrl_c()
        status, end = screen.ends()
    assert status == 130
    assert "Traceback" not in end
    assert "stopped; continue with: cheaptalk resume small --store cheaptalk.sqlite" in end


def test_progress_lines_are_printed_without_a_terminal(
    cheaptalk: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_study(instances=300)
    monkeypatch.setattr("cheaptalk.cli.shared.printing.MIN_INTERVAL", 3600.0)
    assert cheaptalk("run small.yaml").err == ""
    monkeypatch.setattr("cheaptalk.cli.shared.printing.MIN_INTERVAL", 0.0)
    monkeypatch.setattr("cheaptalk.studies.runs.progress.BEGINNING", 0.0)
    write_study(instances=600)
    lines = cheaptalk("run small.yaml").err.splitlines()
    assert lines[0] == "small: instances is 600 (stored: 300)"
    assert lines[2] == "small: 600 of 1,200 matches"
    assert re.fullmatch(r"small: 1,112 of 1,200 matches, about \d+ (s|min) left", lines[3])
    assert lines[-1] == "small: 1,200 of 1,200 matches"


def test_installed_command_equals_module(tmp_path: Path) -> None:
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        for command in (
            [sys.executable, "-m", "cheaptalk", "model", "--help"],
            [str(Path(sys.executable).parent / "cheaptalk"), "model", "--help"],
        )
    ]
    assert outputs[0] == outputs[1]
    assert "mock-server" in outputs[0]


def test_prompts_explain_fields_that_are_optional_or_choices(piped: Command) -> None:
    either = "message (or press Enter to give books, hats and balls instead): "
    spoken = piped("Hello.\n", "deal_or_no_deal", "--seed", "3", "--store", "a.sqlite")
    assert either in spoken.out
    assert "books (" not in spoken.out
    silent = piped("\n2\n", "deal_or_no_deal", "--seed", "3", "--store", "b.sqlite")
    assert f"{either}books (an integer, or press Enter to skip): hats (" in silent.out
    done = piped("d\nred\n2\n", "chip_trading", "--seed", "3")
    assert "give (a colour that you hold): " in done.out
    assert "want (another colour of the game): " in done.out


def test_play_uses_the_chosen_prompt_style(piped: Command, tmp_path: Path) -> None:
    game = ("guess_the_average", "--set", "players=2", "--set", "rounds=1", "--seed", "1")
    styles = ((), ("--prompt-style", "v2"), ("--prompt-style", "v1"))
    outputs = [piped("200\n40\n", *game, *style).out for style in styles]
    assert "already played" in outputs[2], "v1 is the game's default"
    assert outputs[0].partition("\n")[0] != outputs[1].partition("\n")[0]
    assert all("Invalid response" in text for text in outputs[:2])
    with ct.Store.open(tmp_path / "cheaptalk.sqlite") as store:
        seats = [record.seats["player_1"] for record in store.records(bodies=True)]
        assert [seat["label"] for seat in seats] == ["you", "you, v2"]
        assert [seat["spec"]["style"] for seat in seats] == ["v1", "v2"]
        assert all(record.answers[0].kind is Kind.REPAIRED for record in store.records(bodies=True))
