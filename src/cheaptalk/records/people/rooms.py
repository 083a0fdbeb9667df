"""Rooms in which participants meet to play, stored separately from matches."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from cheaptalk.records.store import schema
from cheaptalk.records.store.schema import insert
from cheaptalk.records.store.store import Store

rooms = schema.rooms


def keep_room(study_id: int, code: str, kept: Mapping[str, Any]) -> Callable[[sa.Connection], None]:
    """Return a function that stores the current state of a room."""
    row = {"code": code, "study_id": study_id, "kept": dict(kept), "changed": time.time()}

    def work(connection: sa.Connection) -> None:
        new = insert(rooms).values(row)
        changed = {"kept": new.excluded.kept, "changed": new.excluded.changed}
        connection.execute(new.on_conflict_do_update(index_elements=["code"], set_=changed))

    return work


def kept_rooms(store: Store, study_id: int) -> list[tuple[str, dict[str, Any]]]:
    """Return all rooms of a study with their states, least recently changed first."""
    query = (
        sa.select(rooms.c.code, rooms.c.kept)
        .where(rooms.c.study_id == study_id)
        .order_by(rooms.c.changed)
    )
    with store.reading() as connection:
        return [(code, kept) for code, kept in connection.execute(query)]
