"""Redaction of participants' first names in messages."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.records.imports import ImportedGame
from cheaptalk.records.imports.redaction import MARK, names_said, redact
from tests.papers.glee_folders import AGREED, OFFERS, bargaining, models, write


def find_names(text: str, *, by: str = "bob") -> set[str]:
    """Return the names in a message of a game in which Alice is a person."""
    return names_said([(by, text)], ["alice"])


def test_names_are_found_in_forms_of_address() -> None:
    for text in [
        "Hello Zelda, here is my offer.",
        "Hi Zelda!",
        "Dear Zelda",
        "Hey Zelda I can do better.",
        "hello, Zelda.",
        "Good morning Zelda - shall we?",
        "Thanks, Zelda!",
        "Thank you Zelda.",
        "Zelda, let us share.",
        "I see. Zelda, let us share.",
        "One line\nZelda, another",
        "I see, Zelda, that is much.",
        "Take it, Zelda!",
        "What do you say, Zelda?",
        "I am sorry Zelda, no.",
        "Zelda \u2014 take it.",
    ]:
        assert find_names(text) == {"Zelda"}
    for text, names in [
        ("ZELDA, take it.", {"ZELDA"}),
        ("Hello zelda, take it.", {"zelda"}),
        ("Hello Zelda Ann, take it.", {"Zelda", "Ann"}),
        ("Hi Zo\u00eb-Mae, take it.", {"Zo\u00eb-Mae"}),
        ("O\u2019Hara, take it.", {"O\u2019Hara"}),
        ("Hello Grace, I have grace.", {"Grace"}),
    ]:
        assert find_names(text) == names
    for text in [
        "Hello Bob, hi Alice, dear John, thanks, Jhon!",
        "However, I disagree. Unfortunately, no.",
        "Hello there, friend! Hi again.",
        "Even parts, right?",
        "It's fair, I'm sure.",
        "Thanks for the offer. Thank you so much!",
        "Okay, instance.",
        "I sell, Monday, for less.",
        "Hi [name], good day.",
        "Hello! I'm glad.",
        "",
        "   ",
        "50, 60, 70",
        "Grace, as I said, is a matter of grace.",
        "Take the money, Zelda wins.",
    ]:
        assert find_names(text) == set()
    assert find_names("I accept.\nBest regards, Zelda", by="alice") == {"Zelda"}
    assert find_names("I accept. Cheers,\nZelda.", by="alice") == {"Zelda"}
    assert find_names("my name is Zelda and I want half", by="alice") == {"Zelda"}
    assert find_names("BEST", by="alice") == set()
    assert find_names("Best price", by="alice") == set()
    assert find_names("Zelda, take it.", by="alice") == set()
    assert names_said([("bob", "Zelda, take it.")], []) == set()
    assert names_said([("bob", "Zelda, take it.")], ["alice", "bob"]) == {"Zelda"}


def test_all_forms_of_a_name_are_redacted() -> None:
    text = "Zelda's offer: ZELDA gets 5, Zelda-Mae 6; Zeldas stay, as do zelda and McZelda."
    redacted, count = redact(text, {"Zelda"})
    assert redacted == (
        f"{MARK}'s offer: {MARK} gets 5, {MARK}-Mae 6; Zeldas stay, as do zelda and McZelda."
    )
    assert count == 3
    assert redact("zelda, Zelda", {"zelda"}) == (f"{MARK}, {MARK}", 2)
    assert redact("Ann Lee and Ann", {"Ann", "Ann Lee"}) == (f"{MARK} and {MARK}", 2)


@given(st.text(), st.text(alphabet="abcdefgh", min_size=2))
def test_no_redacted_name_remains(text: str, name: str) -> None:
    again, _ = redact(f"{text} {name} {text}", {name})
    assert redact(again, {name}) == (again, 0)


# In a game


def read(root: Path, **options: object) -> ImportedGame:
    (game,) = read_glee(root, **options).games  # type: ignore[arg-type]  # passed on as given
    assert isinstance(game, ImportedGame), game
    return game


def stored_text(game: ImportedGame) -> str:
    """Return everything that would be stored of a game, as text."""
    moves = [given.action.model_dump() if given.action else None for given in game.table.given]
    parameters = game.table.game.model_dump(mode="json")
    return json.dumps([moves, parameters, game.source, str(game.seats)], ensure_ascii=False)


TALK = [
    "60,40,Zelda wants this.,Alice,1,", ",,Zelda is greedy.,Bob,1,reject",
    '30,70,"Hello Zelda, take 30.",Bob,2,', ",,,Alice,2,accept",
]  # fmt: skip


def test_found_name_is_redacted_in_the_whole_game(tmp_path: Path) -> None:
    write(tmp_path, "G", bargaining(), OFFERS, TALK)
    assert "Zelda" in stored_text(read(tmp_path, keep_names=True))
    game = read(tmp_path)
    assert "Zelda" not in stored_text(game)
    assert stored_text(game).count(MARK) == game.redactions == 3


def test_public_names_are_redacted(tmp_path: Path) -> None:
    written = bargaining()
    written["player_1_args"]["public_name"] = "Zelda"
    rows = [row.replace("Alice", "Zelda") for row in AGREED]
    write(tmp_path, "G", written, OFFERS.replace("alice", "zelda"), rows)
    assert read(tmp_path, keep_names=True).table.game.names == {"alice": "Zelda"}
    game = read(tmp_path)
    assert game.table.game.names == {}
    assert "Zelda" not in stored_text(game)


def test_names_between_models_are_kept(tmp_path: Path) -> None:
    written = bargaining(delta_1=None, delta_2=None) | models()
    write(tmp_path, "G", written, OFFERS, TALK)
    assert "Zelda" in stored_text(read(tmp_path))


def test_listed_names_are_also_redacted(tmp_path: Path) -> None:
    rows = ["60,40,I love Quinn.,Alice,1,", ",,,Bob,1,reject", *TALK[2:]]
    write(tmp_path, "G", bargaining(), OFFERS, rows)
    game = read(tmp_path, names=["Quinn"])
    assert not {"Quinn", "Zelda"} & set(stored_text(game).replace(".", " ").split())
    assert game.redactions == 2
