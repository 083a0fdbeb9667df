"""The laboratory's database stores, restores and erases data."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.laboratory.audit import STRUCK
from cheaptalk.web.laboratory.database import FILE, LaboratoryDatabase


def test_stored_data_survives_reopening(tmp_path: Path) -> None:
    with LaboratoryDatabase(tmp_path) as database:
        draft = database.drafts.create("pilot", "name: pilot\n", "ann")
        account = database.staff.create_owner("ann", "a hash")
        log = database.audit.page()
    with LaboratoryDatabase(tmp_path) as database:
        assert database.drafts.read("pilot") == draft
        assert database.staff.all() == [account]
        assert database.audit.page() == log


@pytest.mark.parametrize(
    ("create", "message"),
    [("PRAGMA user_version = 99", "newer cheaptalk"), ("CREATE TABLE t (x)", "not a laboratory's")],
)
def test_foreign_database_is_rejected_and_left_unchanged(
    tmp_path: Path, create: str, message: str
) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as file, file:
        file.execute(create)
    with pytest.raises(CheaptalkError, match=message):
        LaboratoryDatabase(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as file, file:
        tables = file.execute("SELECT name FROM sqlite_schema").fetchall()
    assert ("accounts",) not in tables


def test_file_that_is_not_a_database_is_rejected(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("a letter to somebody " * 100)
    with pytest.raises(CheaptalkError, match="cannot be used"):
        LaboratoryDatabase(tmp_path)
    assert (tmp_path / FILE).read_text().startswith("a letter")
    with pytest.raises(CheaptalkError, match="cannot be written"):
        LaboratoryDatabase(tmp_path / "nowhere")


def test_participant_is_erased_from_the_log_and_the_disk(tmp_path: Path) -> None:
    with LaboratoryDatabase(tmp_path) as database:
        database.audit.enter("ann", "paid", "pilot", codes=["p1x", "p1xy"], p1x=2.5, note="to p1x.")
        database.audit.enter("ann", "paid", "pilot", code="p2")
        assert database.audit.forget("p1x") == 1
        newest, oldest = database.audit.page()
        assert newest.details == {"code": "p2"}
        assert oldest.details == {"codes": [STRUCK, "p1xy"], STRUCK: 2.5, "note": f"to {STRUCK}."}
        assert database.audit.forget("p1xy") == 1
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"p1x" not in content


def test_log_of_a_study_is_paginated(tmp_path: Path) -> None:
    with LaboratoryDatabase(tmp_path) as database:
        for number in range(120):
            database.audit.enter("ann", f"deed {number}", "pilot" if number % 2 else "other")
        first = database.audit.page("PILOT")
        second = database.audit.page("pilot", first[-1].id)
        deeds = [entry.deed for entry in (*first, *second)]
        assert deeds == [f"deed {number}" for number in range(119, 0, -2)]
