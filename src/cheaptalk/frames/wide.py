"""Data frames with one row per participant, or one per participant and game."""

from typing import Any, Literal, TypeAlias

import polars as pl

from cheaptalk.records import Store
from cheaptalk.records.exports.columns import BOOLEAN, DATE_TIME, INTEGER, NUMBER
from cheaptalk.records.exports.sheets import MOMENT, Sheet
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.rules import unknown
from cheaptalk.studies.exports.codebook import CodebookEntry, entries_of
from cheaptalk.studies.exports.otree import otree_table
from cheaptalk.studies.exports.people import read_people
from cheaptalk.studies.exports.wide import WideTable, wide_tables

Layout: TypeAlias = Literal["participant", "game", "otree"]
"""Rows and columns: a row per participant; one per participant and game; or oTree's columns."""
LAYOUTS = {"participant": "wide", "game": "long", "otree": "all_apps_wide"}
"""The exported table of each layout."""
KINDS: dict[str, Any] = {
    INTEGER: pl.Int64,
    NUMBER: pl.Float64,
    BOOLEAN: pl.Boolean,
}


@reads
def read_wide(store: StoreLike, study: StudyLike, layout: Layout = "participant") -> pl.DataFrame:
    """Return participants with their treatments, answers, games, payments and times.

    The columns are those of the exported tables ``wide``, ``long`` and ``all_apps_wide``, which
    :func:`read_codebook` describes. Times are date-times in UTC, and missing values are null.

    Args:
        layout: ``participant`` for a row per participant, ``game`` for a row per participant and
            game, or ``otree`` for a row per participant with the column names of oTree.

    Raises:
        StoreError: there is no such study.
        UnknownName: there is no such layout.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    table = _table(store, study, layout)
    sheet = Sheet(table.columns)
    schema = {name: KINDS.get(type_, pl.String) for name, type_ in sheet.types.items()}
    rows = [sheet.row(source) for source in table.sources]
    times = [name for name, type_ in sheet.types.items() if type_ == DATE_TIME]
    frame = pl.DataFrame(rows, schema, orient="row")
    return frame.with_columns(pl.col(times).str.to_datetime(MOMENT, time_zone="UTC"))


@reads
def read_codebook(
    store: StoreLike, study: StudyLike, layout: Layout = "participant"
) -> pl.DataFrame:
    """Return the meaning of each column of :func:`read_wide`, as in the codebook of an export.

    Columns: ``column``, ``game``, ``type``, ``range``, ``meaning``, ``unit``, ``missing`` (what a
    missing value means), ``question`` (by language, as JSON) and ``labels`` (of values, as JSON).
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    table = _table(store, study, layout)
    entries = list(entries_of({LAYOUTS[layout]: table.columns}))
    schema = dict.fromkeys(CodebookEntry._fields, pl.String)
    return pl.DataFrame(entries, schema, orient="row").drop("table")


def _table(store: Store, study: str, layout: str) -> WideTable:
    if layout not in LAYOUTS:
        raise unknown("layout", layout, list(LAYOUTS))
    store.study(study, counted=False)  # raises StoreError if there is none
    data = read_people(store, study)
    make = otree_table if layout == "otree" else wide_tables
    return make(store, study, data)[LAYOUTS[layout]]
