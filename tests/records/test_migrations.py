"""Schema migrations of new and of older stores."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from cheaptalk.records import Store
from cheaptalk.records.integrity import examine
from cheaptalk.records.store import migration, schema, sqlite
from cheaptalk.records.store.migration import VIEWS
from cheaptalk.studies import Study, run
from tests.records.stored import read_files

STORE_0011 = Path(__file__).parent / "store_0011.sql"
"""A store from before the vocabulary of version 0.1."""


def describe_schema(engine: sa.Engine) -> dict[str, Any]:
    """Return the structure of a database's tables."""
    inspector = sa.inspect(engine)
    tables = {
        name: {
            "columns": [
                (column["name"], str(column["type"]), column["nullable"])
                for column in inspector.get_columns(name)
            ],
            "key": inspector.get_pk_constraint(name)["constrained_columns"],
            "foreign": sorted(
                (key["constrained_columns"], key["referred_table"], key.get("options"))
                for key in inspector.get_foreign_keys(name)
            ),
            "unique": sorted(key["column_names"] for key in inspector.get_unique_constraints(name)),
            "indexes": sorted(
                (index["name"], index["column_names"]) for index in inspector.get_indexes(name)
            ),
        }
        for name in inspector.get_table_names()
        if name != "alembic_version"
    }
    without_rowid = set()
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            listed = connection.execute(sa.text("PRAGMA table_list")).mappings()
            without_rowid = {row["name"] for row in listed if row["wr"]}
    return {"tables": tables, "without rowid": without_rowid}


def restore_0011(path: Path) -> Path:
    """Restore the store of version 0011."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(STORE_0011.read_text())
    return path


def drop_corrections(connection: sa.Connection) -> None:
    """Remove the columns and the table of versions 0020 and 0021, and all views."""
    migration.drop_views(connection)
    drop_control(connection)
    connection.execute(sa.text("drop table corrections"))
    connection.execute(sa.text("alter table responses drop column text_version"))


def drop_paid(connection: sa.Connection) -> None:
    """Remove the columns and the table of versions 0019 to 0021, and all views."""
    drop_corrections(connection)
    for name in ("paid", "paid_rounds"):
        connection.execute(sa.text(f"alter table plays drop column {name}"))


def drop_roles(connection: sa.Connection) -> None:
    """Remove the columns, the table and the views of version 0016 and later."""
    drop_paid(connection)
    for name in ("sequence", "matching_group"):
        connection.execute(sa.text(f"alter table plays drop column {name}"))
    connection.execute(sa.text("alter table configurations drop column roles"))


def drop_control(connection: sa.Connection) -> None:
    """Remove the columns of version 0021."""
    for name in ("hidden_seconds", "hidden_times"):
        connection.execute(sa.text(f"alter table participants drop column {name}"))
    connection.execute(sa.text("alter table recruitments drop column suspended"))


@pytest.mark.parametrize("old", [False, True])
def test_migrations_build_the_declared_schema(old: bool, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store.open(restore_0011(path) if old else path, create=True) as store:
        with store.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, schema.metadata) == []
            assert context.get_current_revision() == schema.REVISION
        declared = sa.create_engine(f"sqlite:///{tmp_path / 'declared.sqlite'}")
        schema.metadata.create_all(declared)
        assert describe_schema(store.engine) == describe_schema(declared)
        with store.engine.connect() as connection:
            rows = connection.exec_driver_sql("select name, sql from sqlite_master")
            made = {name: text for name, text in rows if name.startswith("v_")}
        assert {text.lower(): name for name, text in made.items()} == {
            text.lower(): name for text, name in VIEWS["sqlite"].items()
        }
    assert describe_schema(declared)["without rowid"] == {"members", "plays", "responses"}
    declared.dispose()


def test_transactions_lock_the_database_before_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looks = tmp_path / "store.sqlite", []

    def look(connection: sa.Connection) -> None:
        connection.exec_driver_sql("select count(*) from sqlite_master").scalar()
        with (
            closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            other.execute("begin immediate")
        looks.append(path)

    upgrade = migration.upgrade

    def made(connection: sa.Connection) -> None:
        look(connection)
        upgrade(connection)

    monkeypatch.setattr(migration, "upgrade", made)
    with Store.open(path, create=True) as store, store.transaction() as connection:
        look(connection)
        connection.execute(sa.insert(schema.judges), {"digest": "d", "spec": {}})
    assert len(looks) == 2


def test_read_only_old_store_is_read_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = restore_0011(tmp_path / "store.sqlite")
    before = read_files(tmp_path)
    monkeypatch.setattr(sqlite, "is_writable", lambda at: at.parent != tmp_path)
    with Store.open(path) as store:
        games = [record.game for record in store.records("earlier", bodies=False)]
        assert games == ["bargaining"] * 12
        copy = Path(str(store.engine.url.database))
    assert read_files(tmp_path) == before
    assert not copy.parent.exists()


def test_stores_can_be_created_in_several_threads(tmp_path: Path) -> None:
    def tables(number: int) -> list[str]:
        with Store.open(tmp_path / f"{number}.sqlite", create=True) as store:
            return sa.inspect(store.engine).get_table_names()

    with ThreadPoolExecutor(8) as pool:
        assert all("alembic_version" in names for names in pool.map(tables, range(16)))


def test_store_of_0012_gets_the_keys_of_people(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store.open(path, create=True) as store:
        store.register_study("people", {"people": {"pay": {"most": 3}}})
        with store.transaction() as connection:
            connection.execute(sa.text("update alembic_version set version_num = '0012'"))
            connection.execute(sa.text("drop table metrics"))
            drop_roles(connection)
    with Store.open(path) as store, store.reading() as reading:
        assert reading.scalar(sa.select(schema.studies.c.spec)) == {"people": {"pay": {"max": 3}}}


def test_store_of_0018_names_the_number_of_paid_games(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store.open(path, create=True) as store:
        for name, one_game in (("one", True), ("all", False)):
            store.register_study(name, {"people": {"pay": {"one_game": one_game, "base": 1}}})
        with store.transaction() as connection:
            drop_paid(connection)
            connection.execute(sa.text("update alembic_version set version_num = '0018'"))
    with Store.open(path) as store, store.reading() as reading:
        specs = reading.scalars(sa.select(schema.studies.c.spec)).all()
        assert [spec["people"]["pay"] for spec in specs] == [
            {"paid_games": 1, "base": 1},
            {"paid_games": "all", "base": 1},
        ]
        assert not examine(store).damages


def test_store_of_0017_names_styles_after_languages(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    old, new = (
        {"players": {"a": {"style": german}, "b": {"cross": {"style": ["v1", english]}}}}
        for german, english in (("german", "english"), ("de", "en"))
    )
    with Store.open(path, create=True) as store:
        store.register_study("styles", old)
        with store.transaction() as connection:
            drop_paid(connection)
            connection.execute(sa.text("update alembic_version set version_num = '0017'"))
    with Store.open(path) as store, store.reading() as reading:
        assert reading.scalar(sa.select(schema.studies.c.spec)) == new


def test_store_of_0014_gets_the_names_of_metrics(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"

    def people(*bonus: dict[str, Any]) -> dict[str, Any]:
        games = [{"game": game} for game in ("diners_dilemma", "persuasion", "sealed_bid_auction")]
        return {"games": games, "people": {"pay": {"bonus": [*bonus]}}}

    plain: list[dict[str, Any]] = [{"rate": 1}, {"metric": "rounds", "game": "chip_trading"}]
    earlier = [*plain, {"metric": "{seat}_gain", "game": "persuasion"}, {"metric": "gain"}]
    with Store.open(path, create=True) as store:
        store.register_study("people", people(*earlier))
        with store.transaction() as connection:
            connection.execute(sa.text("update alembic_version set version_num = '0014'"))
            drop_roles(connection)
    with Store.open(path) as store, store.reading() as reading:
        assert reading.scalar(sa.select(schema.studies.c.spec)) == people(
            *plain,
            {"metric": "self_gain_{seat}", "game": "persuasion"},
            {"metric": "gain", "game": "diners_dilemma"},
            {"metric": "gain", "game": "persuasion"},
            {"metric": "winner_gain", "game": "sealed_bid_auction"},
        )


def check_earlier_store(store: Store) -> None:
    """Check that the store of version 0011 was migrated without damage, and resume its study."""
    with store.reading() as reading:
        rows = reading.execute(sa.select(schema.studies.c.name, schema.studies.c.spec))
        specs = {row.name: row.spec for row in rows}
        (room,) = reading.scalars(sa.select(schema.rooms.c.kept))
    spec = specs["earlier"]
    assert (spec["instances"], spec["players"]["mine"]["model"]) == (3, "remote/mine")
    assert spec["unanswered"] == {"refused": "replace", "max_replacements": 2}
    people = specs["people"]["people"]
    (item,) = people["path"][1]["comprehension"]["items"]
    assert (item["correct"], item["feedback"]) == (["a"], "Because.")
    assert people["path"][2] == {"games": {"max": 2, "can_stop": True, "same_treatment": True}}
    assert people["pay"] == {
        "currency": "EUR", "base": 1.0, "max": 3,
        "bonus": [{
            "game": "bargaining", "rate": 0.1, "metric": "agreement", "min": 0.05,
            "at_zero": 0.01, "when": {"most": 1},
        }],
    }  # fmt: skip
    people["pay"]["bonus"][0]["when"] = {"messages": True}  # bargaining has no parameter most
    Study.model_validate(specs["people"])
    assert (room["instance"], room["visitors"]) == (0, {"alice": "g1"})
    earlier = {record.id: record.instance for record in store.records("earlier", bodies=True)}
    assert not examine(store).damages
    longer = Study.model_validate({**spec, "name": "earlier", "instances": 4})
    ended = run(longer, store, remote_agents={"mine": lambda _: '{"decision": "accept"}'})
    assert (ended.before, sum(ended.counts.values())) == (12, 4)
    with store.reading() as reading:
        roles = reading.execute(sa.text("select distinct seat, role from v_seats")).all()
    assert set(map(tuple, roles)) == {("alice", "alice"), ("bob", "bob")}
    assert earlier.keys() < {record.id for record in store.records("earlier", bodies=True)}


def test_store_from_before_0_1_opens_and_resumes(tmp_path: Path) -> None:
    with Store.open(restore_0011(tmp_path / "store.sqlite")) as store:
        check_earlier_store(store)
