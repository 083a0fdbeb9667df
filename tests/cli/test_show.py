"""Printing a match: each seat's observations, requests and responses."""

from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, study, with_model
from tests.played import CROWD, play


@pytest.fixture
def match(tmp_path: Path) -> str:
    """Return the id of a model's match against a strategy, with an invalid first answer."""

    def mumble(call: ModelCall, number: str) -> str:
        return "[Hm]" if number.endswith("/0/alice/0/1") else legal(call)

    planned = study(**with_model(temperature=1) | {"instances": 1, "pairing": [["tiny", "fair"]]})
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(planned, store, models=Canned(mumble))
        return next(store.records()).id


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


def test_actor_option_hides_the_other_seat(cheaptalk: Command, match: str) -> None:
    out = cheaptalk("match show", match, "--actor", "bob").out
    assert "to Bob (bob)" in out
    assert "to Alice (alice)" not in out
    assert "You are Bob." in out
    assert "You are Alice." not in out


def test_calls_are_shown_verbatim(cheaptalk: Command, match: str) -> None:
    assert "[Hm]" not in cheaptalk("match show", match).out
    out = cheaptalk("match show", match, "--calls").out
    assert "[Hm]" in out.splitlines()
    assert "That answer does not count: no answer could be read from the reply" in out
    assert "  call 2, attempt 1: canned answered, 9 tokens in, 1 out, 0.00 s" in out
    assert "  (same first 2 messages as in the previous call)" in out
    assert 'model string vllm/tiny; settings {"temperature": 1.0}' in out


def test_json_contains_the_complete_record(cheaptalk: Command, match: str) -> None:
    data = cheaptalk("match show", match, "--json").json
    assert data["match_id"] == match
    assert data["open_calls"] == []
    assert data["answers"][0]["kind"] == "repaired"
    assert len(data["answers"][0]["calls"]) == 2


def test_live_match_is_shown_so_far(cheaptalk: Command, tmp_path: Path) -> None:
    planned = study(
        **with_model(), games=[{"game": "bargaining", "fixed": {"horizon": 6}}], budget={"calls": 1}
    )
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(planned, store, models=Canned())
        live = next(r.id for r in store.records() if store.open_calls(r.id))
    lines = cheaptalk("match show", live).out.splitlines()
    assert lines[0] == f"bargaining {live}  live"
    assert lines[-2].endswith(", request 0")
    assert lines[-1] == "  call 1, attempt 1: canned answered, 9 tokens in, 1 out, 0.00 s"
    assert "You are " in cheaptalk("match show", live, "--calls").out


def test_failed_match_shows_the_reason(cheaptalk: Command, tmp_path: Path) -> None:
    models = Canned(lambda call, number: broken("[out] of order", retry=False))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model()), store, models=models)
        failed = next(store.records()).id
    lines = cheaptalk("match show", failed).out.splitlines()
    assert lines[0].startswith(f'bargaining {failed}  failed (call for "')
    assert lines[0].endswith(": [out] of order)")
    assert lines[-1].startswith("  call 1, attempt 1: vllm/tiny failed")
    assert lines[-1].endswith(": [out] of order")


def test_forfeit_is_shown(cheaptalk: Command, tmp_path: Path) -> None:
    models = Canned(lambda call, number: Reply(failure="refused", detail="No."))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model()), store, models=models)
        first = next(store.records()).id
    out = cheaptalk("match show", first).out
    assert f"bargaining {first}  forfeited (forfeited by tiny as alice: refused)" in out
    assert "Alice responds [refused]: no valid response" in out
    assert "payoffs" not in out


def test_invalid_arguments_print_errors(cheaptalk: Command, match: str) -> None:
    for arguments, message in CASES["invalid_arguments_print_errors"]:
        done = cheaptalk("match show", *(match if word == "MATCH" else word for word in arguments))
        assert done.status == 2
        assert done.said.startswith("error: ")
        assert message in done.said


def test_match_of_other_rules_is_rejected_except_as_json(
    cheaptalk: Command, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ct.get_game("bargaining").rules, "version", 2)
    done = cheaptalk("match show", match)
    assert f"match {match} was played under version 1 of the rules of bargaining" in done.rejection
    assert cheaptalk("match show", match, "--json").json["rules_version"] == 1


def test_request_option_selects_one_request(cheaptalk: Command, match: str) -> None:
    lines = cheaptalk("match show", match, "--request", "1").out.splitlines()
    assert [line for line in lines if line.startswith("to ")] == ["to Bob (bob), request 1"]
    assert not any(line.startswith("payoffs") for line in lines)
    data = cheaptalk("match show", match, "--request", "0", "--json").json
    assert [answer["request"] for answer in data["answers"]] == [0]
    done = cheaptalk("match show", match, "--request", "99")
    assert "no decision request 99" in done.rejection


def test_failed_attempts_are_shown_with_their_request(
    cheaptalk: Command, tmp_path: Path, no_waits: None
) -> None:
    models = Canned(lambda call, number: broken() if number.endswith("/1") else legal(call))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model() | {"instances": 1}), store, models=models)
        match = next(record.id for record in store.records() if record.calls)
    lines = cheaptalk("match show", match).out.splitlines()
    start = next(at for at, line in enumerate(lines) if "attempt 1" in line)
    assert lines[start].startswith("  call 1, attempt 1: vllm/tiny failed")
    assert " responds: " in lines[start - 1]
    assert "attempt 2: canned answered" in cheaptalk("match show", match, "--calls").out


def test_control_characters_are_escaped(cheaptalk: Command, tmp_path: Path) -> None:
    text = "Hm \x1b[2J\x07"
    models = Canned(lambda call, number: text if number.endswith("/0/1") else legal(call))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model() | {"instances": 1}), store, models=models)
        match = next(record.id for record in store.records() if record.calls)
    out = cheaptalk("match show", match, "--calls").out
    assert "\x1b" not in out
    assert "Hm \\x1b[2J\\x07" in out
    data = cheaptalk("match show", match, "--json").json
    assert data["answers"][0]["calls"][0]["reply"]["text"] == text
