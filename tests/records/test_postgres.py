"""Stores in PostgreSQL: equivalence with file stores, locks, and connection errors."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.records.integrity import examine
from cheaptalk.records.people.corrections import (
    TextChange,
    correct_texts,
    made_corrections,
    text_version,
)
from cheaptalk.records.store import postgres, schema
from cheaptalk.records.store.backend import StoreError, StoreLocked, StoreNotFound
from cheaptalk.records.store.migration import VIEWS, drop_views
from tests.conftest import Command
from tests.fakes import Canned, spec, study, with_model
from tests.postgres import LACKING, Databases, Server, serving
from tests.records.stored import essences
from tests.records.test_copying import read_tables
from tests.records.test_migrations import check_earlier_store, describe_schema, restore_0011

pytestmark = pytest.mark.skipif(LACKING is not None, reason=str(LACKING))
VIEW_COLUMNS = {
    "v_costs": ("match_id", "calls", "input_tokens", "dollars", "unpriced", "uncounted"),
    "v_matches": ("match_id", "configuration", "pairing", "started_at", "ended_at", "imported_at"),
    "v_seats": (
        "match_id",
        "seat",
        "role",
        "player",
        "kind",
        "opponent",
        "payoff",
        "status",
        "dropped",
    ),
    "v_open_calls": ("match_id", "request", "state", "requested_model", "reply", "input_tokens"),
}
"""Columns that don't depend on the kind of store, by view."""
ODD = "zero \x00, half \ud83d, ours \ue000"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def new(server: Server) -> Databases:
    return Databases(server)


@pytest.fixture
def url(new: Databases) -> str:
    """A new database."""
    return new.new()


def read_view(store: Store, view: str, *columns: str) -> list[str]:
    wanted: Any = sa.select(*map(sa.column, columns)).select_from(sa.table(view))
    with store.reading() as connection:
        rows = connection.execute(wanted).all()
    return sorted(
        repr([int(value) if isinstance(value, bool) else value for value in row]) for row in rows
    )


def test_views_equal_those_of_a_file_store(url: str, tmp_path: Path) -> None:
    assert [*VIEWS["postgresql"].values()] == [*VIEWS["sqlite"].values()]
    with (
        Store.open(url, create=True) as store,
        Store.open(tmp_path / "file", create=True) as file,
    ):
        ct.run(study(**with_model()), file, models=Canned(), cap=ct.studies.Cap(calls=4))
        ct.records.copy_store(file, store)
        with store.reading() as here, file.reading() as there:
            for view in VIEWS["sqlite"].values():
                every = sa.select(sa.text("*")).select_from(sa.table(view))
                actual, expected = here.execute(every), there.execute(every)
                assert list(actual.keys()) == list(expected.keys())
                assert len(actual.all()) == len(expected.all()), view
        for view, columns in VIEW_COLUMNS.items():
            assert read_view(store, view, *columns) == read_view(file, view, *columns)
            assert read_view(store, view, *columns)


def test_unsupported_characters_round_trip(url: str) -> None:
    with Store.open(url, create=True) as store:
        name, kept = "zero \x00", {"said": [ODD, {ODD: float("inf")}]}
        number = store.register_study(name, kept)
        summary = store.study(name)
        assert (summary.name, summary.spec) == (name, kept)
        assert store.study_id(name) == number
        store.backend.mailbox.write_state(ODD)
        assert store.backend.mailbox.read_state() == ODD


def test_texts_sort_by_code_point(url: str) -> None:
    names = ["b", "B", "ä", "a", "_"]
    with Store.open(url, create=True) as store:
        for name in names:
            store.register_study(name, {})
        query = sa.text("select name from studies order by name")
        with store.reading() as connection:
            assert list(connection.scalars(query)) == sorted(names)


def test_orders_are_delivered_once_in_order(url: str) -> None:
    with Store.open(url, create=True) as store:
        mailbox = store.backend.mailbox
        for order in ("b", "a", "c"):
            mailbox.post(order, f"do {order}")
        mailbox.withdraw("a")
        assert list(mailbox.take()) == [("b", "do b"), ("c", "do c")]
        assert list(mailbox.take()) == []
        mailbox.post("d", "too late")
        mailbox.write_state("{}")
        mailbox.clear()
        assert (list(mailbox.take()), mailbox.read_state()) == ([], None)


def test_order_cannot_be_withdrawn_during_delivery(url: str) -> None:
    with Store.open(url, create=True) as store, ThreadPoolExecutor(1) as pool:
        store.backend.mailbox.post("a", "do it")
        with store.engine.begin() as connection:
            connection.execute(sa.delete(postgres.mail))
            late = pool.submit(store.backend.mailbox.withdraw, "a")
            waits = sa.text("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
            while not connection.scalar(waits):
                connection.execute(sa.text("select pg_stat_clear_snapshot()"))
        assert late.result() is None
        assert list(store.backend.mailbox.take()) == []


def test_killed_process_releases_its_lock(url: str) -> None:
    program = (
        "import sys, time; from cheaptalk.records import Store\n"
        "store = Store.open(sys.argv[1], create=True)\n"
        "with store.writing(): print('held', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, url], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with Store.open(url) as store:
            with (
                pytest.raises(
                    StoreLocked, match=r"another cheaptalk process .* is writing to the store"
                ),
                store.writing(),
            ):
                pass
            other.kill()
            other.wait()
            with store.writing(wait=30):
                store.register_study("mine", {})


def test_schemas_of_a_database_are_separate_stores(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("create schema other")
    engine.dispose()
    with (
        Store.open(url, create=True) as store,
        Store.open(f"{url}?options=-csearch_path%3Dother", create=True) as other,
        store.writing(),
        other.writing(),
    ):
        store.register_study("mine", {})
        assert other.studies() == []


def test_writer_survives_server_restart(server: Server, url: str) -> None:
    with Store.open(url, create=True) as store:
        with store.writing():
            store.register_study("mine", {})
            server.control("restart", "immediate")
            store.register_study("other", {})
        with Store.open(url) as later, later.writing():
            assert [summary.name for summary in later.studies()] == ["mine", "other"]


def test_foreign_tables_are_not_modified(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("create table theirs (id integer)")
    with pytest.raises(StoreNotFound, match="no store at"):
        Store.open(url)
    with pytest.raises(StoreError, match="is a database, but not a store"):
        Store.open(url, create=True)
    assert sa.inspect(engine).get_table_names() == ["theirs"]
    engine.dispose()


def test_connection_errors_hide_the_password(server: Server, cheaptalk: Command) -> None:
    secret = server.url.replace("tester@", "tester:hush@")
    cases = {
        f"{secret}/none": 'database "none" does not exist: create the database with createdb',
        secret.rpartition(":")[0] + ":1/x": "check that the server runs, and the address",
        f"{secret}/postgres": "no store at",
        "postgresql://me:hush@host:port/x": "not a valid database URL",
    }
    for where, message in cases.items():
        done = cheaptalk("status", "--store", where)
        assert done.status == 2, done
        assert message in done.said
        assert "hush" not in done.err
        assert len(done.err.strip().splitlines()) < 5


CONNECTION_ERRORS = {
    "failed to resolve host 'database': [Errno -2] Name or service not known": "check that the server",  # noqa: E501
    'FATAL:  no pg_hba.conf entry for host "::1", user "me", database "x"': "check the user and",
    'FATAL:  password authentication failed for user "database"': "check the user and",
    'FATAL:  permission denied for database "x"': "grant this user the rights",
    'FATAL:  too many connections for role "me"': "the server has no free connection",
    'FATAL:  role "database" does not exist': "check the user and",
    'FATAL:  database "role" does not exist': "create the database with createdb",
}


def test_statement_timeout_is_not_reported_as_stopped_server(url: str) -> None:
    def sleep() -> None:
        with Store.open(url, create=True) as store, store.transaction() as connection:
            connection.execute(sa.text("set local statement_timeout = 1"))
            connection.execute(sa.text("select pg_sleep(60)"))

    with pytest.raises(StoreError) as caught:
        sleep()
    assert "raise statement_timeout for this user" in str(caught.value)
    assert "server was stopped" not in str(caught.value)


def test_connection_errors_suggest_a_fix(url: str) -> None:
    for message, cure in CONNECTION_ERRORS.items():
        error = sa.exc.OperationalError("", None, Exception(f"connection failed: {message}"))
        with Store.open(url, create=True) as store:
            assert cure in (store.backend.cure(error) or "")
            assert store.backend.away(error) == ("resolve" in message)


def revert_to_0011(connection: sa.Connection, original: sa.Connection) -> None:
    """Give a copy of the migrated store of version 0011 its original names again."""
    drop_views(connection)
    for renamed in (
        'matches rename instance to "deal"',
        'calls rename actor to "seat"',
        'plays rename seat to "place"',
        'responses rename correct to "right"',
        'notices rename correct to "right"',
    ):
        connection.execute(sa.text(f"alter table {renamed}"))
    for column in (schema.studies.c.spec, schema.players.c.spec, schema.rooms.c.kept):
        (key,) = column.table.primary_key
        for id_, value in original.execute(sa.select(key, column)):
            connection.execute(sa.update(column.table).where(key == id_).values({column: value}))
    connection.execute(sa.text("drop table metrics"))
    connection.execute(sa.text("drop table corrections"))
    connection.execute(sa.text("alter table responses drop column text_version"))
    connection.execute(sa.text("alter table configurations drop column roles"))
    for name in ("sequence", "matching_group", "paid", "paid_rounds"):
        connection.execute(sa.text(f"alter table plays drop column {name}"))
    for name in ("hidden_seconds", "hidden_times"):
        connection.execute(sa.text(f"alter table participants drop column {name}"))
    connection.execute(sa.text("alter table recruitments drop column suspended"))
    connection.execute(sa.text("update alembic_version set version_num = '0011'"))


def test_store_from_before_0_1_opens_and_resumes(url: str, tmp_path: Path) -> None:
    dump = sa.create_engine(f"sqlite:///{restore_0011(tmp_path / 'original')}")
    with (
        Store.open(restore_0011(tmp_path / "migrated")) as migrated,
        Store.open(url, create=True) as store,
    ):
        new = describe_schema(store.engine)
        ct.records.copy_store(migrated, store)
        with store.transaction() as connection, dump.connect() as original:
            revert_to_0011(connection, original)
        dump.dispose()
        assert describe_schema(store.engine) != new
        with Store.open(url) as again:
            assert describe_schema(again.engine) == new
            assert read_tables(again) == read_tables(migrated)
            check_earlier_store(again)


def test_missing_psycopg_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"needs psycopg .*: pip install 'cheaptalk\[postgres\]'"):
        Store.open("postgresql+psycopg://me@127.0.0.1:9/x")


def test_old_server_is_rejected(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "OLDEST", 99)
    with pytest.raises(StoreError, match="PostgreSQL 99 or newer is required, not"):
        Store.open(url, create=True)


def test_wipe_removes_deleted_rows_from_disk(server: Server, url: str) -> None:
    with Store.open(url, create=True) as store:
        number = store.register_study("a secret to be forgotten", {})
        with store.transaction() as connection:
            connection.execute(sa.text("delete from studies where id = :id"), {"id": number})
        before = store.backend.stamp()
        store.backend.wipe()
        assert store.backend.stamp() != before
        with store.reading() as connection:
            path = connection.scalar(sa.text("select pg_relation_filepath('studies')"))
    assert b"to be forgotten" not in (server.folder / "data" / path).read_bytes()


def test_study_moves_between_files_and_server(url: str, tmp_path: Path) -> None:
    made, models = study(**with_model()), Canned()
    with (
        Store.open(tmp_path / "first", create=True) as first,
        Store.open(url, create=True) as here,
        Store.open(tmp_path / "last", create=True) as last,
        Store.open(tmp_path / "whole", create=True) as reference,
    ):
        ct.run(made, first, models=models, cap=ct.studies.Cap(calls=4))
        ct.records.copy_store(first, here)
        assert read_tables(here) == read_tables(first)
        ct.run(made, here, models=models, cap=ct.studies.Cap(calls=4))
        ct.records.copy_store(here, last)
        assert read_tables(last) == read_tables(here)
        assert ct.run(made, last, models=models).left == 0
        bought = len(models.calls)
        ct.run(made, reference, models=models)
        assert len(models.calls) == 2 * bought, "nothing was bought twice"
        assert essences(last) == essences(reference)
        assert examine(here).damages == []


def test_commands_accept_a_database_url(url: str, cheaptalk: Command, tmp_path: Path) -> None:
    page, small = tmp_path / "report.html", tmp_path / "small.json"
    small.write_text(json.dumps(spec()))
    assert cheaptalk("run", str(small), "--store", url).status == 0
    assert "small" in cheaptalk("status", "--store", url).out
    assert cheaptalk("report", "small", "--store", url, "--out", str(page)).status == 0
    assert "small" in page.read_text()


def test_corrections_are_recorded(url: str) -> None:
    with Store.open(url, create=True) as store:
        number = store.register_study("corrected", {"players": {}})
        for version, text in ((2, "Hello."), (3, "Hello!")):
            change = TextChange("people.title", "", None, text)
            work = correct_texts(number, {"players": {}, "title": text}, [change], "ann", "typo")
            with store.transaction() as connection:
                assert work(connection) == version
        assert text_version(store, number) == 3
        assert [made.changes[0].after for made in made_corrections(store, number)] == [
            "Hello.",
            "Hello!",
        ]
        assert store.study("corrected", counted=False).spec["title"] == "Hello!"
