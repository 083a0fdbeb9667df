"""People's first names are found where they are addressed, and taken out of what was said."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.records.imports import ForeignGame
from cheaptalk.records.imports.redaction import MARK, names_said, redact
from tests.papers.glee_folders import AGREED, OFFERS, bargaining, models, write


def found(text: str, *, by: str = "bob") -> set[str]:
    """The names found in one message of a game in which Alice is a person."""
    return names_said([(by, text)], ["alice"])


@pytest.mark.parametrize(
    "text",
    [
        "Hello Zelda, here is my offer.", "Hi Zelda!", "Dear Zelda", "Hey Zelda I can do better.",
        "hello, Zelda.", "Good morning Zelda - shall we?", "Thanks, Zelda!", "Thank you Zelda.",
        "Zelda, let us share.", "I see. Zelda, let us share.", "One line\nZelda, another",
        "I see, Zelda, that is much.", "Take it, Zelda!", "What do you say, Zelda?",
        "I am sorry Zelda, no.", "Zelda \u2014 take it.",
    ],
)  # fmt: skip
def test_who_is_addressed_is_found(text: str) -> None:
    assert found(text) == {"Zelda"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ZELDA, take it.", {"ZELDA"}),
        ("Hello zelda, take it.", {"zelda"}),
        ("Hello Zelda Ann, take it.", {"Zelda", "Ann"}),
        ("Hi Zo\u00eb-Mae, take it.", {"Zo\u00eb-Mae"}),
        ("O\u2019Hara, take it.", {"O\u2019Hara"}),
        ("Hello Grace, I have grace.", {"Grace"}),
    ],
)
def test_names_of_every_form_are_found(text: str, names: set[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Hello Bob, hi Alice, dear John, thanks, Jhon!", "However, I disagree. Unfortunately, no.",
        "Hello there, friend! Hi again.", "Even parts, right?", "It's fair, I'm sure.",
        "Thanks for the offer. Thank you so much!", "Okay, instance.", "I sell, Monday, for less.",
        "Hi [name], good day.", "Hello! I'm glad.", "", "   ", "50, 60, 70",
        "Grace, as I said, is a matter of grace.", "Take the money, Zelda wins.",
    ],
)  # fmt: skip
def test_other_words_are_left_alone(text: str) -> None:
    assert found(text) == set()


def test_a_person_signs_and_introduces_themselves() -> None:
    assert found("I accept.\nBest regards, Zelda", by="alice") == {"Zelda"}
    assert found("I accept. Cheers,\nZelda.", by="alice") == {"Zelda"}
    assert found("my name is Zelda and I want half", by="alice") == {"Zelda"}
    assert found("BEST", by="alice") == set()
    assert found("Best price", by="alice") == set()


def test_only_those_who_talk_to_a_person_are_listened_to() -> None:
    assert found("Zelda, take it.", by="alice") == set()
    assert names_said([("bob", "Zelda, take it.")], []) == set()
    assert names_said([("bob", "Zelda, take it.")], ["alice", "bob"]) == {"Zelda"}


def test_a_name_goes_wherever_it_stands() -> None:
    text = "Zelda's offer: ZELDA gets 5, Zelda-Mae 6; Zeldas stay, as do zelda and McZelda."
    redacted, count = redact(text, {"Zelda"})
    assert redacted == (
        f"{MARK}'s offer: {MARK} gets 5, {MARK}-Mae 6; Zeldas stay, as do zelda and McZelda."
    )
    assert count == 3
    assert redact("zelda, Zelda", {"zelda"}) == (f"{MARK}, {MARK}", 2)


def test_the_longer_name_goes_first() -> None:
    assert redact("Ann Lee and Ann", {"Ann", "Ann Lee"}) == (f"{MARK} and {MARK}", 2)


@given(st.text())
def test_without_names_nothing_changes(text: str) -> None:
    assert redact(text, set()) == (text, 0)


@given(st.text(), st.text(alphabet="abcdefgh", min_size=2))
def test_no_redacted_name_remains(text: str, name: str) -> None:
    again, _ = redact(f"{text} {name} {text}", {name})
    assert redact(again, {name}) == (again, 0)


# In a game


def read(root: Path, **options: object) -> ForeignGame:
    (game,) = read_glee(root, **options).games  # type: ignore[arg-type]  # passed on as given
    assert isinstance(game, ForeignGame), game
    return game


def everything(game: ForeignGame) -> str:
    """All that would be stored of a game."""
    moves = [given.action.model_dump() if given.action else None for given in game.table.given]
    parameters = game.table.game.model_dump(mode="json")
    return json.dumps([moves, parameters, game.source, str(game.seats)], ensure_ascii=False)


TALK = [
    "60,40,Zelda wants this.,Alice,1,", ",,Zelda is greedy.,Bob,1,reject",
    '30,70,"Hello Zelda, take 30.",Bob,2,', ",,,Alice,2,accept",
]  # fmt: skip


def test_a_name_found_once_is_taken_out_of_the_whole_game(tmp_path: Path) -> None:
    write(tmp_path, "G", bargaining(), OFFERS, TALK)
    assert "Zelda" in everything(read(tmp_path, keep_names=True))
    game = read(tmp_path)
    assert "Zelda" not in everything(game)
    assert everything(game).count(MARK) == game.redactions == 3


def test_a_public_name_goes_too(tmp_path: Path) -> None:
    written = bargaining()
    written["player_1_args"]["public_name"] = "Zelda"
    rows = [row.replace("Alice", "Zelda") for row in AGREED]
    write(tmp_path, "G", written, OFFERS.replace("alice", "zelda"), rows)
    assert read(tmp_path, keep_names=True).table.game.names == {"alice": "Zelda"}
    game = read(tmp_path)
    assert game.table.game.names == {}
    assert "Zelda" not in everything(game)


def test_models_call_each_other_what_they_like(tmp_path: Path) -> None:
    written = bargaining(delta_1=None, delta_2=None) | models()
    write(tmp_path, "G", written, OFFERS, TALK)
    assert "Zelda" in everything(read(tmp_path))


def test_given_names_are_taken_out_besides(tmp_path: Path) -> None:
    rows = ["60,40,I love Quinn.,Alice,1,", ",,,Bob,1,reject", *TALK[2:]]
    write(tmp_path, "G", bargaining(), OFFERS, rows)
    game = read(tmp_path, names=["Quinn"])
    assert not {"Quinn", "Zelda"} & set(everything(game).replace(".", " ").split())
    assert game.redactions == 2
