"""The command that exports a study to files: store export."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    JsonOption,
    RawCellsOption,
    StoredArgument,
    StoreOption,
    file_to_write,
)
from cheaptalk.cli.shared.printing import err, print_json, say
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
            help="Write this format: tables (csv, parquet), complete records (jsonl), dialogues "
            "for training (chats) or Inspect logs (inspect).",
        ),
    ] = Form.CSV,
    style: Annotated[
        str | None,
        typer.Option(
            "--prompt-style",
            help="With chats: use this prompt style for turns not produced by a model.",
            metavar="NAME",
            show_default="the game's first",
        ),
    ] = None,
    raw_cells: RawCellsOption = False,
    workers: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Use N processes.", show_default="one per CPU core"),
    ] = os.cpu_count() or 1,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Export a study's matches, responses and calls to files.

    A codebook describes all columns.
    """
    if to.suffix in {f".{name}" for name in Form}:
        raise typer.BadParameter(
            f"the export has several files; name a folder or a .zip file, not {to}",
            param_hint="--out",
        )
    if form is Form.INSPECT and to.suffix == ".zip":
        raise typer.BadParameter(
            "Inspect logs require a folder, not a .zip file", param_hint="--out"
        )
    if style is not None and form is not Form.CHATS:
        raise typer.BadParameter("requires --format chats", param_hint="--prompt-style")
    with ct.Store.open(store) as opened, err.status(f"{study}: writing"):
        if form is Form.INSPECT:
            result = ct.adapters.write_inspect_logs(opened, study, to)
        else:
            result = ct.export(
                opened, study, to, form.value, raw_cells=raw_cells, workers=workers, style=style
            )
        has_names = ct.records.imports.holds_names(opened, study)
    if has_names:
        say(f"{study}: {ct.records.imports.NAMED}", to=err)
    if json:
        print_json(
            {"study": study, "to": str(result.path), "format": form.value, "rows": result.rows}
        )
        return
    singular = {"matches": "match"}
    counts = ", ".join(
        counted(count, singular.get(table, table.removesuffix("s")))
        for table, count in result.rows.items()
    )
    say(f"{study}: {counts} written to {result.path}")
