"""Damaged stores: every command reports them in one sentence; the doctor locates the damage."""

import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cheaptalk as ct
from cheaptalk.models import Reply
from cheaptalk.models import flow_control as flow
from cheaptalk.records import pack, unpack
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


SET = "UPDATE matches SET {} WHERE id = :id"
DAMAGES = {
    "truncated body": Damage(
        SET.format("body = substr(body, 1, length(body) - 9)"), "incomplete", ("show", "export")
    ),
    "a reason of bytes": Damage(
        SET.format("reason = x'00ff'"), "expected a text", ("show", "report", "export")
    ),
    "a moment of no calendar": Damage(
        SET.format("finished = 9e300"), "expected a moment", ("show", "report", "export")
    ),
    "flipped bit": Damage(flip_bit, "decompressing", ("show", "export")),
    "no body": Damage(SET.format("body = NULL"), "has no body", ("show", "export")),
    "body of no JSON object": Damage(
        list_body,
        "Expected `object`, got `array`", ("show", "export"),
    ),
    "JSON cut": Damage(
        SET.format("seats = substr(seats, 1, 9)"), "seats: invalid or truncated JSON",
        ("show", "report", "export"),
    ),
    "bytes that are no text": Damage(
        SET.format("kinds = CAST(x'7b22ff223a317d' AS TEXT)"), "decode",
        ("show", "report", "export"),
    ),
    "JSON of another type": Damage(
        SET.format("seats = '[1, 2]'"), "Expected `object`, got `array`",
        ("show", "report", "export"),
    ),
    "JSON null": Damage(
        SET.format("seats = 'null'"), "Expected `object`, got `null`", ("show", "report", "export")
    ),
    "NULL": Damage(set_null, "Expected `object`, got `null`", ("show", "report", "export")),
    "no outcome": Damage(SET.format("outcome = NULL"), "no outcome", ("show", "report", "export")),
    "outcome of another game": Damage(
        SET.format("""outcome = '{"spoils": 3}'"""), "outcome is", ("report", "export")
    ),
    "unknown status": Damage(
        SET.format("status = 'won'"), '"won" is not one of live, finished, forfeited, failed', ALL
    ),
    "a player who is not there": Damage(
        SET.format("""seats = '{"alice": 99, "bob": 98}'"""), "player 99, who is not",
        ("show", "report", "export"),
    ),
    "a place without player": Damage(
        SET.format("seats = json_remove(seats, '$.bob')"), "the seats of bargaining are alice, bob",
        ("show", "report", "export"),
    ),
    "payoff changed": Damage(
        SET.format("payoffs = json_set(payoffs, '$.alice', 123456)"),
        'payoffs is {"alice":123456,',
    ),
    "cost changed": Damage(SET.format("input_tokens = 99"), "input_tokens is 99, but the answers"),
    "no number": Damage(SET.format("input_tokens = 'many'"), "input_tokens is not a number"),
    "parameters changed": Damage(
        "UPDATE configurations SET parameters = json_set(parameters, '$.money', 1)",
        "the id does not match the game, instance, seed and players",
    ),
    "player changed": Damage(
        "UPDATE players SET spec = json_set(spec, '$.model', 'openai/gpt-4o')",
        "the id does not match the game, instance, seed and players",
    ),
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
        body(lambda data: data["answers"][0].update(actor="carol")), 'recorded answer 0 of "carol"',
        ("show", "report", "export"),
    ),
    "seed changed": Damage(
        body(lambda data: data.update(seed="mine")),
        "the id does not match the game, instance, seed and players",
    ),
    "sending of a finished match missing": Damage(
        "DELETE FROM calls WHERE match_id = :id", "had 2 attempts, but 0 of those before",
    ),
    "configuration missing": Damage(
        "DELETE FROM configurations", "configuration_id references a missing row",
        ("show", "report", "export")
    ),
    "membership missing": Damage(
        "DELETE FROM members WHERE match_number = 1", "the match belongs to no study"
    ),
    "purchase missing": Damage("DELETE FROM purchases", "calls, but studies paid for 0"),
    "study of a membership missing": Damage(
        "INSERT INTO members (study_id, match_number) VALUES (99, 1)",
        "study_id references a missing row of studies", where="row 99/1 of members",
    ),
    "study of no object": Damage(
        "UPDATE studies SET spec = '3'", "Expected `object`, got `int`", ALL[:1] + ALL[2:],
        where="study hurt",
    ),
    "call of no object": Damage(
        "UPDATE calls SET call = '[]' WHERE match_id = :id", "Expected `object`, got `array`",
        ("show", "export"), where="match :id, call 1",
    ),
    "reply of no object": Damage(
        "UPDATE calls SET reply = '[]' WHERE match_id = :id", "Expected `object | null`, got",
        ("show", "export"), where="match :id, call 1",
    ),
    "state of a call unknown": Damage(
        "UPDATE calls SET state = 'lost' WHERE match_id = :id", '"lost" is not one of sent',
        ("show", "export"), where="match :id, call 1",
    ),
    "digest of a player changed": Damage(
        "UPDATE players SET digest = 'x' WHERE id = 1", "the digest does not match the contents",
        where="row 1 of players",
    ),
    "label swapped": Damage(
        "UPDATE rosters SET label = 'tiny 2'", "the digest does not match the contents",
        where="row 1/1 of rosters",
    ),
    "study changed": Damage(
        "UPDATE studies SET spec = json_set(spec, '$.seed', 99)",
        "the digest does not match the contents", where="study hurt",
    ),
    "study renamed": Damage(
        "UPDATE studies SET name = 'whole'", "the digest does not match the contents",
        ALL[2:], where="study whole",
    ),
    "instance renamed": Damage(SET.format("instance = '7'"),
    'the instance key is "7", which does not'),
    "an infinite payoff": Damage(
        SET.format("payoffs = json_set(payoffs, '$.alice', json('1e999'))"),
        "payoffs: Expected `float`",
        ("show", "report", "export"),
    ),
    "call emptied": Damage(
        "UPDATE calls SET call = '{}' WHERE match_id = :id", "call: contains no messages",
        where="match :id, call 1",
    ),
    "call without messages": Damage(
        "UPDATE calls SET call = json_remove(call, '$.messages')", "call: contains no messages",
        ("resume",), where="match :id, call 1",
    ),
    "view dropped": Damage(
        "DROP VIEW v_matches", "the view is missing", where="view v_matches",
    ),
    "table dropped": Damage(
        "DROP TABLE purchases", "no such table: purchases: the file is damaged", ("status",),
        where="the database",
    ),
    "a match set back": Damage(
        SET.format("status = 'live'"), "the status is live, but the row contains a result"
    ),
    "a call of no seat": Damage(
        "UPDATE calls SET actor = 'carol' WHERE match_id = :id", 'a call is of "carol"',
        ("export",),
    ),
    "a call of no study": Damage(
        "UPDATE calls SET study_id = 77 WHERE match_id = :id", "study_id references study 77",
        where="match :id, call 1",
    ),
    "JSON nested without end": Damage(
        SET.format("outcome = replace(hex(zeroblob(3000)), '00', '[')"), "nested too deeply",
        ("show", "report", "export"),
    ),
    "page overwritten": Damage(overwrite_page, "malformed", ALL, where="the database"),
}  # fmt: skip


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


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize("name", DAMAGES)
def test_doctor_and_commands_report_damage(
    name: str, intact: Path, tmp_path: Path, cheaptalk: Command
) -> None:
    damage = DAMAGES[name]
    path, id_ = damaged_copy(intact, tmp_path, damage)
    commands = {
        "status": ("status",),
        "show": ("match", "show", id_, "--calls"),
        "report": ("report", "hurt", "--out", "r.html"),
        "export": ("store", "export", "hurt", "--out", "x"),
        "resume": ("resume", "hurt"),
    }
    done = cheaptalk("store", "doctor", "--deep", "--json", "--store", str(path))
    failed = {(row["what"], row["detail"]) for row in json.loads(done.out) if not row["ok"]}
    where = (damage.where or "match :id").replace(":id", id_)
    assert [detail for what, detail in failed if what == where and damage.detail in detail], failed
    assert done.status == 1
    for command, arguments in commands.items():
        done = cheaptalk(*arguments, "--store", str(path))
        if command in damage.affected:
            assert done.status == 2, (command, done)
        if done.status == 2:
            assert done.err.splitlines()[-1].startswith("error: "), (command, done)
    assert not (tmp_path / "x").exists() or "export" not in damage.affected


@pytest.mark.usefixtures("importable")
def test_intact_store_is_reported_with_counts(intact: Path, cheaptalk: Command) -> None:
    last = cheaptalk("store", "doctor", "--deep", "--store", str(intact)).out.splitlines()[-1]
    assert "is intact: 3 matches and 4 open calls read, 2 matches replayed in" in last, last
