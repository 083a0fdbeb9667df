"""A match shown: what each seat was told, asked and answered."""

import json
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.models import ModelCall, Reply
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, study, with_model
from tests.played import CROWD, play


@pytest.fixture
def match(tmp_path: Path) -> str:
    """A stored match of a model, whose first answer does not count, against a strategy."""

    def mumble(call: ModelCall, number: str) -> str:
        return "[Hm]" if number.endswith("/0/alice/0/1") else legal(call)

    made = study(**with_model(temperature=1) | {"instances": 1, "pairing": [["tiny", "fair"]]})
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(made, store, models=Canned(mumble))
        return next(store.records()).id


def test_a_match_is_told_as_it_happened(cheaptalk: Command, match: str) -> None:
    done = cheaptalk("match", "show", match[:12])
    lines = done.out.splitlines()
    assert done.status == 0
    assert lines[0] == f"bargaining {match}  finished"
    assert lines[1].startswith("alice: tiny (model=vllm/tiny, style=plain, temperature=1.0")
    assert lines[2] == "bob: fair (game=bargaining, strategy=equal_split)"
    assert 'horizon={"rounds": 2, "hidden": false}' in lines[3]
    told = [line for line in lines if line.startswith("to ")]
    assert told[:3] == ["to Alice (alice)", "to Bob (bob)", "to Alice (alice), request 0"]
    assert any(line.startswith('Alice responds [repaired]: {"alice_gain": ') for line in lines)
    assert lines[-1].startswith("payoffs alice ")


def test_ten_players_are_shown_in_short(cheaptalk: Command, toys: None, tmp_path: Path) -> None:
    with ct.Store.open(play(tmp_path, CROWD)) as store:
        record = next(one for one in store.records("crowd") if len(one.seats) == 10)
    shown = ["match", "show", record.id, "--store", "crowd.sqlite"]
    lines = cheaptalk(*shown).out.splitlines()
    assert lines[1].startswith("giver_1: free (game=giving, strategy=steady")
    assert lines[2].startswith("giver_2 to giver_10: luck (game=giving, strategy=random)")
    assert lines.count("How many coins do you put into the pot?") == 1
    place = lines.index("All 10: request 0")
    assert lines[place + 2] == 'Giver 1 responds: {"coins": 0}'
    answers = [line.partition(" responds: ")[0] for line in lines[place + 2 : place + 12]]
    assert answers == [f"Giver {number}" for number in range(1, 11)]
    alone = cheaptalk(*shown, "--actor", "giver_3").out.splitlines()
    assert "to Giver 3 (giver_3)" in alone
    assert not any("Giver 4" in line for line in alone)


def test_one_seat_s_view_holds_nothing_of_the_other_s(cheaptalk: Command, match: str) -> None:
    out = cheaptalk("match", "show", match, "--actor", "bob").out
    assert "to Bob (bob)" in out
    assert "to Alice (alice)" not in out
    assert "You are Bob." in out
    assert "You are Alice." not in out


def test_calls_are_shown_word_for_word(cheaptalk: Command, match: str) -> None:
    assert "[Hm]" not in cheaptalk("match", "show", match).out
    out = cheaptalk("match", "show", match, "--calls").out
    assert "[Hm]" in out.splitlines()
    assert "That answer does not count: no answer could be read from the reply" in out
    assert "  call 2, attempt 1: canned answered, 9 tokens in, 1 out, 0.00 s" in out
    assert "  (same first 2 messages as in the previous call)" in out
    assert 'model string vllm/tiny; settings {"temperature": 1.0}' in out


def test_the_whole_record_is_there_as_json(cheaptalk: Command, match: str) -> None:
    data = json.loads(cheaptalk("match", "show", match, "--json").out)
    assert data["match_id"] == match
    assert data["open_calls"] == []
    assert data["answers"][0]["kind"] == "repaired"
    assert len(data["answers"][0]["calls"]) == 2


def test_a_match_under_way_shows_what_there_is_of_it(cheaptalk: Command, tmp_path: Path) -> None:
    made = study(**with_model(), games=[{"game": "bargaining", "fixed": {"horizon": 6}}],
                 budget={"calls": 1})  # fmt: skip
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(made, store, models=Canned())
        live = next(r.id for r in store.records() if store.open_calls(r.id))
    lines = cheaptalk("match", "show", live).out.splitlines()
    assert lines[0] == f"bargaining {live}  live"
    assert lines[-2].endswith(", request 0")
    assert lines[-1] == "  call 1, attempt 1: canned answered, 9 tokens in, 1 out, 0.00 s"
    assert "You are " in cheaptalk("match", "show", live, "--calls").out


def test_a_failed_match_says_why(cheaptalk: Command, tmp_path: Path) -> None:
    models = Canned(lambda call, number: broken("[out] of order", retry=False))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model()), store, models=models)
        failed = next(store.records()).id
    lines = cheaptalk("match", "show", failed).out.splitlines()
    assert lines[0].startswith(f'bargaining {failed}  failed (call for "')
    assert lines[0].endswith(": [out] of order)")
    assert lines[-1].startswith("  call 1, attempt 1: vllm/tiny failed")
    assert lines[-1].endswith(": [out] of order")


def test_a_forfeit_is_shown_as_such(cheaptalk: Command, tmp_path: Path) -> None:
    models = Canned(lambda call, number: Reply(failure="refused", detail="No."))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model()), store, models=models)
        first = next(store.records()).id
    out = cheaptalk("match", "show", first).out
    assert f"bargaining {first}  forfeited (forfeited by tiny as alice: refused)" in out
    assert "Alice responds [refused]: no valid response" in out
    assert "payoffs" not in out


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (("zzz",), 'no match id begins with "zzz" in cheaptalk.sqlite'),
        (("MATCH", "--actor", "bub"), 'unknown actor "bub" (did you mean "bob"?)'),
        (("MATCH", "--store", "no.sqlite"), "no store at no.sqlite; name an existing one with"),
    ],
)
def test_what_cannot_be_shown_is_told(
    cheaptalk: Command, match: str, arguments: tuple[str, ...], saying: str
) -> None:
    done = cheaptalk("match", "show", *(match if one == "MATCH" else one for one in arguments))
    assert done.status == 2
    assert done.said.startswith("error: ")
    assert saying in done.said


def test_a_match_of_other_rules_is_told_and_its_json_still_shown(
    cheaptalk: Command, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ct.get_game("bargaining").rules, "version", 2)
    done = cheaptalk("match", "show", match)
    assert done.status == 2
    assert f"match {match} was played under version 1 of the rules of bargaining" in done.said
    assert json.loads(cheaptalk("match", "show", match, "--json").out)["rules_version"] == 1


def test_one_question_is_shown_alone(cheaptalk: Command, match: str) -> None:
    lines = cheaptalk("match", "show", match, "--request", "1").out.splitlines()
    assert [line for line in lines if line.startswith("to ")] == ["to Bob (bob), request 1"]
    assert not any(line.startswith("payoffs") for line in lines)
    data = json.loads(cheaptalk("match", "show", match, "--request", "0", "--json").out)
    assert [answer["request"] for answer in data["answers"]] == [0]
    done = cheaptalk("match", "show", match, "--request", "99")
    assert done.status == 2
    assert "no decision request 99" in done.said


def test_sendings_that_failed_stand_with_their_question(
    cheaptalk: Command, tmp_path: Path, no_waits: None
) -> None:
    models = Canned(lambda call, number: broken() if number.endswith("/1") else legal(call))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model() | {"instances": 1}), store, models=models)
        match = next(one.id for one in store.records() if one.calls)
    lines = cheaptalk("match", "show", match).out.splitlines()
    place = next(at for at, line in enumerate(lines) if "attempt 1" in line)
    assert lines[place].startswith("  call 1, attempt 1: vllm/tiny failed")
    assert " responds: " in lines[place - 1]
    assert "attempt 2: canned answered" in cheaptalk("match", "show", match, "--calls").out


def test_a_terminal_is_never_made_to_obey(cheaptalk: Command, tmp_path: Path) -> None:
    said = "Hm \x1b[2J\x07"
    models = Canned(lambda call, number: said if number.endswith("/0/1") else legal(call))
    with ct.Store.open(tmp_path / "cheaptalk.sqlite", create=True) as store:
        ct.run(study(**with_model() | {"instances": 1}), store, models=models)
        match = next(one.id for one in store.records() if one.calls)
    out = cheaptalk("match", "show", match, "--calls").out
    assert "\x1b" not in out
    assert "Hm \\x1b[2J\\x07" in out
    data = json.loads(cheaptalk("match", "show", match, "--json").out)
    assert data["answers"][0]["calls"][0]["reply"]["text"] == said
