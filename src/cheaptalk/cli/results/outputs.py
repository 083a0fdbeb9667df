"""Output of analyses: printed tables, files with tables and charts, and an HTML page."""

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
        "--out",
        callback=page_to_write,
        help="Write an HTML page with tables and charts to this file.",
    ),
]
TablesOption = Annotated[
    Path | None,
    typer.Option(
        "--tables", callback=folder_to_write, help="Write tables (CSV and LaTeX) to this folder."
    ),
]
FiguresOption = Annotated[
    Path | None,
    typer.Option(
        "--figures", callback=folder_to_write, help="Write charts (SVG and PDF) to this folder."
    ),
]


def write_results(
    findings: ct.reports.Findings,
    shown: Mapping[str, ct.reports.ReportTable],
    to: Path | None,
    tables: Path | None,
    figures: Path | None,
    raw_cells: bool,
    viewer: str,
    json: bool,
) -> None:
    """Print tables and write the requested files; exit with status 1 if there are no tables."""
    if to and shown:
        ct.reports.write_findings(findings, to, viewer=viewer)
    written = []
    if tables and shown:
        written = ct.reports.write_tables(
            findings.tables, tables, findings.recipe.name, raw_cells=raw_cells
        )
    drawn = ct.reports.write_figures(findings.charts, figures) if figures and shown else []
    if json:
        rows = {name: table.frame.to_dicts() for name, table in shown.items()}
        print_json({"answers": findings.answers, "tables": rows, "lacking": findings.lacking})
    else:
        _print_all(findings, shown)
        if written:
            say(f"Tables written to {written[0].parent.absolute()}")
        print_figures(drawn)
        if to and shown:
            say(f"Page written to {to.absolute()}")
    if not shown:
        raise typer.Exit(1)


def _print_all(findings: ct.reports.Findings, shown: Mapping[str, ct.reports.ReportTable]) -> None:
    for title, answer in findings.answers.items():
        say(f"{title}: {answer}\n")
    for table in shown.values():
        say(f"{table}\n", whole=True)
        for note in table.remarks:
            say(note)
    for title, why in findings.lacking.items():
        say(f"{title}: {why}")


def print_figures(drawn: list[Path]) -> None:
    """Print the folder of the charts, and how to add PDF files if there are none."""
    if not drawn:
        return
    formats = dict.fromkeys(path.suffix.removeprefix(".").upper() for path in drawn)
    say(f"Charts written to {drawn[0].parent.absolute()} ({' and '.join(formats)})")
    if "PDF" not in formats:
        hint('to also write PDF files, run: pip install "cheaptalk[figures]"')
