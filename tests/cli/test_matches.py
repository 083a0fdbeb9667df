"""Recorded matches on the command line: listed, filtered and shown in full."""

from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, study, with_model
from tests.played import CROWD, play


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a store with two studies: two games by four pairs, and one game."""
    path = tmp_path_factory.mktemp("matches") / "two.sqlite"
    ct.run(study(**CASES["games_of_listed_matches"]), path)
    ct.run(study(name="other", seed=1), path)
    return str(path)


@pytest.fixture
def matches(cheaptalk: Command, store_path: str) -> Command:
    """Return a function that lists its matches: ``matches("small", "--limit", "1")``."""
    return lambda *options: cheaptalk("match list", *options, "--store", store_path)


def list_matches(matches: Command, *options: str) -> Any:
    return matches(*options, "--json").json


def test_matches_are_listed_one_per_line_with_their_ids(
    cheaptalk: Command, matches: Command, store_path: str
) -> None:
    lines = matches("small").out.splitlines()
    with ct.Store.open(store_path) as store:
        records = list(store.records("small"))
    assert [line.split()[0] for line in lines] == [record.id for record in records]
    played = next(record for record in records if record.payoffs and record.label("bob") == "fair")
    line = next(line for line in lines if line.startswith(played.id))
    assert line.split("  ", 1)[1].startswith("bargaining   finished   alice fair 50, bob fair 50")
    (muted, *_) = (line for line in lines if "mute" in line)
    assert muted.endswith("forfeited  alice fair, bob mute: forfeited by mute as bob: unparsable")
    shown = cheaptalk("match show", lines[0][:12], "--store", store_path)
    assert (shown.status, records[0].id in shown.out) == (0, True)


def test_last_match_of_players_is_shown_without_an_id(
    cheaptalk: Command, matches: Command, store_path: str
) -> None:
    for options in ([], ["--with-player", "mute"]):
        listed = list_matches(matches, *options, "--sort", "finished", "--reverse")
        last = next(row["match_id"] for row in listed if row["status"] != "live")
        shown = cheaptalk("match show", *options, "--store", store_path).out
        assert shown.split()[1] == last
    both = cheaptalk("match show", last, "--with-player", "mute", "--store", store_path)
    assert "give a match's ID or --with-player, not both" in both.rejection


def test_filters_select_and_sort_matches(matches: Command) -> None:
    for options, count in CASES["filters_select_matches"]:
        assert len(list_matches(matches, *options)) == count
    nothing = ("--where", "payoff_alice=12345")
    assert matches(*nothing) == (0, "", "no matches found\n")
    assert matches(*nothing, "--json").out == "[]\n"
    agreed = {row["match_id"] for row in list_matches(matches, "--where", "agreement=1")}
    not_agreed = {row["match_id"] for row in list_matches(matches, "--where", "agreement<1")}
    finished = list_matches(matches, "--state", "finished")
    assert agreed | not_agreed == {row["match_id"] for row in finished}
    payoffs = [sum(row["payoffs"].values()) for row in finished if row["match_id"] in not_agreed]
    assert set(payoffs) == {0}
    games = [row["game"] for row in list_matches(matches, "--sort", "game", "--reverse")]
    assert games == sorted(games, reverse=True)
    calls = [row["calls"] for row in list_matches(matches, "--sort", "calls", "--reverse")]
    assert calls == sorted(calls, reverse=True)
    assert calls[0] > 0


def test_invalid_filters_print_errors(matches: Command) -> None:
    for options, message in CASES["invalid_filters_print_errors"]:
        assert message in matches(*options).rejection


HOSTILE = "[Hm] \x1b[2J\x07"


def played(models: Canned, **changes: Any) -> str:
    """Return the id of the first match of a study in a new store."""
    with ct.Store.open("cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model(temperature=1) | changes), store, models=models)
        return next(store.records()).id


@pytest.fixture
def match(cheaptalk: Command) -> str:
    """Return the id of a model's match against a strategy, with an invalid first answer."""

    def mumble(call: ModelCall, number: str) -> str:
        return HOSTILE if number.endswith("/0/alice/0/1") else legal(call)

    return played(Canned(mumble), instances=1, pairing=[["tiny", "fair"]])


def test_match_is_printed_in_order(cheaptalk: Command, match: str) -> None:
    done = cheaptalk("match show", match[:12])
    lines = done.out.splitlines()
    assert done.status == 0
    assert lines[0] == f"bargaining {match}  finished"
    assert lines[1].startswith("alice: tiny (model=vllm/tiny, style=plain, temperature=1.0")
    assert lines[2] == "bob: fair (game=bargaining, strategy=equal_split)"
    assert 'horizon={"rounds": 2, "hidden": false}' in lines[3]
    headings = [line for line in lines if line.startswith("to ")]
    assert headings[:3] == ["to Alice (alice)", "to Bob (bob)", "to Alice (alice), request 0"]
    assert any(line.startswith('Alice responds [repaired]: {"alice_gain": ') for line in lines)
    assert lines[-1].startswith("payoffs alice ")


def test_ten_players_are_summarized(cheaptalk: Command, toys: None, tmp_path: Path) -> None:
    with ct.Store.open(play(tmp_path, CROWD)) as store:
        record = next(entry for entry in store.records("crowd") if len(entry.seats) == 10)
    shown = ["match", "show", record.id, "--store", "crowd.sqlite"]
    lines = cheaptalk(*shown).out.splitlines()
    assert lines[1].startswith("giver_1: free (game=giving, strategy=steady")
    assert lines[2].startswith("giver_2 to giver_10: luck (game=giving, strategy=random)")
    assert lines.count("How many coins do you put into the pot?") == 1
    start = lines.index("All 10: request 0")
    assert lines[start + 2] == 'Giver 1 responds: {"coins": 0}'
    answers = [line.partition(" responds: ")[0] for line in lines[start + 2 : start + 12]]
    assert answers == [f"Giver {number}" for number in range(1, 11)]
    filtered = cheaptalk(*shown, "--actor", "giver_3").out.splitlines()
    assert "to Giver 3 (giver_3)" in filtered
    assert not any("Giver 4" in line for line in filtered)


def test_options_select_an_actor_or_a_request(cheaptalk: Command, match: str) -> None:
    out = cheaptalk("match show", match, "--actor", "bob").out
    assert [text in out for text in ("to Bob (bob)", "You are Bob.")] == [True, True]
    assert [text in out for text in ("to Alice (alice)", "You are Alice.")] == [False, False]
    lines = cheaptalk("match show", match, "--request", "1").out.splitlines()
    assert [line for line in lines if line.startswith("to ")] == ["to Bob (bob), request 1"]
    assert not any(line.startswith("payoffs") for line in lines)
    data = cheaptalk("match show", match, "--request", "0", "--json").json
    assert [answer["request"] for answer in data["answers"]] == [0]
    missing = cheaptalk("match show", match, "--request", "99").rejection
    assert "no decision request 99" in missing


def test_calls_are_shown_with_control_characters_escaped(cheaptalk: Command, match: str) -> None:
    assert "[Hm]" not in cheaptalk("match show", match).out
    out = cheaptalk("match show", match, "--calls").out
    assert r"[Hm] \x1b[2J\x07" in out.splitlines()
    assert "\x1b" not in out
    assert "Your last answer does not count: no answer could be read from the reply" in out
    assert "  call 2, attempt 1: canned answered, 9 tokens in, 1 out, 0.00 s" in out
    assert "  (same first 1 message as in the previous call)" in out
    assert 'model string vllm/tiny; settings {"temperature": 1.0}' in out
    data = cheaptalk("match show", match, "--json").json
    assert (data["match_id"], data["open_calls"]) == (match, [])
    assert data["answers"][0]["kind"] == "repaired"
    first, _ = data["answers"][0]["calls"]
    assert first["reply"]["text"] == HOSTILE


def test_live_match_is_shown_so_far(cheaptalk: Command) -> None:
    games = [{"game": "bargaining", "fixed": {"horizon": 6}}]
    played(Canned(), games=games, budget={"calls": 1})
    with ct.Store.open("cheaptalk.sqlite") as store:
        live = next(r.id for r in store.records() if store.open_calls(r.id))
    lines = cheaptalk("match show", live).out.splitlines()
    assert lines[0] == f"bargaining {live}  live"
    assert lines[-2].endswith(", request 0")
    assert lines[-1] == "  call 1, attempt 1: canned answered, 9 tokens in, 1 out, 0.00 s"
    assert "You are " in cheaptalk("match show", live, "--calls").out


def test_failed_match_shows_the_reason(cheaptalk: Command) -> None:
    failed = played(Canned(lambda call, number: broken("[out] of order", retry=False)))
    lines = cheaptalk("match show", failed).out.splitlines()
    assert lines[0].startswith(f'bargaining {failed}  failed (call for "')
    assert lines[0].endswith(": [out] of order)")
    assert lines[-1].startswith("  call 1, attempt 1: vllm/tiny failed")
    assert lines[-1].endswith(": [out] of order")


def test_forfeit_is_shown(cheaptalk: Command) -> None:
    first = played(Canned(lambda call, number: Reply(failure="refused", detail="No.")))
    out = cheaptalk("match show", first).out
    assert f"bargaining {first}  forfeited (forfeited by tiny as alice: refused)" in out
    assert "Alice responds [refused]: no valid response" in out
    assert "payoffs" not in out


def test_invalid_arguments_print_errors(cheaptalk: Command, match: str) -> None:
    for arguments, message in CASES["invalid_arguments_print_errors"]:
        done = cheaptalk("match show", *(match if word == "MATCH" else word for word in arguments))
        assert done.rejection.startswith("error: ")
        assert message in done.rejection


def test_match_of_other_rules_is_rejected_except_as_json(
    cheaptalk: Command, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ct.get_game("bargaining").rules, "version", 2)
    done = cheaptalk("match show", match)
    assert f"match {match} was played under version 1 of the rules of bargaining" in done.rejection
    assert cheaptalk("match show", match, "--json").json["rules_version"] == 1


def test_failed_attempts_are_shown_with_their_request(cheaptalk: Command, no_waits: None) -> None:
    models = Canned(lambda call, number: broken() if number.endswith("/1") else legal(call))
    match = played(models, instances=1, pairing=[["tiny", "fair"]])
    lines = cheaptalk("match show", match).out.splitlines()
    start = next(at for at, line in enumerate(lines) if "attempt 1" in line)
    assert lines[start].startswith("  call 1, attempt 1: vllm/tiny failed")
    assert " responds: " in lines[start - 1]
    assert "attempt 2: canned answered" in cheaptalk("match show", match, "--calls").out
