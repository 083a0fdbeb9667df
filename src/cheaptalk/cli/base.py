"""What all commands share: the application, common options, and how things are printed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import cheaptalk as ct

app = typer.Typer(
    name="cheaptalk",
    help="A laboratory for strategic communication: plan, play, resume and report studies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DEFAULT_STORE = Path("cheaptalk.sqlite")

StoreOption = Annotated[
    Path,
    typer.Option("--store", envvar="CHEAPTALK_STORE", help="The store file.", show_envvar=True),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
StudyArgument = Annotated[
    str, typer.Argument(help="A study file, a preset's name, or the name of a study in the store.")
]

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def print_json(data: Any) -> None:
    """Print data as JSON on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")


def print_table(title: str | None, columns: list[str], rows: list[list[object]]) -> None:
    """Print a table; numbers stand right."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(f"{c:,}" if isinstance(c, int) else str(c) for c in row))
    out.print(table)


def find_study(name: str, store: Path) -> ct.Study:
    """A study from a file, a preset, or a store, looked for in this order.

    Raises:
        StudyError: there is none, or it is not legal.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml", ".json") or path.is_file():
        return ct.load_study(path)
    found = ct.preset(name)
    if found is not None:
        return found
    if store.exists():
        with ct.Store.open(store) as opened:
            known = {summary.name: summary.spec for summary in opened.studies()}
        if name in known and "players" in known[name]:
            return ct.studies.parse_study(known[name], name)
    else:
        known = {}
    names = sorted({*ct.studies.preset_names(), *known})
    raise ct.StudyError(f"no study file, preset or stored study {ct.rules.suggest(name, names)}")


def store_name() -> str:
    """How the user has to name the store in a further command; empty where not at all."""
    return "" if os.environ.get("CHEAPTALK_STORE") else " --store FILE"
