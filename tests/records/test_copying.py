"""Copies of stores are complete, and their studies can be resumed."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.records import Store, StoreError
from cheaptalk.records.store import schema
from tests.conftest import Command
from tests.fakes import Canned, study, with_model
from tests.records.stored import Shelf, call_row, essences, insert_calls


def read_tables(store: Store) -> dict[str, list[Any]]:
    """Return all rows of all tables; ``no NAME`` marks columns that are SQL NULL."""
    tables = {}
    with store.reading() as connection:
        for table in schema.metadata.sorted_tables:
            lacking = [column.is_(sa.null()).label(f"no {column.name}") for column in table.c]
            query = sa.select(table, *lacking).order_by(*table.primary_key.columns)
            tables[table.name] = [dict(row) for row in connection.execute(query).mappings()]
    return tables


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new.sqlite"


def test_copy_contains_every_row_and_resumes(store: Store, new: Path) -> None:
    made, models = study(**with_model()), Canned()
    ct.run(made, store, models=models, cap=ct.studies.Cap(calls=3))
    insert_calls(store, call_row("m", 1), call_row("m", 2, reply=None))
    seen: list[tuple[int, int]] = []
    with Store.open(new, create=True) as copy:
        rows = ct.records.copy_store(store, copy, lambda done, of: seen.append((done, of)))
        before = read_tables(store)
        assert read_tables(copy) == before
        assert rows == {name: len(table) for name, table in before.items()}
        assert [call["no reply"] for call in before["calls"][-2:]] == [True, False]
        assert seen[-1] == (sum(rows.values()), sum(rows.values()))
        assert ct.run(made, copy, models=models).left == 0
        assert read_tables(store) == before
        bought = len(models.calls)
        assert ct.run(made, store, models=models).left == 0
        assert len(models.calls) == 2 * bought - 3
        assert essences(copy) == essences(store)


def test_invalid_copy_targets_are_rejected(store: Store, new: Path) -> None:
    Shelf(store)
    with Store.open(new, create=True) as copy:
        Shelf(copy, "there")
        with pytest.raises(StoreError, match="is not empty; name a new store for the copy"):
            ct.records.copy_store(store, copy)
        assert [summary.name for summary in copy.studies()] == ["there"]
    with pytest.raises(StoreError, match=r"cannot copy .* to itself"):
        ct.records.copy_store(store, store)


def test_store_can_be_copied_during_a_run(store: Store, new: Path) -> None:
    copied: list[int] = []

    def copy_once(progress: ct.Progress) -> None:
        if progress.done == 2 and not copied:
            with Store.open(store.backend.address) as source, Store.open(new, create=True) as copy:
                rows = ct.records.copy_store(source, copy)
                copied.append(copy.count_members("small"))
                assert rows["members"] == copied[0]
                assert copy.shortfalls() == []

    spec = study(**with_model())
    assert ct.run(spec, store, models=Canned(), concurrency=1, progress=copy_once).done == 6
    assert 2 <= copied[0] < 6
    with Store.open(new) as copy:
        assert ct.run(spec, copy, models=Canned()).left == 0


def test_damaged_store_leaves_no_partial_copy(store: Store, new: Path) -> None:
    Shelf(store).add("a")
    with store.transaction() as connection:
        connection.execute(sa.text("update matches set status = 'lost'"))
    with Store.open(new, create=True) as copy:
        with pytest.raises(StoreError, match='"lost" is not one of'):
            ct.records.copy_store(store, copy)
        assert copy.studies() == []


def test_copy_command_prints_counts(store: Store, new: Path, cheaptalk: Command) -> None:
    Shelf(store).add("a", "b")
    done = cheaptalk("store", "copy", str(new), "--store", store.backend.address)
    assert (done.status, done.said) == (0, "")
    assert done.out == f"1 study with 2 matches copied to {new}\n"
    again = cheaptalk("store", "copy", str(new), "--store", store.backend.address)
    assert again.status == 2
    assert "is not empty" in again.said
