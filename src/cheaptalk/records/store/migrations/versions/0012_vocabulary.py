"""Adopt the vocabulary of version 0.1, such as "instance" for "deal", "correct" for "right"."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.identity import study_digest
from cheaptalk.rules.renamed import RENAMED_KEYS, RENAMED_POLICIES

revision = "0012"
down_revision = "0011"

COLUMNS = (("matches", "deal", "instance"), ("calls", "seat", "actor"), ("plays", "place", "seat"),
           ("responses", "right", "correct"), ("notices", "right", "correct"))  # fmt: skip
"""The renamed columns: table, old name, new name."""
ROOM_KEYS = {"deal": "instance", "guests": "visitors", "offer": "table_template"}
UNCHANGED = ("parameters", "fixed", "cases", "grid")
"""Keys of a study below which names are those of a game, which keep theirs."""


def upgrade() -> None:
    for table, old, new in COLUMNS:
        op.alter_column(table, old, new_column_name=new)
    _rewrite("studies", "id", "spec", _study)
    _rewrite("players", "id", "spec", _player)
    _rewrite("rooms", "code", "kept", _room)


def _rewrite(table: str, key: str, column: str, change: Callable[[Any], Any]) -> None:
    """Change the JSON in a column of each row and, for studies, the digest of that JSON."""
    rows = sa.table(table, sa.column(key), sa.column(column, sa.JSON), sa.column("name"),
                    sa.column("digest"))  # fmt: skip
    digested = table == "studies"
    connection = op.get_bind()
    wanted = [rows.c[key], rows.c[column], *([rows.c.name, rows.c.digest] if digested else [])]
    for row in connection.execute(sa.select(*wanted)).all():
        data = change(row[1])
        if data == row[1]:
            continue
        values: dict[str, Any] = {column: data}
        if digested and row.digest is not None:
            values["digest"] = study_digest(row.name, data)
        connection.execute(sa.update(rows).where(rows.c[key] == row[0]).values(values))


def _study(spec: Any) -> Any:
    """Return a study's definition with the new keys."""
    match spec:
        case dict():
            return {
                RENAMED_KEYS.get(key, key): _player(value) if key == "players"
                else value if key in UNCHANGED
                else _policies(value) if key == "unanswered" else _study(value)
                for key, value in spec.items()
            }  # fmt: skip
        case list():
            return [_study(value) for value in spec]
        case _:
            return spec


def _policies(unanswered: dict[str, Any]) -> dict[str, Any]:
    return {
        RENAMED_KEYS.get(key, key): RENAMED_POLICIES.get(value, value)
        if isinstance(value, str) else value
        for key, value in unanswered.items()
    }  # fmt: skip


def _room(kept: dict[str, Any]) -> dict[str, Any]:
    return {ROOM_KEYS.get(key, key): value for key, value in kept.items()}


def _player(spec: Any) -> Any:
    """Return players' settings with the new prefix of remote agents."""
    match spec:
        case dict():
            return {key: _player(value) for key, value in spec.items()}
        case list():
            return [_player(value) for value in spec]
        case str() if spec.startswith("guest/"):
            return f"remote/{spec.removeprefix('guest/')}"
        case _:
            return spec
