"""Creation of a store's tables and views, and migration of older stores with alembic.

``views.sql.jinja`` defines the views for every kind of database. Columns that are also exported are
declared in ``columns.csv`` of :mod:`cheaptalk.records.exports`. Views are created with a store and
recreated by every migration. To change a view, add a migration, even an empty one.
"""

import re
import threading
from pathlib import Path

import jinja2
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from cheaptalk.records.descriptions import FEW
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.records.exports.columns import shared_columns
from cheaptalk.records.store.schema import metadata, studies

ALEMBIC = threading.Lock()
"""Held while alembic works, because it keeps the current context in a module's variables."""
PLAYER_KINDS = ("model", "person", "policies", "policy", "recorded", "strategies", "strategy")
"""Kinds of built-in players."""
DROPPED_BY_DEFAULT = tuple(kind for kind, policy in Unanswered() if policy == "drop")
"""Kinds of answers that exclude a match unless the study has another policy for them."""


def upgrade(connection: sa.Connection) -> None:
    """Create the tables, or run pending migrations, in the connection's transaction.

    Views are recreated, so that they always match the newest tables.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    drop_views(connection)
    exists = sa.inspect(connection).has_table(studies.name)
    if not exists:
        metadata.create_all(connection)
    with ALEMBIC:
        (command.upgrade if exists else command.stamp)(config, "head")
    make_views(connection)


def _written(dialect: str) -> dict[str, str]:
    """Return the names of views by their SQL statements.

    The terms of the dialect are: ISO 8601 times; nested JSON, with JSON null as SQL null; entries
    of an object, the same in order, and a single entry; labels joined to a text; a study's policy;
    the value at a path as text, part, count, amount or flag; a boolean as a number, from ``number``
    to ``end``; and the suffixes of joins and subqueries.
    """
    terms, text = (
        Path(__file__).with_name(name).read_text(encoding="utf-8")
        for name in (f"views.{dialect}.jinja", "views.sql.jinja")
    )
    text = re.sub(r"columns of (\w+)", lambda match: _columns(match[1]), text)
    template = jinja2.Template(terms + text, undefined=jinja2.StrictUndefined)
    views = template.render(few=FEW, kinds=PLAYER_KINDS, dropped_by_default=DROPPED_BY_DEFAULT)
    return dict(re.findall(r"^(create view (\w+) as\n[^;]+);$", views, re.MULTILINE))


def _columns(table: str) -> str:
    columns = (f"{column.sql} as {column.name}" for column in shared_columns(table, "view"))
    return ",\n    ".join(columns).replace("TABLE.", f"{table}.")


VIEWS = {dialect: _written(dialect) for dialect in ("sqlite", "postgresql")}
"""Name of each view by its SQL statement, by SQLAlchemy dialect."""


def changed_views(connection: sa.Connection) -> list[str]:
    """Return the names of views that are missing or were changed.

    PostgreSQL rewrites view definitions, so only missing views are detected there.
    """
    views = VIEWS[connection.dialect.name]
    if connection.dialect.name != "sqlite":
        names = sa.inspect(connection).get_view_names()
        return [name for name in views.values() if name not in names]
    query = sa.text("select name, sql from sqlite_master where type = 'view'")
    existing = {name: sql.lower() for name, sql in connection.execute(query)}
    return [name for text, name in views.items() if existing.get(name) != text.lower()]


def drop_views(connection: sa.Connection) -> None:
    """Drop all views, which would block changes to the tables."""
    for name in VIEWS[connection.dialect.name].values():
        connection.exec_driver_sql(f"drop view if exists {name}")


def make_views(connection: sa.Connection) -> None:
    """Create all views of the store."""
    for statement in VIEWS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
