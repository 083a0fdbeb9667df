"""The tables of papers in the form in which they are printed, with the printed values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ERROR, STARS, Header, ReportTable
from cheaptalk.rules import CheaptalkError, suggest

PRINTED, PLAYERS = "printed", "players"
OPTIONS = {
    PRINTED: "beside: tables in the paper's form show its printed values, too",
    PLAYERS: "who stands in tables of the paper's form: llms, or labels with commas; all without",
}
"""Options of all recipes that have tables in the paper's form."""
BESIDE, LLMS = "beside", "llms"
BESIDES = (ERROR, STARS, ".half")
"""What names of columns end in that say more of a printed number."""
THEIRS = "What the paper prints is of its own players, in its own matches."
HERE = Path(__file__).parent


def chosen(evidence: Evidence, labels: Sequence[str]) -> list[str]:
    """Those players who are to stand in tables of the paper's form, in the order given.

    Raises:
        CheaptalkError: the option names somebody who is none of them.
    """
    wanted = evidence.options.get(PLAYERS)
    if wanted is None:
        return list(labels)
    if wanted == LLMS:
        models = evidence.once(_models)
        return [label for label in labels if label in models]
    named = [one.strip() for one in wanted.split(",")]
    for one in named:
        if one not in labels:
            raise CheaptalkError(f"no player {suggest(one, list(labels))} to show")
    return [label for label in labels if label in named]


def _models(evidence: Evidence) -> set[str]:
    """The players that are language models, by what the study writes or the store keeps of them."""
    specs = evidence.players or {
        label: of[0] for label, of in specs_of(evidence.store, evidence.study).items()
    }
    return {label for label, spec in specs.items() if spec.get("model")}


def as_printed(evidence: Evidence, paper: str, table: ReportTable) -> ReportTable:
    """A table of the paper's form, the printed values beside ours if they are asked for.

    Args:
        evidence: its option ``printed`` asks.
        paper: the folder of the paper, which holds its values as ``printed/NAME.csv``.
        table: with its number of the paper in ``printed``.

    Raises:
        CheaptalkError: the option is something else than ``beside``.
    """
    asked = evidence.options.get(PRINTED)
    if asked not in (None, BESIDE):
        raise CheaptalkError(f'the option {PRINTED} takes "{BESIDE}", not "{asked}"')
    file = HERE / paper / "printed" / f"{table.name}.csv"
    if asked is None or not file.exists():
        return table
    return beside(table, pl.read_csv(file, infer_schema_length=None))


def beside(table: ReportTable, values: pl.DataFrame) -> ReportTable:
    """A table with printed values behind its own; columns and rows of the paper alone come last.

    Args:
        table: its first columns, up to the first number, say what a row is.
        values: the same columns under the same keys, rows named as printed, and numbers. Names
            are the same that differ in capitals and in what is no letter or digit.
    """
    stub = [one.key for one in _stub(table.columns)]
    names = [f"{key}.as_compared" for key in stub]
    numbers = [name for name in values.columns if name not in stub]
    texts = values.with_columns(pl.col(stub).cast(pl.String))
    printed = texts.with_columns(_compared(stub)).rename(
        {name: _printed_key(name, table) for name in numbers}
    )
    ours = pl.col(stub[0]).is_not_null()
    both = table.frame.with_columns(_compared(stub)).join(
        printed, on=names, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right",
        suffix=".paper", validate="m:1",
    )  # fmt: skip
    columns = tuple(_columns(table, numbers))
    shown = [one.key for one in columns if ".printed" in one.key]
    frame = (
        both.filter(ours | pl.any_horizontal(pl.col(shown).is_not_null()))
        .with_columns(pl.coalesce(key, f"{key}.paper").alias(key) for key in stub)
        .drop(*names, *(f"{key}.paper" for key in stub))
    )
    return replace(
        table, frame=frame, columns=columns, notes=(*table.notes, THEIRS)
    )  # fmt: skip


def _stub(columns: Sequence[Header]) -> Sequence[Header]:
    """The columns before the first number."""
    at = next((at for at, one in enumerate(columns) if one.places is not None), len(columns))
    return columns[:at]


def _compared(keys: Sequence[str]) -> list[pl.Expr]:
    """Names without what may differ between ours and the printed ones."""
    return [
        pl.col(key).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "").alias(
            f"{key}.as_compared"
        )
        for key in keys
    ]  # fmt: skip


def _printed_key(name: str, table: ReportTable) -> str:
    """``gain.printed`` for ``gain``, and ``gain.printed.low`` for ``gain.low``."""
    keys = (one.key for one in table.columns if f"{name}.".startswith(f"{one.key}."))
    key = max(keys, key=len, default=name.removesuffix(ERROR))
    return f"{key}.printed{name.removeprefix(key)}"


def _columns(table: ReportTable, numbers: Sequence[str]) -> Iterator[Header]:
    """The table's columns, each with what is printed of it, then those that only the paper has."""
    about = "What the paper prints."
    for one in table.columns:
        yield one
        if one.key in numbers:
            title = f"{one.title}, printed"
            yield one._replace(key=f"{one.key}.printed", title=title, about=about)
    known = tuple(f"{one.key}." for one in table.columns)
    last = table.columns[-1]
    for name in numbers:
        if not f"{name}.".startswith(known) and not name.endswith(BESIDES):
            title = f"{name}, printed"
            yield Header(f"{name}.printed", title, last.unit, last.places, about)
