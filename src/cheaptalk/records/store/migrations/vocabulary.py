"""Replacement of renamed keys and values in the JSON of stored studies and players."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

from cheaptalk.records.identity import study_digest
from cheaptalk.renamed import (
    RENAMED_KEYS,
    RENAMED_PLACEHOLDERS,
    RENAMED_POLICIES,
    RENAMED_STYLES,
)

UNCHANGED = ("parameters", "fixed", "cases", "grid", "when", "factors")
"""Keys of a study whose values contain names from games or the study's author, which stay."""


def rewrite(table: str, key: str, column: str, change: Callable[[Any], Any]) -> None:
    """Change the JSON in a column of each row and, for studies, the digest of that JSON."""
    rows = sa.table(
        table, sa.column(key), sa.column(column, sa.JSON), sa.column("name"), sa.column("digest")
    )
    digested = table == "studies"
    connection = op.get_bind()
    selected = [rows.c[key], rows.c[column], *([rows.c.name, rows.c.digest] if digested else [])]
    for row in connection.execute(sa.select(*selected)).all():
        data = change(row[1])
        if data == row[1]:
            continue
        values: dict[str, Any] = {column: data}
        if digested and row.digest is not None:
            values["digest"] = study_digest(row.name, data)
        connection.execute(sa.update(rows).where(rows.c[key] == row[0]).values(values))


def renamed_study(spec: Any) -> Any:
    """Return a study's definition with old keys replaced by their new names."""
    match spec:
        case dict():
            return {
                RENAMED_KEYS.get(key, key): renamed_player(value)
                if key == "players"
                else value
                if key in UNCHANGED
                else _policies(value)
                if key == "unanswered"
                else renamed_study(value)
                for key, value in spec.items()
            }
        case list():
            return [renamed_study(value) for value in spec]
        case str():
            for old, new in RENAMED_PLACEHOLDERS.items():
                spec = spec.replace(old, new)
            return spec
        case _:
            return spec


def _policies(unanswered: dict[str, Any]) -> dict[str, Any]:
    return {
        RENAMED_KEYS.get(key, key): RENAMED_POLICIES.get(value, value)
        if isinstance(value, str)
        else value
        for key, value in unanswered.items()
    }


def renamed_player(spec: Any) -> Any:
    """Return players' settings with model strings of remote agents renamed to ``remote/NAME``."""
    match spec:
        case dict():
            return {key: renamed_player(value) for key, value in spec.items()}
        case list():
            return [renamed_player(value) for value in spec]
        case str() if spec.startswith("guest/"):
            return f"remote/{spec.removeprefix('guest/')}"
        case _:
            return spec


def renamed_styles(spec: Any) -> Any:
    """Return settings in which prompt styles for people are named after codes of languages."""
    match spec:
        case dict():
            return {
                key: _style(value) if key == "style" else renamed_styles(value)
                for key, value in spec.items()
            }
        case list():
            return [renamed_styles(value) for value in spec]
        case _:
            return spec


def _style(value: Any) -> Any:
    if isinstance(value, list):
        return [_style(each) for each in value]
    return RENAMED_STYLES.get(value, value) if isinstance(value, str) else renamed_styles(value)
