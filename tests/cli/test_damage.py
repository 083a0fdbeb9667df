"""Damaged stores: every command reports them in one sentence; the doctor locates the damage."""

import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cheaptalk as ct
from cheaptalk import doctor
from cheaptalk.models import Reply
from cheaptalk.models import flow_control as flow
from cheaptalk.records import pack, unpack
from tests.cli import CASES
from tests.conftest import Command
from tests.fakes import Canned, broken, legal, spec, with_model

CALLS = 7
"""The study's budget of calls; it is exhausted during the third match."""
STUDY = spec(**with_model(), name="hurt", budget={"calls": CALLS})
STUDY["players"]["tiny"] = {"model": "script/legal"}
ALL = ("status", "show", "report", "export", "resume")


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of finished matches, some with retried calls, and one match in progress."""

    def fail_first_attempt(call: ct.models.ModelCall, number: str) -> Reply | str:
        return broken() if number.endswith("/1") else legal(call)

    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        for pause in ("FIRST_WAIT", "BREATH", "LONGEST"):
            patch.setattr(flow, pause, 0.0)
        study = ct.studies.parse_study(STUDY, "hurt.yaml")
        assert ct.run(study, path, models=Canned(fail_first_attempt), concurrency=1).halted
    return path


class Damage(NamedTuple):
    """A way to damage a store.

    Attributes:
        how: an SQL statement (``:id`` is the first finished match) or a function.
        detail: a part of the doctor's message.
        affected: the commands that detect the damage and must fail.
        where: the damaged object in the doctor's output; by default the first finished match.
    """

    how: str | Callable[[sqlite3.Connection, str], None]
    detail: str
    affected: tuple[str, ...] = ()
    where: str | None = None


def body(change: Callable[[dict[str, Any]], object]) -> Callable[[sqlite3.Connection, str], None]:
    """Return a function that changes the body of a match."""

    def work(connection: sqlite3.Connection, id_: str) -> None:
        (packed,) = connection.execute("SELECT body FROM matches WHERE id = ?", [id_]).fetchone()
        data = unpack(packed)
        change(data)
        connection.execute("UPDATE matches SET body = ? WHERE id = ?", [pack(data), id_])

    return work


def list_body(connection: sqlite3.Connection, id_: str) -> None:
    """Replace a body with a JSON list."""
    packed = zlib.compress(b"[]")
    connection.execute("UPDATE matches SET body = ? WHERE id = ?", [packed, id_])


def flip_bit(connection: sqlite3.Connection, id_: str) -> None:
    """Flip one bit in a compressed body."""
    (packed,) = connection.execute("SELECT body FROM matches WHERE id = ?", [id_]).fetchone()
    middle = len(packed) // 2
    flipped = packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :]
    connection.execute("UPDATE matches SET body = ? WHERE id = ?", [flipped, id_])


def set_null(connection: sqlite3.Connection, id_: str) -> None:
    """Set a NOT NULL column to NULL."""
    connection.execute("PRAGMA writable_schema=ON")
    connection.execute(
        "UPDATE sqlite_master SET sql = replace(sql, 'seats JSON NOT NULL', 'seats JSON') "
        "WHERE name = 'matches'"
    )
    connection.execute("PRAGMA writable_schema=RESET")
    connection.execute("UPDATE matches SET seats = NULL WHERE id = ?", [id_])


def overwrite_page(connection: sqlite3.Connection, id_: str) -> None:
    """Overwrite the first page of the table of matches."""
    file = next(row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main")
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'matches'"
    ).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with Path(file).open("r+b") as raw:
        raw.seek((root - 1) * size)
        raw.write(b"\x99" * size)


DAMAGES = {name: Damage(**damage) for name, damage in CASES["damages"].items()} | {
    "flipped bit": Damage(flip_bit, "decompressing", ("show", "export")),
    "body of no JSON object": Damage(
        list_body, "Expected `object`, got `array`", ("show", "export")
    ),
    "NULL": Damage(set_null, "Expected `object`, got `null`", ("show", "report", "export")),
    "move changed": Damage(
        body(lambda data: data["answers"][0]["action"].update(alice_gain=1.0)), "refused", ("show",)
    ),
    "answer missing": Damage(
        body(lambda data: data["answers"].pop(0)), "no open request", ("show",)
    ),
    "last answer missing": Damage(
        body(lambda data: data["answers"].pop()), "the answers end before the match does"
    ),
    "answers out of order": Damage(
        body(lambda data: data["answers"].reverse()), "matches no open request", ("show",)
    ),
    "an answer of nobody": Damage(
        body(lambda data: data["answers"][0].update(actor="carol")),
        'recorded answer 0 of "carol"',
        ("show", "report", "export"),
    ),
    "seed changed": Damage(
        body(lambda data: data.update(seed="mine")),
        "the id does not match the game, instance, seed and players",
    ),
    "page overwritten": Damage(overwrite_page, "malformed", ALL, where="the database"),
}


def damaged_copy(intact: Path, to: Path, damage: Damage) -> tuple[Path, str]:
    """Return a damaged copy of the store and the id of its first finished match."""
    path = to / "s.sqlite"
    shutil.copy(intact, path)
    with closing(sqlite3.connect(path)) as connection:
        (id_,) = connection.execute("SELECT id FROM matches WHERE number = 1").fetchone()
        if isinstance(damage.how, str):
            connection.execute(damage.how, {"id": id_})
        else:
            damage.how(connection, id_)
        connection.commit()
    return path, id_


@pytest.fixture
def only_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the doctor examine only the store, because examining the installation takes longer."""
    monkeypatch.setattr(doctor, "examine_installation", lambda **_: [])


@pytest.mark.usefixtures("only_store")
def test_doctor_and_commands_report_damage(
    intact: Path, tmp_path: Path, cheaptalk: Command
) -> None:
    for number, (name, damage) in enumerate(DAMAGES.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        path, id_ = damaged_copy(intact, folder, damage)
        commands = {
            "status": ("status",),
            "show": ("match", "show", id_, "--calls"),
            "report": ("report", "hurt", "--out", f"{folder}/r.html"),
            "export": ("store", "export", "hurt", "--out", f"{folder}/x"),
            "resume": ("resume", "hurt"),
        }
        done = cheaptalk("store doctor --deep --json", "--store", str(path))
        failed = {(row["what"], row["detail"]) for row in done.json if not row["ok"]}
        where = (damage.where or "match :id").replace(":id", id_)
        details = [detail for what, detail in failed if what == where]
        assert any(damage.detail in detail for detail in details), (name, failed)
        assert done.status == 1, name
        for command in damage.affected:
            done = cheaptalk(*commands[command], "--store", str(path))
            assert done.status == 2, (name, command, done)
            assert done.err.splitlines()[-1].startswith("error: "), (name, command, done)
        assert not (folder / "x").exists(), name


@pytest.mark.usefixtures("only_store")
def test_intact_store_is_reported_with_counts(intact: Path, cheaptalk: Command) -> None:
    last = cheaptalk("store doctor --deep", "--store", str(intact)).out.splitlines()[-1]
    assert "is intact: 3 matches and 4 open calls read, 2 matches replayed in" in last, last
