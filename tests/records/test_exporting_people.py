"""Exports of studies with participants: tables, excluded names, and the codebook."""

import json
from pathlib import Path

import polars as pl
import pytest

from cheaptalk.records import Store
from cheaptalk.studies.exports.exporter import export
from tests.participants import Answered, People
from tests.records.stored import read_csv as read

STUDY = "people"
TABLES = ("participants", "responses", "plays", "payments")


@pytest.fixture
def people(store: Store) -> People:
    """Two participants, one of whom chose a name, played and was paid."""
    participants = People(store, STUDY)
    responses: list[Answered] = [
        ("first_name", {"name": "Ada Lovelace"}, None),
        ("comprehension", {"money": "9"}, True),
        ("survey@1", {"satisfaction": 7, "strategy": "=I kept"}, None),
        ("debrief", {}, None),
    ]
    play = {"state": "finished", "match_id": "m", "seat": "alice", "payoff": 2.5, "cents": 30}
    participants.come("end", "complete", responses, [play], base=100, game_1=30)
    participants.come("consent")
    return participants


def test_participants_are_exported_as_tables(store: Store, people: People, tmp_path: Path) -> None:
    done = export(store, STUDY, tmp_path / "out")
    assert {name: done.rows[name] for name in TABLES} == {
        "participants": 2, "responses": 5, "plays": 1, "payments": 2,
    }  # fmt: skip
    tables = {name: read(tmp_path / "out" / f"{name}.csv") for name in TABLES}
    assert [row["ending"] for row in tables["participants"]] == ["complete", ""]
    assert tables["participants"][0]["started_at"] == "1970-01-01T00:01:40.000000Z"
    values = [[row[name] for name in ("step", "item", "answer", "value", "correct", "game_number")]
            for row in tables["responses"]]  # fmt: skip
    assert values == [
        ["first_name", "", "", "", "", "0"], ["comprehension", "money", "9", "", "true", "0"],
        ["survey", "satisfaction", "7", "7", "", "1"],
        ["survey", "strategy", "'=I kept", "", "", "1"], ["debrief", "", "", "", "", "0"],
    ]  # fmt: skip
    (play,) = tables["plays"]
    assert (play["match_id"], play["game"], play["payoff"], play["cents"]) == (
        "m", "bargaining", "2.5", "30",
    )  # fmt: skip
    assert [(row["key"], row["cents"], row["paid_out"]) for row in tables["payments"]] == [
        ("base", "100", "false"), ("game_1", "30", "false"),
    ]  # fmt: skip


def test_no_format_contains_participant_names(store: Store, people: People, tmp_path: Path) -> None:
    for form in ("csv", "parquet", "jsonl"):
        folder = tmp_path / form
        export(store, STUDY, folder, form)
        assert all(b"Ada" not in file.read_bytes() for file in folder.iterdir())
        file = folder / f"responses.{form}"
        if form == "jsonl":
            who = (folder / "participants.jsonl").read_text().splitlines()
            assert json.loads(who[0])["flags"] == []
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            assert list(rows[2].items())[6:9] == [
                ("item", "satisfaction"), ("answer", "7"), ("value", 7.0),
            ]  # fmt: skip
        elif form == "parquet":
            assert pl.read_parquet(file)["value"].to_list() == [None, None, 7.0, None, None]
        book = read(folder / "codebook.csv")
        for table in TABLES:
            (path,) = folder.glob(f"{table}.*")
            described = [row["column"] for row in book if row["table"] == table]
            if form == "csv":
                assert described == list(read(path)[0])
            assert all(row["meaning"] for row in book if row["table"] == table)
            assert described


def test_participants_of_other_studies_are_not_exported(
    store: Store, people: People, tmp_path: Path
) -> None:
    store.register_study("other", {"players": {}})
    for form in ("csv", "jsonl"):
        done = export(store, "other", tmp_path / form, form)
        assert not {*TABLES} & done.rows.keys()
        assert not [file for file in (tmp_path / form).iterdir() if file.stem in TABLES]
        assert "participants" not in (tmp_path / form / "codebook.csv").read_text()


def test_fields_of_rows_define_the_codebook(store: Store, people: People, tmp_path: Path) -> None:
    export(store, STUDY, tmp_path / "out")
    book = {(row["table"], row["column"]): row for row in read(tmp_path / "out" / "codebook.csv")}
    for table, column, type_, range_, meaning in (
        ("participants", "visit", "integer", ">= 1", "The number of visits."),
        ("participants", "flags", "JSON", "", "Flags, as a list."),
        ("participants", "started_at", "date-time", "UTC", "Start of the first visit."),
        ("payments", "paid_out", "boolean", "true | false", "Whether it is part of a payout."),
    ):
        row = book[table, column]
        assert (row["type"], row["range"], row["meaning"]) == (type_, range_, meaning)
    assert all("\n" not in row["meaning"] for row in book.values())
