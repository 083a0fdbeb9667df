"""Adopt the vocabulary of version 0.1, such as "instance" for "deal", "correct" for "right"."""

from typing import Any

from alembic import op

from cheaptalk.records.store.migrations.vocabulary import renamed_player, renamed_study, rewrite

revision = "0012"
down_revision = "0011"

COLUMNS = (
    ("matches", "deal", "instance"),
    ("calls", "seat", "actor"),
    ("plays", "place", "seat"),
    ("responses", "right", "correct"),
    ("notices", "right", "correct"),
)
"""The renamed columns: table, old name, new name."""
ROOM_KEYS = {"deal": "instance", "guests": "visitors", "offer": "table_template"}


def upgrade() -> None:
    for table, old, new in COLUMNS:
        op.alter_column(table, old, new_column_name=new)
    rewrite("studies", "id", "spec", renamed_study)
    rewrite("players", "id", "spec", renamed_player)
    rewrite("rooms", "code", "kept", _room)


def _room(kept: dict[str, Any]) -> dict[str, Any]:
    return {ROOM_KEYS.get(key, key): value for key, value in kept.items()}
