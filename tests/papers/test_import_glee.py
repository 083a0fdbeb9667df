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
from cheaptalk.records.imports import ImportedGame, Skipped, import_matches
from cheaptalk.rules import get_game
from tests.papers.faults import put, read_faults
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


def read_game(folder: Path, **options: Any) -> ImportedGame:
    """Read the only game in a folder, which must be valid."""
    (game,) = read_glee(folder, **options).games
    assert isinstance(game, ImportedGame), game
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


def test_absent_message_is_empty_and_disabled_one_omitted(games: Path) -> None:
    for allowed in (True, False):
        for absent in ("", "None", "nan"):
            rows = [f"60,40,{absent},Alice,1,None", f",,{absent},Bob,1,accept"]
            written = bargaining(messages_allowed=allowed)
            game = read_game(write(games, "QUIET", written, OFFERS, rows, "\r\n"))
            action = game.table.given[0].action
            assert action is not None
            assert action.model_dump().get("message") == ("" if allowed else None)
            assert game.source["unused"] == []


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
    for verb in ("SellTo", "BuyFrom", "DealWith"):
        for name in ("Jhon", "John"):
            rows = ["Hello.,90,Alice,1,", f",,Bob,1,{verb}{name}"]
            game = read_game(write(games, "JOHN", negotiation(), PRICES, rows))
            assert game.table.outcome is not None
            assert game.table.outcome.model_dump()["ended"] == "john"
    rows = ["Hello.,90,Alice,1,", ",,Bob,1,RejectOffer"]
    game = read_game(write(games, "JOHN", negotiation(max_rounds=1), PRICES, rows))
    assert game.table.outcome is not None
    assert game.table.outcome.model_dump() == {"stage": 1, "price": None, "ended": "john"}


def test_horizon_above_20_rounds_is_hidden_except_in_persuasion(games: Path) -> None:
    def horizon(written: dict[str, Any], header: str, rows: list[str]) -> dict[str, Any]:
        game = read_game(write(games, written["game_type"], written, header, rows))
        found: dict[str, Any] = game.table.game.model_dump()["horizon"]
        return found

    for rounds in (2, 20, 21, 99):
        expected = {"rounds": rounds, "hidden": rounds > 20}
        assert horizon(bargaining(max_rounds=rounds), OFFERS, AGREED) == expected
        assert horizon(negotiation(max_rounds=rounds), PRICES, SOLD) == expected
    rows = [row.replace(",2,", f",{round_},") for round_ in range(1, 26) for row in PITCHED[3:]]
    written = persuasion(total_rounds=25)
    assert horizon(written, PITCHES, rows) == {"rounds": 25, "hidden": False}


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
    names = ("self_gain_alice", "self_gain_bob", "efficiency", "fairness")
    assert [paper[name] for name in names] == [0, 0, 0, 1]
    # d_B ** (T - 1) = 0.9 ** 1 for Bob, because the code gives Bob all that Alice does not get
    assert [published[name] for name in names] == [0, 0.9, 0.9, 0]


# Invalid games

GOOD = {
    "bargaining": (bargaining, OFFERS, AGREED),
    "negotiation": (negotiation, PRICES, SOLD),
    "persuasion": (persuasion, PITCHES, PITCHED),
}
"""A valid configuration, the header and the rows of each family."""


def test_invalid_game_error_names_file_and_field(games: Path) -> None:
    for name, fault in read_faults("glee").items():
        config, header, rows = GOOD[fault.get("family", "bargaining")]
        written = config()
        if "path" in fault:
            put(*fault["path"])(written, fault.get("value", ...))
        if "without" in fault:
            put(*fault["without"])(written, ...)
        write(games, "BAD", written, fault.get("header", header), fault.get("rows", rows))
        assert fault["error"] in reason(games), name
        assert reason(games).startswith("config.json: " if "path" in fault else "game.csv"), name
    write(games, "BAD", bargaining(), OFFERS, [f"60,40,{'x' * 4001},Alice,1,"])
    assert "at most 4,000 are possible" in reason(games)


FILES = {
    "truncated": ("config.json", b'{"game_type": "barg', "config.json: is not JSON"),
    "deep": ("config.json", b"[" * 200_000, "config.json: is not JSON"),
    "empty": ("config.json", b"", "config.json: is not JSON"),
    "a list": ("config.json", b"[1, 2]", "must be a JSON object"),
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
    for name in ("config.json", "game.csv"):
        (write_agreed(games) / name).unlink()
        assert reason(games) == f"{name}: is missing"
    (write_agreed(games) / "game.csv").unlink()
    (games / "AGREED" / "game.csv").mkdir()
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
    assert isinstance(fit, ImportedGame)


def test_byte_order_mark_is_ignored(games: Path) -> None:
    folder = write_agreed(games)
    for name in ("config.json", "game.csv"):
        path = folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_game(games).table.over


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
