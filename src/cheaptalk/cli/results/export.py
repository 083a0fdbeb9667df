"""The ``store export`` command, which exports a study to files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    CPUS,
    DEFAULT_STORE,
    JsonOption,
    RawCellsOption,
    StoredArgument,
    StoreOption,
    WorkersOption,
    file_to_write,
)
from cheaptalk.cli.shared.printing import err, print_json, say, warn_about_names
from cheaptalk.cli.shared.sentences import counted


class Form(StrEnum):
    """A format of an export."""

    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    CHATS = "chats"
    INSPECT = "inspect"


@finishing()
def export(
    study: StoredArgument,
    to: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Write to this new folder or .zip file.",
            metavar="DIR|FILE.zip",
            callback=file_to_write,
        ),
    ],
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="Choose the format: tables (csv, parquet), complete records (jsonl), dialogues "
            "for training (chats) or Inspect logs (inspect).",
        ),
    ] = Form.CSV,
    style: Annotated[
        str | None,
        typer.Option(
            "--prompt-style",
            help="Use this prompt style for turns that no model played (with --format chats).",
            metavar="NAME",
            show_default="the game's default style",
        ),
    ] = None,
    raw_cells: RawCellsOption = False,
    workers: WorkersOption = CPUS,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Export a study's matches, responses and calls to files.

    The export includes a codebook, which describes all columns.
    """
    if to.suffix in {f".{name}" for name in Form}:
        raise typer.BadParameter(
            f"an export has several files; choose a folder or a .zip file instead of {to}",
            param_hint="--out",
        )
    if form is Form.INSPECT and to.suffix == ".zip":
        raise typer.BadParameter(
            "Inspect logs require a folder, not a .zip file", param_hint="--out"
        )
    if style is not None and form is not Form.CHATS:
        raise typer.BadParameter("only valid with --format chats", param_hint="--prompt-style")
    with ct.Store.open(store) as opened, err.status(f"{study}: writing"):
        if form is Form.INSPECT:
            result = ct.adapters.write_inspect_logs(opened, study, to)
        else:
            result = ct.export(
                opened, study, to, form.value, raw_cells=raw_cells, workers=workers, style=style
            )
        warn_about_names(opened, study)
    if json:
        data = {"study": study, "to": str(result.path), "format": form.value, "rows": result.rows}
        print_json(data)
        return
    singular = {"matches": "match"}
    counts = ", ".join(
        counted(count, singular.get(table, table.removesuffix("s")))
        for table, count in result.rows.items()
    )
    say(f"{study}: {counts} written to {result.path}")
