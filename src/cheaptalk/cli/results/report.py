"""The command that writes a study's report: report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, TablesOption, print_figures
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    VIEWER,
    DrawSeedOption,
    JsonOption,
    PublishedOption,
    RawCellsOption,
    StoredArgument,
    StoreOption,
    ViewerOption,
    page_to_write,
    pair,
)
from cheaptalk.cli.shared.printing import err, print_json, say
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.extras import needing


@finishing()
def report(
    study: StoredArgument,
    store: StoreOption = DEFAULT_STORE,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the report to this file (HTML).",
            show_default="STUDY-report.html",
            callback=page_to_write,
        ),
    ] = None,
    as_published: PublishedOption = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="Create a paper's tables and figures instead; see cheaptalk study recipes.",
            autocompletion=completion.recipes,
            metavar="NAME",
        ),
    ] = None,
    tables: TablesOption = None,
    figures: FiguresOption = None,
    raw_cells: RawCellsOption = False,
    draws: Annotated[
        int,
        typer.Option(
            min=100, metavar="N", help="With --recipe: use N bootstrap or permutation draws."
        ),
    ] = 1000,
    seed: DrawSeedOption = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--recipe-option", help="Set an option of the recipe. Repeatable.", metavar="NAME=VALUE"
        ),
    ] = None,
    transcripts: Annotated[
        int, typer.Option(min=0, metavar="N", help="Include N transcripts per pairing.")
    ] = 3,
    workers: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Use N processes.", show_default="one per CPU core"),
    ] = os.cpu_count() or 1,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Write a study's report as one HTML file.

    The file has no external parts and works offline.
    """
    if settings and not recipe:
        raise typer.BadParameter("requires --recipe", param_hint="--recipe-option")
    options = dict(
        pair(text, "NAME=VALUE", "--recipe-option", empty=True) for text in settings or ()
    )
    suffix = f"{recipe or 'report'}{'-as-published' if as_published else ''}"
    file = to or Path(f"{study}-{suffix}.html")
    with ct.Store.open(store) as opened:
        counts = opened.study(study).counts
        _warn_if_unfinished(study, counts)
        if ct.records.imports.holds_names(opened, study):
            say(f"{study}: {ct.records.imports.NAMED}", to=err)
        with needing("analysis"):
            chosen = recipe or ct.reports.study_recipe(opened, study)
        with err.status(f"{study}: reading matches") as status:
            findings = ct.reports.findings(
                opened, study, chosen, as_published=as_published, draws=draws, seed=seed,
                options=options, workers=workers,
                progress=lambda part: status.update(f"{study}: {part.title}"),
            )  # fmt: skip
        if recipe and findings.empty:
            first = next(iter(findings.lacking.values()))
            raise ct.CheaptalkError(f"{study} has no data for the recipe {recipe}: {first}")
        with err.status(f"{study}: writing {file.name}"):
            ct.reports.write_findings(findings, file, sample=transcripts, viewer=viewer)
        written = (
            ct.reports.write_tables(findings.tables, tables, recipe or "", raw_cells=raw_cells)
            if tables
            else []
        )
        drawn = ct.reports.write_figures(findings.charts, figures) if figures else []
        _print_result(findings, counts, file, written, drawn, json)


def _warn_if_unfinished(study: str, counts: Mapping[str, int]) -> None:
    """Warn about unfinished and failed matches, on standard error."""
    unfinished = [
        f"{counted(counts[status], 'match')} {status.value}"
        for status in (ct.records.Status.LIVE, ct.records.Status.FAILED)
        if counts.get(status)
    ]
    if unfinished:
        say(f"warning: {study} is incomplete: {', '.join(unfinished)}", to=err)


def _print_result(
    findings: ct.reports.Findings, counts: Mapping[str, int], file: Path, written: list[Path],
    drawn: list[Path], json: bool,
) -> None:  # fmt: skip
    if json:
        print_json(
            {
                "study": findings.evidence.study,
                "recipe": findings.recipe.name,
                "report": str(file.absolute()),
                "matches": counts,
                "answers": findings.answers,
                "tables": {name: table.frame.to_dicts() for name, table in findings.tables.items()},
                "lacking": findings.lacking,
                "files": [str(path.absolute()) for path in (*written, *drawn)],
            }
        )
        return
    for title, answer in findings.answers.items():
        say(f"{title}: {answer}")
    for title, why in findings.lacking.items():
        say(f"Omitted: {title}: {why}")
    if written:
        say(f"Tables written to {written[0].parent.absolute()} (CSV and LaTeX)")
    print_figures(drawn)
    say(f"Report written to {file.absolute()}")
