"""Transcripts: the observations and answers of each seat, in order."""

import json
from typing import Any

import pytest

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.negotiation.rules import Negotiation
from cheaptalk.players import Kind
from cheaptalk.records import (
    AnswerRecord,
    Line,
    MatchRecord,
    Status,
    VersionMismatch,
    gather_scenes,
    transcript,
)
from cheaptalk.records.identity import Configuration
from cheaptalk.rules import Instance, ReplayMismatch, Table
from cheaptalk.styles import style
from tests.records.stored import play_moves, record_of
from tests.toys import Cards, Guessing

OFFER = {"alice_gain": 60.0, "bob_gain": 40.0, "message": "Take it."}
REJECT, ACCEPT = {"decision": "reject"}, {"decision": "accept"}
CARDS = Cards(left=1, right=2)


def bargaining_table() -> Table:
    game = Bargaining.model_validate({"money": 100, "horizon": 2})
    return play_moves(
        game, Instance(),
        (0, "alice", OFFER), (1, "bob", REJECT), (2, "bob", OFFER), (3, "alice", ACCEPT),
    )  # fmt: skip


def guessing(*answers: AnswerRecord, **parameters: Any) -> MatchRecord:
    """Return a guessing game of one round in which both seats answer at once."""
    game = Guessing.model_validate({"horizon": 1, "talk": False} | parameters)
    given = [(answer.request, answer.actor, answer.action) for answer in answers]
    return record_of(play_moves(game, CARDS, *given), answers, {"right": {"style": "curt"}})


def shape(lines: list[Line]) -> list[tuple[str, int | None, Any]]:
    return [(line.actor, line.request, line.answer) for line in lines]


def test_lines_follow_events_in_the_style_and_names_of_seats() -> None:
    lines = transcript(record_of(bargaining_table()))
    assert shape(lines) == [
        ("alice", None, None), ("bob", None, None),
        ("alice", 0, OFFER), ("bob", 1, REJECT), ("alice", None, None),
        ("bob", 2, OFFER), ("alice", 3, ACCEPT), ("alice", None, None), ("bob", None, None),
    ]  # fmt: skip
    assert [line.text.split(".")[0] for line in lines[4:6]] == [
        "Your proposal of round 1 was rejected", "Round 2, the last one",
    ]  # fmt: skip
    assert all(line.kind == (None if line.request is None else Kind.OK) for line in lines)
    table = bargaining_table()
    lines = transcript(record_of(table))
    words = style("bargaining")
    for seat, heard in table.heard.items():
        seat_lines = [line for line in lines if line.actor == seat]
        assert [line.text for line in seat_lines] == [
            words.tell(moment.event, table.game, seat) for moment in heard
        ]
        assert [line.answer for line in seat_lines] == [
            moment.action.model_dump() if moment.action else None for moment in heard
        ]
        assert {line.name for line in seat_lines} == {seat.capitalize()}
    game = Bargaining.model_validate({"money": 100, "horizon": 1, "names": {"bob": "Zelda"}})
    table = play_moves(game, Instance(), (0, "alice", OFFER), (1, "bob", ACCEPT))
    assert {line.actor: line.name for line in transcript(record_of(table))} == {
        "alice": "Alice", "bob": "Zelda",
    }  # fmt: skip


def test_simultaneous_requests_precede_later_events(toys: None) -> None:
    for order in (("left", "right"), ("right", "left")):
        answers = [AnswerRecord(0, seat, Kind.OK, {"number": 3}) for seat in order]
        lines = transcript(guessing(*answers))
        assert [(line.actor, line.request, line.text) for line in lines] == [
            ("left", None, "You are Left. Your card is 1."),
            ("right", None, "You are Right. Your card is 2.\n\nBe brief."),
            ("left", 0, "Round 1. What is your guess?"),
            ("right", 0, "Round 1. What is your guess?"),
            ("left", None, "Left guessed 3.\nRight guessed 3."),
            ("left", None, "It was 3."),
            ("right", None, "Left guessed 3.\nRight guessed 3."),
            ("right", None, "3!"),
        ]


def test_identical_lines_are_gathered() -> None:
    def line(seat: str, text: str, request: int | None = None) -> Line:
        kind = None if request is None else Kind.OK
        return Line(seat, seat.upper(), text, request, None if request is None else {}, kind)

    scenes = gather_scenes(
        [
            line("a", "Hello."), line("a", "Hello."), line("b", "Hello."), line("b", "Only B."),
            line("a", "How many?", 0), line("b", "How many?", 0), line("a", "How many?", 1),
            line("a", "Hello."),
        ]
    )  # fmt: skip
    assert [(scene.head(2), scene.text) for scene in scenes] == [
        ("All 2 observe", "Hello."), ("A observes", "Hello."), ("B observes", "Only B."),
        ("All 2: request 0", "How many?"), ("A: request 1", "How many?"), ("A observes", "Hello."),
    ]  # fmt: skip
    assert scenes[0].head(5) == "A, B observe"


def test_similar_long_texts_show_only_differences() -> None:
    def observation(seat: str, *words: str) -> Line:
        return Line(seat, seat.upper(), "\n".join(words))

    rules = ("One.", "Two.", "Three.")
    scenes = gather_scenes(
        [
            observation("a", "You are A.", *rules), observation("b", "You are B.", *rules),
            observation("c", "You are C.", *rules, "Four."),
            observation("d", "You are D.", *rules, "Four."),
            observation("e", "You", "know", "nothing", "at", "all."),
        ]
    )  # fmt: skip
    assert [(scene.head(9), scene.shown.splitlines()) for scene in scenes] == [
        ("A observes", ["You are A.", *rules]), ("B observes (only differences)", ["You are B."]),
        ("C observes", ["You are C.", *rules, "Four."]),
        ("D observes (only differences)", ["You are D."]),
        ("E observes", ["You", "know", "nothing", "at", "all."]),
    ]  # fmt: skip


def test_invalid_answers_are_shown_as_such(toys: None) -> None:
    calls = ({"call": {"model": "m"}, "reply": None, "sending": 1},)
    silent = AnswerRecord(0, "left", Kind.UNPARSABLE, None, calls)
    spoken = AnswerRecord(0, "right", Kind.REPAIRED, {"number": 3})
    record = guessing(silent, spoken, lenient=True)
    assert record.status is Status.FINISHED
    lines = transcript(record)
    requests = [line for line in lines if line.request is not None]
    assert [(line.actor, line.kind, line.answer, line.calls) for line in requests] == [
        ("left", Kind.UNPARSABLE, None, calls), ("right", Kind.REPAIRED, {"number": 3}, ()),
    ]  # fmt: skip
    assert {line.text for line in requests} == {"Round 1. What is your guess?"}
    assert [line.text for line in lines if line.actor == "left"][2:] == [
        "Right guessed 3.", "It was 3.",
    ]  # fmt: skip
    answers = [
        AnswerRecord(0, "right", Kind.TIMED_OUT, None), AnswerRecord(0, "left", Kind.REFUSED, None),
    ]  # fmt: skip
    record = guessing(*answers)
    assert record.status is Status.FORFEITED
    assert [(line.actor, line.request, line.kind, line.answer) for line in transcript(record)] == [
        ("left", None, None, None), ("right", None, None, None),
        ("left", 0, Kind.REFUSED, None), ("right", 0, Kind.TIMED_OUT, None),
    ]  # fmt: skip


def test_match_that_does_not_replay_has_no_transcript() -> None:
    with pytest.raises(VersionMismatch, match=r"0123456789.*version 99"):
        transcript(record_of(bargaining_table(), configuration=Configuration("bargaining", 99, {})))
    with pytest.raises(ReplayMismatch, match="it is live"):
        transcript(record_of(bargaining_table(), packed=None, status=Status.LIVE))


# Privacy


def negotiation_lines(factors: tuple[float, float], *, known: bool = False) -> list[Line]:
    """Return a negotiation that ends with a sale, at prices independent of the values."""
    game = Negotiation.model_validate(
        {"seller_factor": factors[0], "buyer_factor": factors[1], "complete_information": known}
    )
    price = {"price": 9_876.0, "message": "Fair."}
    given = (
        (0, "alice", price), (1, "bob", REJECT), (2, "bob", price), (3, "alice", REJECT),
        (4, "alice", price), (5, "bob", ACCEPT),
    )  # fmt: skip
    return transcript(record_of(play_moves(game, Instance(), *given)))


def lines_of(seat: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.actor == seat]


def test_values_of_others_appear_only_if_known() -> None:
    for known in (False, True):
        lines = negotiation_lines((0.7371, 1.2893), known=known)
        shown = {
            seat: json.dumps([line._asdict() for line in lines_of(seat, lines)])
            for seat in ("alice", "bob")
        }
        assert "$7,371" in shown["alice"]
        assert "$12,893" in shown["bob"]
        assert ("12,893" in shown["alice"]) is known
        assert ("7,371" in shown["bob"]) is known
        assert ("12893" in shown["alice"] or "7371" in shown["bob"]) is False
