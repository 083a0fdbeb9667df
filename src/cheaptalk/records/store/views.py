"""The views of a store, which ``views.sql`` defines for SQLite and ``views.postgresql.sql`` for
PostgreSQL.

They are made when a store is, and anew whenever it is migrated: a view that changes needs a
migration, if only an empty one.
"""

import re
from pathlib import Path

import sqlalchemy as sa

DIALECTS = {"sqlite": ".sql", "postgresql": ".postgresql.sql"}
"""The endings of files with views, by SQLAlchemy's name of the kind of database."""


def _read(ending: str) -> dict[str, str]:
    text = Path(__file__).with_suffix(ending).read_text(encoding="utf-8")
    return dict(re.findall(r"^(create view (\w+) as\n[^;]+);$", text, re.MULTILINE))


VIEWS = {dialect: _read(ending) for dialect, ending in DIALECTS.items()}
"""What makes each view, and its name, by the kind of database."""


def changed_views(connection: sa.Connection) -> list[str]:
    """The names of those views that are missing, or not as they were made.

    PostgreSQL keeps views in words of its own, so that there only missing ones are found.
    """
    views = VIEWS[connection.dialect.name]
    if connection.dialect.name != "sqlite":
        there = sa.inspect(connection).get_view_names()
        return [name for name in views.values() if name not in there]
    query = sa.text("select name, sql from sqlite_master where type = 'view'")
    made = {name: sql.lower() for name, sql in connection.execute(query)}
    return [name for text, name in views.items() if made.get(name) != text.lower()]


def drop_views(connection: sa.Connection) -> None:
    """Remove the views, which would be in the way of changes to the tables."""
    for name in VIEWS[connection.dialect.name].values():
        connection.exec_driver_sql(f"drop view if exists {name}")


def make_views(connection: sa.Connection) -> None:
    """Make the views."""
    for statement in VIEWS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
