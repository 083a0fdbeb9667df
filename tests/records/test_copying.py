"""A store's copy holds what it holds, and its studies go on there."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.records import Store, StoreError, StoreLocked
from cheaptalk.records.store import schema
from cheaptalk.records.store.schema import insert
from tests.conftest import Command
from tests.fakes import Canned, essence, study, with_model
from tests.records.stored import Shelf
from tests.records.test_store import call_row


def contents(store: Store) -> dict[str, list[Any]]:
    """Every row of every table, with whether JSON was ever written."""
    found = {}
    with store.reading() as connection:
        for table in schema.metadata.sorted_tables:
            lacking = [one.is_(sa.null()).label(f"no {one.name}") for one in table.c]
            query = sa.select(table, *lacking).order_by(*table.primary_key.columns)
            found[table.name] = [dict(row) for row in connection.execute(query).mappings()]
    return found


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new.sqlite"


def test_a_copy_holds_every_row_and_its_study_goes_on_there(store: Store, new: Path) -> None:
    made, models = study(**with_model()), Canned()
    ct.run(made, store, models=models, cap=ct.studies.Cap(calls=3))
    with store.transaction() as connection:
        connection.execute(insert(schema.calls).values(call_row("m", 1, "sent")))
        connection.execute(insert(schema.calls).values(call_row("m", 2, "sent") | {"reply": None}))
    seen: list[tuple[int, int]] = []
    with Store.open(new, create=True) as copy:
        rows = ct.records.copy_store(store, copy, lambda done, of: seen.append((done, of)))
        before = contents(store)
        assert contents(copy) == before
        assert rows == {name: len(some) for name, some in before.items()}
        assert [one["no reply"] for one in before["calls"][-2:]] == [True, False]
        assert seen[-1] == (sum(rows.values()), sum(rows.values()))
        assert ct.run(made, copy, models=models).left == 0
        assert contents(store) == before
        bought = len(models.calls)
        assert ct.run(made, store, models=models).left == 0
        assert len(models.calls) == 2 * bought - 3
        assert [essence(one) for one in copy.records("small", bodies=True)] == [
            essence(one) for one in store.records("small", bodies=True)
        ]


def test_a_copy_is_a_store_of_its_own(store: Store, new: Path) -> None:
    Shelf(store)
    with Store.open(new, create=True) as copy:
        Shelf(copy, "there")
        with pytest.raises(StoreError, match="is not empty; name a new store for the copy"):
            ct.records.copy_store(store, copy)
        assert [one.name for one in copy.studies()] == ["there"]
    with pytest.raises(StoreError, match=r"cannot copy .* to itself"):
        ct.records.copy_store(store, store)


def test_a_store_can_be_copied_during_a_run(store: Store, new: Path) -> None:
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


def test_nothing_is_copied_to_a_store_that_is_written_to(store: Store, new: Path) -> None:
    Shelf(store).add("a")
    with Store.open(new, create=True) as copy:
        with Store.open(new) as other, other.writing(), pytest.raises(StoreLocked):
            ct.records.copy_store(store, copy)
        assert copy.studies() == []


def test_a_store_that_is_damaged_leaves_no_part_of_a_copy(store: Store, new: Path) -> None:
    Shelf(store).add("a")
    with store.transaction() as connection:
        connection.execute(sa.text("update matches set status = 'lost'"))
    with Store.open(new, create=True) as copy:
        with pytest.raises(StoreError, match='"lost" is not one of'):
            ct.records.copy_store(store, copy)
        assert copy.studies() == []


def test_the_command_copies_a_store_and_says_what(
    store: Store, new: Path, cheaptalk: Command
) -> None:
    Shelf(store).add("a", "b")
    done = cheaptalk("store", "copy", str(new), "--store", store.backend.address)
    assert (done.status, done.said) == (0, "")
    assert done.out == f"1 study with 2 matches copied to {new}\n"
    again = cheaptalk("store", "copy", str(new), "--store", store.backend.address)
    assert again.status == 2
    assert "is not empty" in again.said
