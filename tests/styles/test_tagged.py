"""Answers as tagged text: the seven corrections, and no invented answers."""

from contextlib import suppress
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from cheaptalk.rules import MESSAGE_LIMIT, Action, Ask, Event, Message, Whole
from cheaptalk.styles import CODECS, Codec, IllegalMove, TaggedCodec, Unparsable

CODEC: Codec = CODECS["tagged"]
Claimed = Annotated[Whole, Field(ge=0)]
THOUGHT = "<think>I could write [propose] (1 books, 2 hats, 0 balls).</think>"


class Claim(Action):
    books: Claimed
    hats: Claimed
    balls: Claimed


class Turn(Action):
    message: Message | None = None
    books: Claimed | None = None
    hats: Claimed | None = None
    balls: Claimed | None = None


class Choice(Action):
    decision: Literal["yes", "no"]


class Words(Action):
    message: Message


def objection(action: Turn | Claim) -> str | None:
    return "there are 2 hats" if (action.hats or 0) > 2 else None


def read(reply: str, action: type[Action] = Turn) -> Action:
    return CODEC.read(reply, Ask("alice", action, Event(), objection))


def refusal(reply: str, action: type[Action] = Turn) -> str:
    with pytest.raises(Unparsable) as caught:
        read(reply, action)
    assert not isinstance(caught.value, IllegalMove)
    return str(caught.value)


def illegal(reply: str, action: type[Action] = Turn) -> str:
    with pytest.raises(IllegalMove) as caught:
        read(reply, action)
    return str(caught.value)


def test_proposals_are_read_with_any_punctuation() -> None:
    for reply in [
        "[propose] (1 books, 2 hats, 0 balls)",
        "[propose] (1 book, 2 hats, 0 balls)",
        "\n[PROPOSE] 1 Book, 2 hats and 0 balls.",
        "[propose](books: 1, hats: 2, balls: 0)",
        "[propose] 1 of the books - 2 hats - 0 balls\nThis is what we agreed on.",
    ]:
        assert read(reply) == Turn(books=1, hats=2, balls=0)
        assert read(reply, Claim) == Claim(books=1, hats=2, balls=0)


def test_messages_are_read_verbatim() -> None:
    for reply, message in [
        ("[message] Hello.", "Hello."),
        ("[message]Hello.", "Hello."),
        ("  [Message]   Hello. \n", "  Hello. \n"),
        ("[message]\nOne.\nTwo.", "\nOne.\nTwo."),
        ("[message]", ""),
        ("[message] I want (1 books, 2 hats).", "I want (1 books, 2 hats)."),
        ("[message] " + "x" * MESSAGE_LIMIT, "x" * MESSAGE_LIMIT),
        ("[message] <think> and </think>", "<think> and </think>"),
        (f"{THOUGHT}[message] Hello.", "Hello."),
        (f"{THOUGHT}\n{THOUGHT}\n\n[message] Hello.", "Hello."),
        (
            "I could write [propose] (1 books, 2 hats, 0 balls).\n</think>\n[message] Hello.",
            "Hello.",
        ),
    ]:
        assert read(reply) == Turn(message=message)


def test_table_1_faulty_replies_are_rejected_with_reason() -> None:
    """The corrections of Liao, Tomlin and Klein (2024, Table 1), and further faults.

    The rules of Deal or No Deal make two other corrections: early and excessive claims.
    """
    order = "a proposal must name books, hats and balls, once each and in this order"
    count = "exactly 3 numbers in figures, one each of books, hats and balls"
    integer = "a number of items must be 0, 1, 2 and so on, not"
    for reason, replies in [
        (
            "a reply must begin with [message] or [propose]",
            ["Hello.", "Very well. [message] Hello.", "message: Hello."],
        ),
        (
            "may stand only once, at the beginning",
            [
                "[message] Hello. [message] Hello again.",
                "[message] Hello.\n[Propose] (1 books, 2 hats, 0 balls)",
                "[message][message] Hello.",
                "[propose] (1 books, 2 hats, 0 balls)\n[propose] (1 books, 2 hats, 0 balls)",
            ],
        ),
        (
            order,
            [
                "[propose] (2 hats, 1 books, 0 balls)",
                "[propose] (1 books, 0 balls)",
                "[propose]",
                "[propose] 1 that, 2 hats, 0 balls",
                "[propose] (1 books, 2 hats, 0 balls), and you take the books",
                "[propose] (1 bookshelf, 2 hats, 0 balls)",
            ],
        ),
        (
            count,
            [
                "[propose] (1 books, 2 hats, 0 balls), 3 in all",
                "[propose] (1 books, 2 hats, balls)",
                "[propose] (1-2 books, 2 hats, 0 balls)",
                "[propose] (1st books, 2 hats, 0 balls)",
                "[propose] (no books, 2 hats, 0 balls)",
            ],
        ),
        (
            "no other words between them",
            [
                "[propose] not (1 books, 2 hats, 0 balls)",
                "[propose] maybe 1 book, 2 hats, 0 balls",
                "[propose] You said: 1 book, 2 hats, 0 balls",
                "[propose] (1+ books, 2 hats, 0 balls)",
            ],
        ),
        (
            "the words after the answer leave it in doubt",
            [
                "[propose] 1 book, 2 hats, 0 balls?",
                "[propose] (1 books, 2 hats, 0 balls) unless you want more",
                "[propose] (1 books, 2 hats, 0 balls)\nWait, that is wrong.",
            ],
        ),
        (f'{integer} "-1"', ["[propose] (-1 books, 2 hats, 0 balls)"]),
        (f'{integer} "\N{MINUS SIGN}2"', ["[propose] (1 books, \N{MINUS SIGN}2 hats, 0 balls)"]),
        (f'{integer} "1.5"', ["[propose] (1.5 books, 2 hats, 0 balls)"]),
        (f'{integer} "1/2"', ["[propose] (1 books, 2 hats, 1/2 balls)"]),
        (integer, ["[propose] (1 books, 2 hats, \N{ARABIC-INDIC DIGIT ONE} balls)"]),
        (
            "each number must stand beside its item",
            ["[propose] 1 2 0 books, hats, balls", "[propose] 1 books 2 hats balls 0"],
        ),
        ("no answer could be read", [f"[propose] ({'9' * 5000} books, 2 hats, 0 balls)"]),
        ('"message": ', ["[message] " + "x" * (MESSAGE_LIMIT + 1)]),
        ("the reply is empty", ["", " \n", THOUGHT]),
        ("the reply's thinking is begun and not ended", ["<think>[message] Hello."]),
    ]:
        for reply in replies:
            assert reason in refusal(reply)


def test_impossible_answers_are_illegal() -> None:
    reply = "[propose] (1 books, 2 hats, 0 balls)"
    assert illegal("[message] Wait!", Claim) == "no [message] is possible now: begin with [propose]"
    assert illegal(reply, Words) == "no [propose] is possible now: begin with [message]"
    assert illegal("[propose] (1 books, 3 hats, 0 balls)") == "there are 2 hats"


def test_truncated_reply_is_rejected() -> None:
    for reply in ["[message] Hello, I wou", "[propose] (1 books, 2 hats, 1", "[mess", ""]:
        with pytest.raises(Unparsable, match="cut off"):
            CODEC.read(reply, Ask("alice", Turn, Event()), cut_off=True)


@given(st.text(max_size=200))
def test_messages_round_trip(text: str) -> None:
    tagged = "[message]" in text.lower() or "[propose]" in text.lower()
    if not tagged:
        assert read(CODEC.write(Turn(message=text))) == Turn(message=text)


@given(st.integers(0, 99), st.integers(0, 2), st.integers(0, 99))
def test_proposals_round_trip(books: int, hats: int, balls: int) -> None:
    for action in (Turn, Claim):
        proposal = action(books=books, hats=hats, balls=balls)
        assert read(CODEC.write(proposal), action) == proposal


@given(st.text(alphabet="[]messagpro123 bkhtl(),.-\n", max_size=80))
def test_read_actions_round_trip(text: str) -> None:
    for reply in (text, f"[propose] {text}", f"[message] {text}"):
        with suppress(Unparsable):
            action = read(reply)
            assert CODEC.read(CODEC.write(action), Ask("alice", Turn, Event())) == action


def test_form_shows_possible_replies() -> None:
    proposal = "[propose] (<number> books, <number> hats, <number> balls)"
    assert CODEC.form(Turn) == f"[message] <message> or {proposal}"
    assert CODEC.form(Claim) == proposal
    assert CODEC.form(Words) == "[message] <message>"
    codec = TaggedCodec(text="say", numbers="claim")
    ask = Ask("alice", Turn, Event())
    assert codec.write(Turn(message="Hi.")) == "[say] Hi."
    assert codec.read("[claim] 1 book, 2 hats, 0 balls", ask) == Turn(books=1, hats=2, balls=0)
    with pytest.raises(TypeError, match="Choice cannot be written as tagged text"):
        CODEC.form(Choice)
