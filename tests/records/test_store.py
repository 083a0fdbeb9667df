"""The store file: creation, opening, errors, locks, and a full disk."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk import doctor
from cheaptalk.records import Status, Store, StoreError, StoreLocked, StoreNotFound
from cheaptalk.records.store import migration, schema, sqlite
from cheaptalk.records.store import store as module
from cheaptalk.studies import plan_in_store
from tests.fakes import Canned, study, with_model
from tests.records.stored import Shelf, call_row, essences, insert_calls, read_files, set_pragma

# Opening


def journal_mode(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        mode: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return mode


def fill_store(path: Path, matches: int = 200) -> None:
    """Create a store of many pages."""
    with Store.open(path, create=True) as store:
        Shelf(store).add(*(f"{number:020}" for number in range(matches)))


def create_database(path: Path, mode: str = "delete") -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE studies (title)")
        connection.execute("INSERT INTO studies VALUES ('theirs')")
        connection.commit()


def overwrite_schema(path: Path) -> None:
    fill_store(path)
    data = bytearray(path.read_bytes())
    data[100:8192] = b"\xfe" * (8192 - 100)
    path.write_bytes(data)


def truncate_store(path: Path) -> None:
    fill_store(path)
    path.write_bytes(path.read_bytes()[:3000])


def set_version(path: Path, version: object) -> None:
    fill_store(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [version])
        connection.commit()


def test_invalid_files_are_rejected_unchanged(tmp_path: Path) -> None:
    cases: list[tuple[Callable[[Path], object], str, str]] = [
        (lambda path: path.write_text("short"), "file is not a database", "name another file"),
        (lambda path: path.write_text("long " * 999), "file is not a database", "restore a copy"),
        (create_database, "is a database, but not a store", "name another one"),
        (
            lambda path: create_database(path, "wal"),
            "is a database, but not a store",
            "name another",
        ),
        (overwrite_schema, "database disk image is malformed", "restore a copy"),
        (truncate_store, "database disk image is malformed", "restore a copy"),
        (lambda path: set_version(path, ""), "its schema has no version", "restore a copy"),
        (
            lambda path: set_version(path, "9999"),
            "newer cheaptalk (schema 9999",
            "upgrade cheaptalk",
        ),
        (
            lambda path: set_version(path, "0010"),
            "pre-release cheaptalk (schema 0010; this version supports 0011 or later)",
            "run its studies again in a new store",
        ),
    ]
    for number, (make, cause, cure) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "a.sqlite"
        make(path)
        before = read_files(folder)
        for create in (False, True):
            with pytest.raises(StoreError) as caught:
                Store.open(path, create=create)
            message = str(caught.value)
            assert message.startswith(str(path))
            assert cause in message
            assert cure in message
            assert "\n" not in message
            assert read_files(folder) == before


def test_missing_store_raises_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no store at .*missing; name an existing store"):
        Store.open(tmp_path / "missing")
    for place in (tmp_path, tmp_path / "no" / "folder"):
        with pytest.raises(
            StoreError, match=r"cannot create a store at .*; name a file in an existing folder"
        ):
            Store.open(place, create=True)
    assert list(tmp_path.iterdir()) == []


def test_empty_file_becomes_a_store_only_with_create(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    with pytest.raises(StoreNotFound, match=r"no store at .*empty"):
        Store.open(path)
    assert [(file.name, file.stat().st_size) for file in tmp_path.iterdir()] == [("empty", 0)]
    with Store.open(path, create=True) as store:
        Shelf(store).add("m")
    with Store.open(path) as store:
        assert [record.id for record in store.records()] == ["m"]


def test_interrupted_creation_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "upgrade", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        Store.open(tmp_path / "new.sqlite", create=True)
    assert list(tmp_path.iterdir()) == []


def test_opening_a_store_changes_nothing(tmp_path: Path) -> None:
    fill_store(tmp_path / "a.sqlite", 3)
    before = read_files(tmp_path)
    Store.open(tmp_path / "a.sqlite", create=True).close()
    assert read_files(tmp_path) == before


@pytest.mark.file
def test_read_only_store_is_read_without_new_files(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ct.run(study(), store)
    store.close()
    before = read_files(store.path.parent)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with Store.open(store.path) as reader:
        records = list(reader.records("small", bodies=True))
        assert all(record.replay().outcome is not None for record in records)
        assert read_files(store.path.parent) == before
        with pytest.raises(StoreError, match="the file is not writable"):
            reader.register_study("other", {})
    assert len(records) > 0
    assert read_files(store.path.parent) == before


def test_copy_without_log_allows_concurrent_readers(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.sqlite", tmp_path / "copy.sqlite"
    fill_store(path, 3)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", [str(copy)])
    assert (journal_mode(path), journal_mode(copy)) == ("wal", "delete")
    with Store.open(copy) as store:
        assert journal_mode(copy) == "wal"
        with store.transaction() as connection, Store.open(copy) as reader:
            connection.execute(sa.delete(schema.members))
            assert len(list(reader.records("shelf"))) == 3


def test_store_can_be_created_concurrently(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"

    def write(number: int) -> int:
        with Store.open(path, create=True) as store:
            return store.register_study(f"study {number}", {})

    with ThreadPoolExecutor(6) as pool:
        numbers = list(pool.map(write, range(6)))
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6]


# Writing


HOLD = """
import sys
from contextlib import ExitStack
from cheaptalk.records.store.backend import open_backend
with ExitStack() as held:
    for path in sys.argv[1:]:
        held.enter_context(open_backend(path, True).holding(0))
    print("held", flush=True)
    sys.stdin.read()
"""
OCCUPY = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by(program: str, *paths: Path | str) -> Iterator[None]:
    """Hold the stores in another process until the block ends."""
    other = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, paths)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield


def test_second_writer_is_rejected(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIGRATION_WAIT", 0.01)
    made = tmp_path / "new.sqlite"
    with held_by(HOLD, store.backend.address, made):
        with pytest.raises(
            StoreError, match=r"another cheaptalk process .*is writing to the store; wait until it"
        ):
            ct.run(study(), store)
        assert store.studies() == []
        with pytest.raises(StoreError, match="another cheaptalk process is writing"):
            Store.open(made, create=True)
    assert ct.run(study(), store).left == 0


@pytest.mark.file
def test_second_writer_through_a_link_or_without_lock_file_is_rejected(store: Store) -> None:
    link = store.path.with_name("link.sqlite")
    link.symlink_to(store.path.name)
    with (
        held_by(HOLD, link),
        pytest.raises(StoreError, match="another cheaptalk process is writing to the store"),
    ):
        ct.run(study(), store)
    with held_by(HOLD, store.path):
        with pytest.raises(StoreError, match="another cheaptalk"):
            ct.run(study(), link)
        Path(f"{store.path}.lock").unlink()
        with pytest.raises(StoreLocked, match="another cheaptalk"), store.writing():
            pass
    store.close()
    hard = store.path.with_name("hard.sqlite")
    hard.hardlink_to(store.path)
    for path in (store.path, hard):
        with pytest.raises(StoreError, match=f"^{path} has a hard link"):
            ct.run(study(), path)
    hard.unlink()
    assert ct.run(study(), link).left == 0


WAYS_TO_LOSE: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(missing_ok=True),
    "renamed": lambda path: path.exists() and path.rename(path.with_name("other.sqlite")),
    "replaced": lambda path: Path(shutil.copy(path, path.with_name("other.sqlite"))).replace(path),
    "without log": lambda path: Path(f"{path}-wal").unlink(missing_ok=True),
    "without lock file": lambda path: Path(f"{path}.lock").unlink(missing_ok=True),
}


@pytest.mark.file
@pytest.mark.parametrize("lose", WAYS_TO_LOSE.values(), ids=WAYS_TO_LOSE)
def test_run_stops_when_its_store_is_lost(store: Store, lose: Callable[[Path], object]) -> None:
    def lose_midway(progress: ct.Progress) -> None:
        if progress.done >= 5:
            lose(store.path)

    written, models = study(**with_model() | {"instances": 50}), Canned()
    with pytest.raises(StoreError, match=r"(deleted, renamed|removed) or replaced while"):
        ct.run(written, store, models=models, concurrency=4, progress=lose_midway)
    assert 0 < len(models.calls) < 40


@pytest.mark.file
def test_failed_creation_keeps_a_store_opened_by_others(tmp_path: Path) -> None:
    path, others = tmp_path / "new.sqlite", list[Store]()

    def fail() -> None:
        with Store.open(path, create=True):
            others.append(Store.open(path, create=True))
            raise StoreError("a key is missing")

    with pytest.raises(StoreError, match="a key is missing"):
        fail()
    with others[0] as other:
        done = ct.run(study(), other).done
    with Store.open(path) as store:
        assert store.count_members("small") == done > 0


@pytest.mark.file
def test_unwritable_lock_file_raises_error(store: Store) -> None:
    lock = store.path.with_name(f"{store.path.name}.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreError, match=r"is not writable: Is a directory: .*\.lock"):
        ct.run(study(), store)


@pytest.mark.file
def test_lock_folder_of_another_user_is_skipped(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / f"cheaptalk-locks-{os.getuid()}"
    folder.symlink_to(tmp_path)
    with store.writing():
        (kept,) = folder.with_name(f"{folder.name}-1").glob("*.lock")
    for number in range(2, 10):
        folder.with_name(f"{folder.name}-{number}").write_text("")
    with store.writing():
        assert kept.exists()
    shutil.rmtree(kept.parent)
    kept.parent.write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot create a lock folder: .* belong to other users"),
        store.writing(),
    ):
        pass
    monkeypatch.delattr("os.getuid")  # as in Windows
    monkeypatch.setenv("LOGNAME", "ann")
    with store.writing():
        assert [*tmp_path.glob("cheaptalk-locks-ann/*.lock")]


@pytest.mark.file
def test_transaction_of_another_program_raises_error(store: Store) -> None:
    Shelf(store).add("before")
    set_pragma(store, "busy_timeout=20")
    with held_by(OCCUPY, store.path):
        with pytest.raises(StoreError) as caught:
            ct.run(study(), store)
        assert str(caught.value) == (
            f"{store.path}: database is locked: another program is writing to the store; "
            "wait for it to end, or stop it"
        )
        assert [record.id for record in store.records()] == ["before"]
    assert ct.run(study(), store).left == 0


def test_transactions_are_atomic(store: Store) -> None:
    shelf = Shelf(store)
    odd = shelf.match("odd", configuration_id=99)
    with pytest.raises(StoreError, match=r"(?i)foreign key constraint"):
        store.add(shelf.study, [shelf.match("good"), odd])
    assert list(store.records()) == []


# A full disk

FULL = "database or disk is full: recorded data is safe: free some disk space and resume"


def limit_growth(store: Store, pages: int) -> None:
    """Let a store grow by at most this many pages."""
    with store.engine.connect() as connection:
        now = connection.scalar(sa.text("PRAGMA page_count"))
    set_pragma(store, f"max_page_count={now + pages}")


@pytest.mark.file
def test_study_resumes_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cheaptalk.studies.runs.run.CHUNK", 4)
    path, reference = tmp_path / "a.sqlite", tmp_path / "whole.sqlite"
    small = study(instances=20)
    with Store.open(path, create=True) as store:
        limit_growth(store, 4)
        with pytest.raises(StoreError) as caught:
            ct.run(small, store)
        assert str(caught.value) == f"{path}: {FULL}"
        kept = store.studies()[0].counts["finished"]
        assert 0 < kept < 40
        assert kept % 4 == 0
        stopped = essences(store)
    with Store.open(path) as store, Store.open(reference, create=True) as other:
        assert store.check() is None
        progress = ct.run(small, store)
        assert (progress.before, progress.done) == (kept, 40)
        ct.run(small, other)
        assert essences(store) == essences(other) == essences(other) | stopped


@pytest.mark.file
def test_full_disk_repeats_no_recorded_call(store: Store) -> None:
    models, again = Canned(), Canned()
    bought = study(**with_model() | {"instances": 20})
    limit_growth(store, 4)
    with pytest.raises(StoreError, match=FULL):
        ct.run(bought, store, models=models, concurrency=2)
    assert models.numbers
    set_pragma(store, "max_page_count=100000")
    assert ct.run(bought, store, models=again).done == 40
    sent = Counter(number.rpartition("/")[0] for number in models.numbers + again.numbers)
    lost = {
        f"{call['match_id']}/{call['request']}/{call['actor']}/{call['attempt']}"
        for call in store.unresolved()
    }
    assert {call for call, times in sent.items() if times > 1} <= lost


# Contents


def test_registering_twice_or_nothing_changes_nothing(store: Store) -> None:
    first, second = Shelf(store), Shelf(store)
    assert (first.study, first.configuration, first.seats) == (
        second.study, second.configuration, second.seats,
    )  # fmt: skip
    before = store.study("shelf")
    assert store.register_study("shelf", {"instances": 2}) == first.study
    assert store.study("shelf") == before._replace(spec={"instances": 2})
    ids = store.register_players({"other": {"strategy": "other"}})
    assert {ids["fair"], ids["firm"]} == set(first.seats.values())
    assert store.register_players({}) == ids
    assert len(set(ids.values())) == 3
    first.add("m")
    store.register_roster(first.study, {first.seats["alice"]: "just"})
    store.register_roster(first.study, {})
    store.add(first.study, [])
    (record,) = store.records("shelf")
    assert (record.label("alice"), record.label("bob")) == ("just", "firm")


def test_ended_match_replaces_its_failed_row(store: Store) -> None:
    shelf = Shelf(store)
    shelf.add("a", "b", "c", status=Status.FAILED, reason="out of order")
    states = ("answered", "failed", "unresolved", "sent")
    insert_calls(
        store, *(call_row(match, n, state) for match in "ab" for n, state in enumerate(states))
    )
    store.add(
        shelf.study,
        [
            shelf.match("b", Status.FAILED, "still out of order"),
            shelf.match("a", Status.FORFEITED, "forfeited by bob", calls=3, tokens=(5, 7)),
            shelf.match("d"),
        ],
    )
    records = list(store.records("shelf", bodies=True))
    assert [(record.id, record.status, record.reason) for record in records] == [
        ("a", Status.FORFEITED, "forfeited by bob"),
        ("b", Status.FAILED, "still out of order"),
        ("c", Status.FAILED, "out of order"),
        ("d", Status.FINISHED, None),
    ]
    assert (records[0].calls, records[0].input_tokens, records[0].output_tokens) == (3, 5, 7)
    remaining = {match: [call["state"] for call in store.open_calls(match)] for match in "ab"}
    assert remaining == {"a": ["failed", "unresolved", "sent"], "b": list(states)}


def test_matches_are_stored_compactly(tmp_path: Path) -> None:
    path = tmp_path / "many.sqlite"
    quickstart = ct.preset("quickstart")
    assert quickstart is not None
    laid = plan_in_store(quickstart, None)
    plan = ct.studies.Plan.of(laid.study, laid.matches[:400])
    with Store.open(path, create=True) as store:
        assert ct.run(plan, store).done == 400
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".sqlite-wal"] == []
    assert path.stat().st_size < 400 * 1_500


def main_file_only(store: Store, copy: Path) -> Path:
    """Copy only the main file of a store, without its log."""
    # In another process: closing the file in this one would release SQLite's locks on it.
    subprocess.run(["/bin/cp", store.path, copy], check=True)
    return copy


@pytest.mark.file
def test_run_leaves_a_complete_file_despite_a_reader(store: Store, tmp_path: Path) -> None:
    with Store.open(store.path) as reader:
        assert reader.studies() == []
        progress = ct.run(study(), store)
        assert not progress.log_open
        copy = main_file_only(store, tmp_path / "copy.sqlite")
    with Store.open(copy) as copied:
        assert copied.count_members("small") == progress.done > 0
        assert copied.shortfalls() == []


@pytest.mark.file
def test_copy_without_log_is_detected(store: Store, tmp_path: Path) -> None:
    copies: list[Path] = []

    def copy_midway(progress: ct.Progress) -> None:
        if progress.done and not copies:
            copies.append(main_file_only(store, tmp_path / "copy.sqlite"))

    done = ct.run(study(), store, progress=copy_midway).done
    assert store.shortfalls() == []
    diagnoses = doctor.examine_store(copies[0])
    assert [diagnosis.ok for diagnosis in diagnoses] == [False, False]
    assert diagnoses[0].what == "study small"
    assert f"of {done} matches that its last run should add" in diagnoses[0].detail
    assert not doctor.examine_store(copies[0], deep=True)[-1].ok
    assert ct.run(study(), copies[0]).left == 0
    assert doctor.examine_store(copies[0])[-1].ok


@pytest.mark.file
def test_reader_keeping_the_log_open_is_reported(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "READER_TIMEOUT", 1)
    with closing(sqlite3.connect(store.path)) as reader:

        def read(progress: ct.Progress) -> None:
            if progress.done and not reader.in_transaction:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM matches").fetchone()

        assert ct.run(study(), store, progress=read).log_open
