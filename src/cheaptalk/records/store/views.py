"""The SQL views of a store, which ``views.sql.jinja`` defines for every kind of database.

Columns that are also exported are declared in ``columns.csv`` of :mod:`cheaptalk.records.exports`.

Views are created with a store and recreated by every migration. To change a view, add a migration,
even an empty one.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import jinja2
import sqlalchemy as sa

from cheaptalk.records.exports.columns import shared_columns

Word: TypeAlias = str | Callable[..., str]


def _extracted(column: str, path: str) -> str:
    return f"json_extract({column}, '$.{path}')"


def _at(column: str, path: str, operator: str = "#>>") -> str:
    return f"{column} {operator} '{{{path.replace('.', ',')}}}'"


def _cast(text: str, kind: str) -> str:
    return f"cast({text} as {kind})"


def _filled(column: str) -> str:
    return _cast(f"nullif({_cast(column, 'text')}, 'null')", "json")


SQLITE: Mapping[str, Word] = {
    "moment": lambda column: f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, 'unixepoch')",
    "nested": lambda column: f"json({column})",
    "filled": lambda column: f"nullif(json({column}), 'null')",
    "entries": lambda column: f"json_each({column})",
    "entry": lambda column, key: f"json_extract({column}, '$.\"' || {key} || '\"')",
    "always": "",
    "whole": str,
    "real": str,
    "text": _extracted,
    "part": _extracted,
    "count": _extracted,
    "amount": _extracted,
    "flag": lambda column, path: f"coalesce({_extracted(column, path)}, 0)",
    "number": "",
    "end": "",
    "bought": "",
}
"""SQL of the template's terms.

The terms are: ISO 8601 times; nested JSON, with JSON null as SQL null; entries of an object and a
single entry; the value at a path as text, part, count, amount or flag; a boolean as a number, from
``number`` to ``end``; and the suffixes of joins and subqueries.
"""
POSTGRESQL: Mapping[str, Word] = {
    "moment": lambda column: (
        f"to_char(to_timestamp({column}) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
    ),
    "nested": str,
    "filled": _filled,
    "entries": lambda column: f"lateral json_each_text({_filled(column)})",
    "entry": lambda column, key: f"{column} -> {key}",
    "always": " on true",
    "whole": lambda text: _cast(text, "integer"),
    "real": lambda text: _cast(text, "double precision"),
    "text": _at,
    "part": lambda column, path: _at(column, path, "#>"),
    "count": lambda column, path: _cast(_at(column, path), "integer"),
    "amount": lambda column, path: _cast(_at(column, path), "double precision"),
    "flag": lambda column, path: f"coalesce({_cast(_at(column, path), 'boolean')}, false)",
    "number": "cast(",
    "end": " as integer)",
    "bought": " as bought",
}
TEMPLATE = jinja2.Template(
    Path(__file__).with_suffix(".sql.jinja").read_text(encoding="utf-8"),
    undefined=jinja2.StrictUndefined,
)


def _written(words: Mapping[str, Word]) -> dict[str, str]:
    def columns(table: str) -> str:
        return ",\n    ".join(
            f"{jinja2.Template(declared.sql).render(words, table=table)} as {declared.name}"
            for declared in shared_columns(table, "view")
        )

    text = TEMPLATE.render(words, columns=columns)
    return dict(re.findall(r"^(create view (\w+) as\n[^;]+);$", text, re.MULTILINE))


VIEWS = {"sqlite": _written(SQLITE), "postgresql": _written(POSTGRESQL)}
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
