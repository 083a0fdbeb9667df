"""The command that writes a study's records to files: export."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    JsonOption,
    RawCellsOption,
    StoredArgument,
    StoreOption,
    file_to_write,
)
from cheaptalk.cli.shared.outside import finishing
from cheaptalk.cli.shared.printing import err, print_json, say
from cheaptalk.cli.shared.sentences import counted


class Form(StrEnum):
    """The formats of an export."""

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
            help="A new folder, or a .zip file.",
            metavar="DIR|FILE.zip",
            callback=file_to_write,
        ),
    ],
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="Tables (csv, parquet), whole records (jsonl), or what each seat was told and "
            "answered, to train on (chats), or logs for Inspect (inspect).",
        ),
    ] = Form.CSV,
    style: Annotated[
        str | None,
        typer.Option(
            help="The style in which chats have what no model said; the game's own by default.",
            metavar="NAME",
        ),
    ] = None,
    raw_cells: RawCellsOption = False,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Processes that write large studies.", show_default="one a core"),
    ] = os.cpu_count() or 1,
    store: StoreOption = DEFAULT_STORE,
    json: JsonOption = False,
) -> None:
    """Write a study's matches, answers and calls to files, with a codebook."""
    if to.suffix in {f".{one}" for one in Form}:
        raise typer.BadParameter(
            f"{to} would be a folder of several files; name a folder or a .zip file",
            param_hint="--out",
        )
    if form is Form.INSPECT and to.suffix == ".zip":
        raise typer.BadParameter("logs are written to a folder, not a .zip", param_hint="--out")
    if style is not None and form is not Form.CHATS:
        raise typer.BadParameter("chats alone have a style", param_hint="--style")
    with ct.Store.open(store) as opened, err.status(f"{study}: writing"):
        if form is Form.INSPECT:
            done = ct.adapters.write_inspect_logs(opened, study, to)
        else:
            done = ct.export(
                opened, study, to, form.value, raw_cells=raw_cells, workers=workers, style=style
            )
        named = ct.records.imports.holds_names(opened, study)
    if named:
        say(f"{study}: {ct.records.imports.NAMED}", to=err)
    if json:
        print_json({"study": study, "to": str(done.path), "format": form.value, "rows": done.rows})
        return
    singular = {"matches": "match"}
    counts = ", ".join(
        counted(count, singular.get(table, table.removesuffix("s")))
        for table, count in done.rows.items()
    )
    say(f"{study}: {counts} written to {done.path}")
