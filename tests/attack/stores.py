"""Damage to stores: in a cell, in a row, in a page, in the file."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

CELLS: tuple[Any, ...] = (
    None, 0, -1, 10**15, 1.5, "", "x", "{", "{}", "[]", "null", '"x"', "finished", "nobody", b"",
    b"\x00\xff", b"\x28\xb5\x2f\xfd\x00", "\x1b[2J", "9999-99-99", 9e999,
)  # fmt: skip
"""Invalid values for a cell."""
READING = (
    ["status"],
    ["status", "--json"],
    ["store", "doctor"],
    ["store", "doctor", "--deep"],
    ["store", "export", "STUDY", "--out", "OUT.zip"],
    ["store", "export", "STUDY", "--out", "OUT2.zip", "--format", "jsonl"],
    ["report", "STUDY", "--out", "OUT.html"],
    ["match", "show", "MATCH"],
    ["match", "show", "MATCH", "--json"],
    ["leaderboard", "STUDY"],
    ["model", "batches"],
    ["run", "STUDY"],
)
"""Commands that read a store; the run of a finished study plays nothing."""


def damage(path: Path, luck: random.Random) -> str:
    """Damage a store in one place; return a description."""
    if luck.random() < 0.2:
        return _damage_bytes(path, luck)
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("PRAGMA foreign_keys = off")
        store.execute("PRAGMA ignore_check_constraints = on")
        return damage_cell(store, luck)


def damage_cell(store: sqlite3.Connection, luck: random.Random) -> str:
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    counts = {
        name: store.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608
        for (name,) in store.execute(named).fetchall()
    }
    table = luck.choice([name for name, count in counts.items() if count])
    described = store.execute(f'PRAGMA table_info("{table}")').fetchall()
    key = ", ".join(f'"{row[1]}"' for row in described if row[5]) or "rowid"
    column, row = luck.choice(described)[1], luck.randrange(counts[table])
    query = f'SELECT "{column}", {key} FROM "{table}" LIMIT 1 OFFSET ?'  # noqa: S608
    old, *place = store.execute(query, (row,)).fetchone()
    where = f"({key}) = ({', '.join('?' for _ in place)})"
    if luck.random() < 0.1:
        store.execute(f'DELETE FROM "{table}" WHERE {where}', place)  # noqa: S608
        return f"{place} of {table} is gone"
    new = _damaged_value(old, luck)
    try:
        store.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE {where}', (new, *place))  # noqa: S608
    except sqlite3.IntegrityError as error:
        return f"nothing ({error})"
    return f"{table}.{column} of {place}: {old!r:.60} became {new!r:.60}"


def _damaged_value(old: Any, luck: random.Random) -> Any:
    if isinstance(old, str | bytes) and old and luck.random() < 0.5:
        text = old if isinstance(old, str) else old.decode("latin-1")
        place = luck.randrange(len(text))
        other = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        new = luck.choice((text[:place], other, text[place:]))
        return new if isinstance(old, str) else new.encode("latin-1")
    if isinstance(old, int | float) and luck.random() < 0.3:
        return old + 1
    return luck.choice(CELLS)


def _damage_bytes(path: Path, luck: random.Random) -> str:
    data = bytearray(path.read_bytes())
    if luck.random() < 0.3:
        length = luck.randrange(len(data))
        path.write_bytes(data[:length])
        return f"the file ends after {length} of {len(data)} bytes"
    places = [luck.randrange(len(data)) for _ in range(luck.choice((1, 10, 1000)))]
    for place in places:
        data[place] ^= luck.randrange(1, 256)
    path.write_bytes(data)
    return f"{len(places)} bytes differ, the first at {places[0]}"
