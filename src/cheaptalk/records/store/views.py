"""The views of a store, which ``views.sql.jinja`` defines for every kind of database.

They are made when a store is, and anew whenever it is migrated: a view that changes needs a
migration, if only an empty one.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import jinja2
import sqlalchemy as sa

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
"""The template's words: a moment as ISO 8601 writes it; nested JSON, null where it is filled with
none; entries of an object, and one of them; what stands at a path, as text, part, count, amount or
flag; a truth as a number, up to its end; and what ends a join, or a query within a query."""
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
    found = re.findall(r"^(create view (\w+) as\n[^;]+);$", TEMPLATE.render(words), re.MULTILINE)
    return dict(found)


VIEWS = {"sqlite": _written(SQLITE), "postgresql": _written(POSTGRESQL)}
"""What makes each view, and its name, by SQLAlchemy's name of the kind of database."""


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
