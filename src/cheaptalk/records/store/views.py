"""The views of a store in SQLite, which ``views.sql`` defines; other databases have none.

They are made when a store is, and anew whenever it is migrated: a view that changes needs a
migration, if only an empty one.
"""

import re
from pathlib import Path

import sqlalchemy as sa

VIEWS = dict(
    re.findall(
        r"^(create view (\w+) as\n[^;]+);$",
        Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
)
"""What makes each view, and its name."""


def changed_views(connection: sa.Connection) -> list[str]:
    """The names of those views that are missing, or not as they were made."""
    if connection.dialect.name != "sqlite":
        return []
    query = sa.text("select name, sql from sqlite_master where type = 'view'")
    there = {name: sql.lower() for name, sql in connection.execute(query)}
    return [name for made, name in VIEWS.items() if there.get(name) != made.lower()]


def drop_views(connection: sa.Connection) -> None:
    """Remove the views, which would be in the way of changes to the tables."""
    if connection.dialect.name == "sqlite":
        for name in VIEWS.values():
            connection.exec_driver_sql(f"drop view if exists {name}")


def make_views(connection: sa.Connection) -> None:
    """Make the views."""
    if connection.dialect.name == "sqlite":
        for statement in VIEWS:
            connection.exec_driver_sql(statement)
