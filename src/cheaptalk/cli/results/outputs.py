"""What becomes of tables that a command has made: printed, and written to files and a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import folder_to_write, page_to_write
from cheaptalk.cli.shared.printing import hint, print_json, say

PageOption = Annotated[
    Path | None,
    typer.Option(
        "--out", help="Write a page with tables and charts, as HTML.", callback=page_to_write
    ),
]
TablesOption = Annotated[
    Path | None,
    typer.Option("--tables", help="Write the tables, as CSV and LaTeX.", callback=folder_to_write),
]


FiguresOption = Annotated[
    Path | None,
    typer.Option(
        "--figures", help="Write the charts for a paper here, as SVG and PDF.",
        callback=folder_to_write,
    ),
]  # fmt: skip


def hand_over(
    found: ct.reports.Findings,
    shown: Mapping[str, ct.reports.ReportTable],
    to: Path | None,
    tables: Path | None,
    figures: Path | None,
    raw_cells: bool,
    viewer: str,
    json: bool,
) -> None:
    """Print tables and write what is to be written; fail where there is none."""
    if to and shown:
        ct.reports.write_findings(found, to, viewer=viewer)
    written = []
    if tables and shown:
        written = ct.reports.write_tables(
            found.tables, tables, found.recipe.name, raw_cells=raw_cells
        )
    drawn = ct.reports.write_figures(found.charts, figures) if figures and shown else []
    if json:
        told = {name: one.frame.to_dicts() for name, one in shown.items()}
        print_json({"answers": found.answers, "tables": told, "lacking": found.lacking})
    else:
        _say_all(found, shown)
        if written:
            say(f"The tables are in {written[0].parent.absolute()}")
        say_figures(drawn)
        if to and shown:
            say(f"The page is at {to.absolute()}")
    if not shown:
        raise typer.Exit(1)


def _say_all(found: ct.reports.Findings, shown: Mapping[str, ct.reports.ReportTable]) -> None:
    """The answers, the tables and what is missing."""
    for title, answer in found.answers.items():
        say(f"{title}: {answer}\n")
    for table in shown.values():
        say(f"{table}\n", whole=True)
        for note in table.remarks:
            say(note)
    for title, why in found.lacking.items():
        say(f"{title}: {why}")


def say_figures(drawn: list[Path]) -> None:
    """Where charts were written, and how to get those that are missing."""
    if not drawn:
        return
    kinds = dict.fromkeys(one.suffix.removeprefix(".").upper() for one in drawn)
    say(f"The charts are in {drawn[0].parent.absolute()}, as {' and '.join(kinds)}")
    if "PDF" not in kinds:
        hint('for PDF, too: pip install "cheaptalk[figures]"')
