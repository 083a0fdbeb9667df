"""Import of games in GLEE's format as matches; others are skipped with a reason."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.players import ImportedSeat
from cheaptalk.records import MatchRecord, Status, Store, configuration_digest, transcript
from cheaptalk.records.imports import ForeignGame, Skipped, import_matches
from cheaptalk.rules import get_game
from tests.papers.glee_folders import (
    AGREED,
    BUYERS,
    OFFERS,
    PITCHED,
    PITCHES,
    PRICES,
    SOLD,
    bargaining,
    by_id,
    models,
    negotiation,
    persuasion,
    write,
    write_agreed,
    write_all,
)


def read_game(folder: Path, **options: Any) -> ForeignGame:
    """Read the only game in a folder, which must be valid."""
    (game,) = read_glee(folder, **options).games
    assert isinstance(game, ForeignGame), game
    return game


def reason(folder: Path) -> str:
    """Return why the only game in a folder is skipped."""
    (game,) = read_glee(folder).games
    assert isinstance(game, Skipped), game
    return game.reason


def metric_values(record: MatchRecord, as_published: bool = False) -> dict[str, float | None]:
    metrics = get_game(record.game).metrics.values()
    return {metric.name: metric.variant(as_published)(record.result()) for metric in metrics}


def texts(record: MatchRecord) -> list[str]:
    """Return all messages of a match, in order."""
    actions = [answer.action or {} for answer in record.answers]
    return [action["message"] for action in actions if "message" in action]


# Both releases


def test_every_game_family_is_imported(games: Path, store: Store) -> None:
    importing = import_matches(read_glee(write_all(games)), store, "glee-import")
    assert (importing.imported, importing.present, importing.skipped) == (3, 0, [])
    saved = by_id(store)
    assert {record.game for record in saved.values()} == {"bargaining", "negotiation", "persuasion"}
    for record in saved.values():
        assert record.status is Status.FINISHED
        assert record.replay().over
        assert transcript(record)
        assert record.seats["alice"]["label"] == "human"
        assert record.seats["bob"]["label"] == "gemini-1.5-flash"
        assert set(record.kinds["alice"]) == {"ok"}
    assert saved["AGREED"].payoffs == {"alice": 30 * 0.8, "bob": 70 * 0.9}
    assert saved["SOLD"].payoffs == pytest.approx({"alice": 10, "bob": 30})
    assert saved["PITCHED"].payoffs == {"alice": 1, "bob": 20}
    assert saved["SOLD"].body["source"]["folder"] == "one/SOLD"
    assert store.study("glee-import").spec == {
        "imported": "glee",
        "folder": "games",
        "names": "taken out",
    }


def test_configuration_equals_that_of_native_studies(games: Path, store: Store) -> None:
    write_agreed(games)
    import_matches(read_glee(games), store, "glee-import")
    (record,) = by_id(store).values()
    rules = get_game("bargaining").rules.model_validate(
        {"money": 100, "discounts": [0.8, 0.9], "horizon": 2}
    )
    assert configuration_digest(record.rules) == configuration_digest(rules)


def test_old_release_discounts_come_from_players(games: Path) -> None:
    written = bargaining(delta_1=None, delta_2=None) | models(0.95, 1.0)
    game = read_game(write(games, "OLD", written, OFFERS, AGREED))
    assert game.table.game.model_dump()["discounts"] == (0.95, 1.0)
    assert game.seats["alice"] == ImportedSeat(imported="glee", model="talk-7B")
    assert game.seats["bob"].label == "chat-1"
    assert game.source["date"] == "2024-08-01 10:00:00"
    assert game.source["config"]["player_1_args"]["model_kwargs"] == {"num_gpus": 1}


def test_larger_value_is_high_quality(games: Path) -> None:
    for name, (v, c) in {"NEW": (3.0, 0), "OLD": (0.0, 3.0)}.items():
        game = read_game(write(games, name, persuasion(v=v, c=c), PITCHES, PITCHED)).table.game
        assert (game.model_dump()["value"], game.model_dump()["low_value"]) == (3.0, 0.0)


def test_old_release_myopic_buyers_are_imported(games: Path) -> None:
    written = (
        persuasion(
            is_myopic=True, v=0.0, c=3.0, seller_message_type="binary", allow_buyer_message=True
        )
        | models()
    )
    rows = [
        "low-quality,0.0,Nature,1,,",
        ",,Alice,1,yes,",
        ',,the buyer,1,yes,"Fine, I buy."',
        "high-quality,30.0,Nature,2,,",
        ",,Alice,2,yes,so good",
        ",,the buyer,2,no,",
    ]
    game = read_game(write(games, "MYOPIC", written, BUYERS, rows))
    seats = [(given.actor, given.action.model_dump()) for given in game.table.given if given.action]
    assert seats[1] == ("bob_1", {"decision": "yes", "message": "Fine, I buy."})
    assert seats[3] == ("bob_2", {"decision": "no", "message": ""})
    assert game.source["unused"] == [{"request": 2, "cells": {"message": "so good"}}]


def test_absent_message_is_empty(games: Path) -> None:
    cases: list[str] = ["", "None", "nan"]
    for absent in cases:
        rows = [f"60,40,{absent},Alice,1,None", f",,{absent},Bob,1,accept"]
        game = read_game(write(games, "QUIET", bargaining(), OFFERS, rows, "\r\n"))
        action = game.table.given[0].action
        assert action is not None
        assert action.model_dump()["message"] == ""
        assert game.source["unused"] == []


def test_disabled_messages_are_omitted(games: Path) -> None:
    rows = ["60,40,nan,Alice,1,", ",,,Bob,1,accept"]
    game = read_game(write(games, "MUTE", bargaining(messages_allowed=False), OFFERS, rows))
    assert game.table.given[0].action is not None
    assert "message" not in game.table.given[0].action.model_dump()


def test_messages_are_preserved_exactly(games: Path, store: Store) -> None:
    message = 'Two lines,\r\nand "quotes" — ünïcode; 1,000 & a tab\t.\n\n'
    quoted = '"' + message.replace('"', '""') + '"'
    rows = [f"60,40,{quoted},Alice,1,", ",,,Bob,1,accept"]
    write(games, "LINES", bargaining(), OFFERS, rows, "\r\n")
    import_matches(read_glee(games), store, "glee-import")
    assert texts(by_id(store)["LINES"]) == [message]


def test_undelivered_messages_are_stored_separately(games: Path) -> None:
    rows = ["60,40,Take it.,Alice,1,", ",,I would rather not.,Bob,1,accept"]
    game = read_game(write(games, "STRAY", bargaining(), OFFERS, rows))
    assert game.source["unused"] == [{"request": 1, "cells": {"message": "I would rather not."}}]


def test_all_captions_of_john_are_one_option(games: Path) -> None:
    cases: list[str] = [
        "SellToJhon",
        "BuyFromJhon",
        "DealWithJhon",
        "SellToJohn",
        "BuyFromJohn",
        "DealWithJohn",
    ]
    for caption in cases:
        rows = ["Hello.,90,Alice,1,", f",,Bob,1,{caption}"]
        game = read_game(write(games, "JOHN", negotiation(), PRICES, rows))
        assert game.table.outcome is not None
        assert game.table.outcome.model_dump()["ended"] == "john"


def test_rejecting_only_price_leads_to_john(games: Path) -> None:
    rows = ["Hello.,90,Alice,1,", ",,Bob,1,RejectOffer"]
    game = read_game(write(games, "ONCE", negotiation(max_rounds=1), PRICES, rows))
    assert game.table.outcome is not None
    assert game.table.outcome.model_dump() == {"stage": 1, "price": None, "ended": "john"}


def test_horizon_above_20_rounds_is_hidden(games: Path) -> None:
    cases: list[tuple[int, bool]] = [(2, False), (20, False), (21, True), (99, True)]
    for rounds, hidden in cases:
        for written, header, rows in (
            (bargaining(max_rounds=rounds), OFFERS, AGREED),
            (negotiation(max_rounds=rounds), PRICES, SOLD),
        ):
            game = read_game(write(games, written["game_type"], written, header, rows))
            horizon = game.table.game.model_dump()["horizon"]
            assert horizon == {"rounds": rounds, "hidden": hidden}


def test_persuasion_horizon_is_never_hidden(games: Path) -> None:
    rows = [row.replace(",2,", f",{round_},") for round_ in range(1, 26) for row in PITCHED[3:]]
    game = read_game(write(games, "LONG", persuasion(total_rounds=25), PITCHES, rows))
    assert game.table.game.model_dump()["horizon"] == {"rounds": 25, "hidden": False}


def test_public_names_set_player_names_and_columns(games: Path) -> None:
    written = bargaining()
    written["player_1_args"]["public_name"] = "Red Team"
    header = OFFERS.replace("alice", "red_team")
    rows = [row.replace("Alice", "Red Team") for row in AGREED]
    game = read_game(write(games, "NAMED", written, header, rows), keep_names=True).table
    assert game.game.names == {"alice": "Red Team"}
    assert game.outcome is not None
    assert game.outcome.model_dump()["alice_gain"] == 30


def test_no_agreement_has_paper_and_published_metrics(games: Path, store: Store) -> None:
    rows = ["60,40,,Alice,1,", ",,,Bob,1,reject", "30,70,,Bob,2,", ",,,Alice,2,reject"]
    write(games, "NONE", bargaining(), OFFERS, rows)
    import_matches(read_glee(games), store, "glee-import")
    record = by_id(store)["NONE"]
    paper, published = metric_values(record), metric_values(record, as_published=True)
    names = ("alice_gain", "bob_gain", "efficiency", "fairness")
    assert [paper[name] for name in names] == [0, 0, 0, 1]
    # d_B ** (T - 1) = 0.9 ** 1 for Bob, because the code gives Bob all that Alice does not get
    assert [published[name] for name in names] == [0, 0.9, 0.9, 0]


# Invalid games


def changed(path: tuple[str, ...], value: Any) -> Callable[[dict[str, Any]], None]:
    """Return a function that sets the value at a path in a configuration; ``...`` deletes it."""

    def change(written: dict[str, Any]) -> None:
        place = written
        for step in path[:-1]:
            place = place[step]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return change


CONFIGURATIONS = {
    "unknown game": (("game_type",), "poker", '"game_type": unknown game "poker"'),
    "game of no type": (("game_type",), 7, '"game_type": unknown game "7"'),
    "no game type": (("game_type",), ..., '"game_type": unknown game "None"'),
    "misspelt game": (("game_type",), "bargainning", 'did you mean "bargaining"?'),
    "no players": (("player_1_args",), ..., '"player_1_args": is missing'),
    "player is text": (("player_2_args",), "Bob", '"player_2_args": should be a valid dictionary'),
    "no name": (("player_1_args", "public_name"), "", '"player_1_args.public_name": String should'),
    "no model": (("player_2_type",), "hf", ""),
    "no arguments": (("game_args",), None, '"game_args": should be a valid dictionary'),
    "unknown setting": (
        ("game_args", "shot_clock"),
        3,
        '"game_args.shot_clock": is a setting that the importer does not know',
    ),
    "missing setting": (("game_args", "max_rounds"), ..., '"game_args.max_rounds": is missing'),
    "text for a number": (("game_args", "max_rounds"), "12", '"game_args.max_rounds": should be'),
    "half a round": (("game_args", "max_rounds"), 1.5, '"game_args.max_rounds": should be'),
    "no rounds": (("game_args", "max_rounds"), 0, '"rounds": should be greater'),
    "number for a truth": (("game_args", "messages_allowed"), 1, '"game_args.messages_allowed"'),
    "money below zero": (("game_args", "money_to_divide"), -5, '"money": should be greater than 0'),
    "no money": (("game_args", "money_to_divide"), float("nan"), '"money": should be'),
    "no discount": (
        ("game_args", "delta_1"),
        ...,
        '"player_1_args.delta": is missing, and so is "game_args.delta_1"',
    ),
    "two discounts": (
        ("player_2_args", "delta"),
        0.5,
        '"player_2_args.delta": contradicts "game_args.delta_2"',
    ),
    "discount above one": (("game_args", "delta_2"), 1.2, '"discounts.1": should be less'),
    "two of one name": (("player_1_args", "public_name"), "Bob", "two seats have the same name"),
}


def test_invalid_configuration_error_names_field(games: Path) -> None:
    for case in CONFIGURATIONS:
        path, value, expected = CONFIGURATIONS[case]
        written = bargaining()
        if case == "no model":
            written["player_2_args"].pop("model_name")
            expected = '"player_2_args.model_name" is missing'
        changed(path, value)(written)
        write(games, "BAD", written, OFFERS, AGREED)
        assert reason(games).startswith("config.json: ")
        assert expected in reason(games)


def test_other_families_are_validated(games: Path) -> None:
    cases: list[tuple[Any, str]] = [
        (persuasion(v=0.5), '"value": should be greater than or equal to 1'),
        (persuasion(seller_message_type="song"), "should be 'binary' or 'text'"),
        (negotiation(seller_value=None), '"game_args.seller_value": should be a valid number'),
        ([1, 2], "must be a JSON object"),
    ]
    for written, expected in cases:
        write(games, "BAD", written, PITCHES, PITCHED)
        assert expected in reason(games)


FILES = {
    "truncated": ("config.json", b'{"game_type": "barg', "config.json: is not JSON"),
    "deep": ("config.json", b"[" * 200_000, "config.json: is not JSON"),
    "empty": ("config.json", b"", "config.json: is not JSON"),
    "latin-1": ("config.json", b'{"game_type": "caf\xe9"}', "config.json: is not UTF-8 text (byte"),
    "utf-16": ("game.csv", "player,round".encode("utf-16"), "game.csv: is not UTF-8 text (byte 0)"),
    "binary": ("game.csv", bytes(range(256)), "game.csv: is not UTF-8"),
    "zeros": ("game.csv", b"\0" * 50, 'game.csv: column "player" is missing'),
    "no text": ("game.csv", b"", "game.csv: is empty"),
    "header only": ("game.csv", OFFERS.encode(), "game.csv: has no rows"),
    "open quote": ("game.csv", f'{OFFERS}\n1,2,"x'.encode(), "game.csv, line 2: unexpected end"),
    "huge cell": ("game.csv", OFFERS.encode() + b"\n" + b"x" * 200_000, "field larger than"),
}


def test_damaged_file_is_skipped(games: Path) -> None:
    for case in FILES:
        name, content, expected = FILES[case]
        (write_agreed(games) / name).write_bytes(content)
        assert expected in reason(games)


def test_missing_file_is_reported(games: Path) -> None:
    cases: list[str] = ["config.json", "game.csv"]
    for name in cases:
        (write_agreed(games) / name).unlink()
        assert reason(games) == f"{name}: is missing"


def test_folder_in_place_of_file_is_reported(games: Path) -> None:
    folder = write_agreed(games)
    (folder / "game.csv").unlink()
    (folder / "game.csv").mkdir()
    assert reason(games).startswith("game.csv: cannot be read: ")


def test_failed_game_is_skipped(games: Path) -> None:
    (games / "FAILED").mkdir()
    (games / "FAILED" / "failure_report.txt").write_text("gave up")
    assert reason(games) == "config.json: is missing"


def test_unreadable_folder_is_skipped(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_agreed(games)
    walk = os.walk

    def guarded(root: Path, onerror: Callable[[OSError], None]) -> Any:
        onerror(PermissionError(13, "Permission denied", str(games / "locked")))
        return walk(root)

    monkeypatch.setattr("cheaptalk.records.imports.files.os.walk", guarded)
    locked, fit = read_glee(games).games
    assert locked == Skipped("locked", "cannot be read: Permission denied")
    assert isinstance(fit, ForeignGame)


def test_byte_order_mark_is_ignored(games: Path) -> None:
    folder = write_agreed(games)
    for name in ("config.json", "game.csv"):
        path = folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_game(games).table.over


ROWS = {
    "no column": (OFFERS.replace("message,", ""), [], 'game.csv: column "message" is missing'),
    "column twice": (OFFERS + ",round", [], 'game.csv: column "round" is duplicated'),
    "short row": (OFFERS, ["60,40,x,Alice,1"], "row 2: has 5 cells, but the header has 6"),
    "no round": (OFFERS, ["60,40,x,Alice,,"], 'row 2: "round": "" is not an integer'),
    "half round": (OFFERS, ["60,40,x,Alice,1.5,"], 'row 2: "round": "1.5" is not an integer'),
    "wrong order": (OFFERS, [AGREED[1], AGREED[0]], 'row 2: is round 1 of "Bob"; round 1 of Alice'),
    "wrong round": (OFFERS, [AGREED[0], ",,,Bob,2,accept"], 'row 3: is round 2 of "Bob"; round 1'),
    "stranger": (OFFERS, ["60,40,x,Carol,1,"], 'row 2: is round 1 of "Carol"'),
    "nobody": (OFFERS, ["60,40,x,,1,"], 'row 2: is round 1 of ""'),
    "no end": (OFFERS, AGREED[:3], "game.csv: the game has not ended after the last row"),
    "no beginning": (OFFERS, AGREED[2:], 'row 2: is round 2 of "Bob"; round 1 of Alice is due'),
    "row after the end": (OFFERS, [*AGREED, "9,91,,Alice,3,"], "row 6: the game has already ended"),
    "no amount": (OFFERS, ["60,,x,Alice,1,"], 'of "alice" is refused: "bob_gain": is missing'),
    "text for an amount": (OFFERS, ["60,lots,x,Alice,1,"], '"bob_gain": should be a number'),
    "endless amount": (OFFERS, ["inf,-inf,x,Alice,1,"], '"alice_gain": should be a finite number'),
    "wrong sum": (OFFERS, ["60,41,x,Alice,1,"], "the two parts must add up to 100, not 101"),
    "negative share": (OFFERS, ["-5,105,x,Alice,1,"], "no part of a division can be negative"),
    "unknown decision": (OFFERS, [AGREED[0], ",,,Bob,1,maybe"], "\"decision\": should be 'accept'"),
    "no decision": (OFFERS, [AGREED[0], ",,,Bob,1,"], '"decision": is missing'),
    "long message": (OFFERS, [f"60,40,{'x' * 4001},Alice,1,"], "at most 4,000 are possible"),
}


def test_invalid_row_is_skipped_with_reason(games: Path) -> None:
    for case in ROWS:
        header, rows, expected = ROWS[case]
        write(games, "BAD", bargaining(), header, rows)
        assert reason(games).startswith("game.csv")
        assert expected in reason(games)


def test_invalid_price_is_skipped_with_reason(games: Path) -> None:
    cases: list[tuple[list[str], str]] = [
        ([",-1,Alice,1,"], "the price must lie between 0 and 10,000, not be -1"),
        ([",90,Alice,1,", ",,Bob,1,SellToJim"], "\"decision\": should be 'accept', 'reject' or"),
        ([",,Alice,1,"], '"price": is missing'),
    ]
    for rows, expected in cases:
        write(games, "BAD", negotiation(), PRICES, rows)
        assert expected in reason(games)


NATURE = {
    "missing round": (PITCHED[:3], "game.csv: has 1 of 2 rounds"),
    "out of order": ([PITCHED[0], *PITCHED[3:], *PITCHED[1:3]], "row 3: round 2 of Nature is out"),
    "again": ([PITCHED[0], *PITCHED[:3]], "row 3: round 1 of Nature is out of order"),
    "unknown quality": (
        ["fine,30,Nature,1,,"],
        '"round_quality": "fine" is not one of high-quality',
    ),
    "no quality": ([",30,Nature,1,,"], '"round_quality": "" is not one of'),
    "another worth": (["high-quality,31,Nature,1,,"], '"product_worth": is 31; expected 30'),
    "no worth": (["high-quality,lots,Nature,1,,"], '"product_worth": is lots'),
    "no decision": ([*PITCHED[:5], ",,Bob,2,,"], 'row 7: recorded answer 3 of "bob"'),
}


def test_invalid_nature_round_is_skipped_with_reason(games: Path) -> None:
    for case in NATURE:
        rows, expected = NATURE[case]
        write(games, "BAD", persuasion(), PITCHES, rows)
        assert expected in reason(games)


@given(config_=st.binary(max_size=200), rows=st.binary(max_size=200), fit=st.booleans())
def test_arbitrary_file_contents_never_raise(
    tmp_path_factory: pytest.TempPathFactory, config_: bytes, rows: bytes, fit: bool
) -> None:
    folder = write_agreed(tmp_path_factory.mktemp("games"))
    if not fit:
        (folder / "config.json").write_bytes(config_)
    (folder / "game.csv").write_bytes(OFFERS.encode() + b"\n" + rows)
    assert reason(folder)


@given(at=st.integers(0, 200), length=st.integers(0, 20), with_=st.binary(max_size=5))
def test_damaged_game_is_skipped_or_imported(
    tmp_path_factory: pytest.TempPathFactory, at: int, length: int, with_: bytes
) -> None:
    path = write_agreed(tmp_path_factory.mktemp("games")) / "game.csv"
    content = path.read_bytes()
    path.write_bytes(content[:at] + with_ + content[at + length :])
    (game,) = read_glee(path.parent).games
    assert isinstance(game, Skipped) or game.table.over
