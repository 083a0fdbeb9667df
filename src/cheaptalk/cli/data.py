"""Commands that move data: import and export."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, err, out, print_json
from cheaptalk.rules import counted

SHOWN = 20
"""Skipped games that are listed; ``--json`` lists all."""

importing = typer.Typer(help="Take in games that other systems published.", no_args_is_help=True)
app.add_typer(importing, name="import")


StudyOption = Annotated[str, typer.Option(help="What to call them in the store.")]


@importing.command()
def glee(
    folder: Annotated[
        Path, typer.Argument(help="A folder with games of GLEE in it, at any depth.", metavar="DIR")
    ],
    store: StoreOption = DEFAULT_STORE,
    study: StudyOption = "glee-import",
    redact_names: Annotated[
        bool, typer.Option("--redact-names", help="Take people's first names out of messages.")
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A name to redact besides those found.", metavar="NAME"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Import published games of GLEE; games that are in the store already are not stored again.

    Names are found where English addresses people, and not everywhere: read the messages before
    you publish them, and give what was missed with --name.
    """
    _take_in(ct.read_glee(folder, redact_names=redact_names, names=name or []), store, study, json)


@importing.command()
def gama(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder with recorded games of GAMA, at any depth.", metavar="DIR"),
    ],
    store: StoreOption = DEFAULT_STORE,
    study: StudyOption = "gama-import",
    json: JsonOption = False,
) -> None:
    """Import recorded games of GAMA-Bench; games that are in the store are not stored again.

    The published variants of the measure called score are the scores of its paper.
    """
    _take_in(ct.read_gama(folder), store, study, json)


@importing.command()
def dond(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files of dialogues, or folders with .txt files.", metavar="PATH..."),
    ],
    store: StoreOption = DEFAULT_STORE,
    study: StudyOption = "dond-import",
    json: JsonOption = False,
) -> None:
    """Import people's dialogues of Deal or No Deal; those in the store are not stored again.

    The lines of one dialogue become one match. Give all files at once: what one file leaves out,
    another may tell.
    """
    _take_in(ct.read_dond(paths), store, study, json)


def _take_in(found: ct.records.imports.Collection, store: Path, study: str, as_json: bool) -> None:
    """Store a collection, showing how far it is, and say what became of it.

    Raises:
        CheaptalkError: it holds no game; nothing is written.
    """
    with err.status(study):
        found = ct.records.imports.with_a_game(found)
    with ct.Store.open(store, create=True) as opened, err.status(study) as shown:

        def show(intake: ct.records.imports.Intake) -> None:
            shown.update(f"{study}: {counted(intake.read, 'game')} read")

        intake = ct.take_in(found, opened, study, show)
    _summarise(intake, study, store, as_json)


def _summarise(intake: ct.records.imports.Intake, study: str, store: Path, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "study": study,
                "store": str(store),
                "present": intake.present,
                "redactions": intake.redactions,
                "imported": intake.imported,
                "skipped": [one._asdict() for one in intake.skipped],
            }
        )
    else:
        redacted = f", {counted(intake.redactions, 'name')} redacted" if intake.redactions else ""
        out.print(
            f"{study}: {counted(intake.imported, 'game')} imported, "
            f"{intake.present:,} were there before, "
            f"{len(intake.skipped):,} skipped{redacted}"
        )
        for one in intake.skipped[:SHOWN]:
            out.print(f"  {one.game}: {one.reason}", markup=False)
        if len(intake.skipped) > SHOWN:
            out.print(f"  and {len(intake.skipped) - SHOWN:,} more; --json lists all")
        if intake.imported or intake.present:
            out.print(f"report on it with: cheaptalk report {study} --store {store}")
    if intake.skipped:
        raise typer.Exit(1)


class Form(StrEnum):
    """The formats of an export."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"


@app.command()
def export(
    study: Annotated[str, typer.Argument(help="The name of a study in the store.")],
    to: Annotated[
        Path, typer.Option("--out", help="A new folder, or a .zip file.", metavar="DIR|FILE.zip")
    ],
    form: Annotated[
        Form, typer.Option("--format", help="Tables (csv, parquet), or whole records (jsonl).")
    ] = Form.CSV,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write a study's matches, answers and calls to files, with a codebook."""
    if to.suffix in {f".{one}" for one in Form}:
        raise typer.BadParameter(
            f"{to} would be a folder of several files; name a folder or a .zip file",
            param_hint="--out",
        )
    with ct.Store.open(store) as opened, err.status(f"{study}: writing"):
        done = ct.export(opened, study, to, form.value)
    if json:
        print_json({"study": study, "to": str(done.path), "format": form.value, "rows": done.rows})
        return
    rows = {"matches": "match", "answers": "answer", "calls": "call", "judgements": "judgement"}
    counts = ", ".join(counted(count, rows[table]) for table, count in done.rows.items())
    out.print(f"{study}: {counts} written to {done.path}", markup=False)
