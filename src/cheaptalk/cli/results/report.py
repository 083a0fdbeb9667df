"""The ``report`` command, which writes a study's report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, TablesOption, print_figures
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.options import (
    CPUS,
    DEFAULT_STORE,
    VIEWER,
    DrawSeedOption,
    JsonOption,
    PublishedOption,
    RawCellsOption,
    StoredArgument,
    StoreOption,
    ViewerOption,
    WorkersOption,
    page_to_write,
    pair,
)
from cheaptalk.cli.shared.printing import err, print_json, say, warn_about_names
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
            help="Write the report to this HTML file.",
            show_default="STUDY-report.html",
            callback=page_to_write,
        ),
    ] = None,
    as_published: PublishedOption = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="Write a paper's tables and figures instead of the report; cheaptalk study "
            "recipes lists the recipes.",
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
    workers: WorkersOption = CPUS,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Write a study's report as one HTML file.

    The HTML file is self-contained and works offline.
    """
    if settings and not recipe:
        raise typer.BadParameter("requires --recipe", param_hint="--recipe-option")
    pairs = [pair(text, "NAME=VALUE", "--recipe-option", empty=True) for text in settings or ()]
    suffix = f"{recipe or 'report'}{'-as-published' if as_published else ''}"
    file = to or Path(f"{study}-{suffix}.html")
    with ct.Store.open(store) as opened:
        counts = opened.study(study).counts
        _warn_if_unfinished(study, counts)
        warn_about_names(opened, study)
        with needing("analysis"):
            chosen = recipe or ct.reports.study_recipe(opened, study)
        with err.status(f"{study}: reading matches") as status:
            findings = ct.reports.findings(
                opened, study, chosen, as_published=as_published, draws=draws, seed=seed,
                options=dict(pairs), workers=workers,
                progress=lambda part: status.update(f"{study}: {part.title}"),
            )  # fmt: skip
        if recipe and findings.empty:
            first = next(iter(findings.lacking.values()))
            raise ct.CheaptalkError(f"{study} has no data for the recipe {recipe}: {first}")
        with err.status(f"{study}: writing {file.name}"):
            ct.reports.write_findings(findings, file, sample=transcripts, viewer=viewer)
        written = []
        if tables:
            written = ct.reports.write_tables(
                findings.tables, tables, recipe or "", raw_cells=raw_cells
            )
        drawn = ct.reports.write_figures(findings.charts, figures) if figures else []
        _print_result(findings, counts, file, written, drawn, json)


def _warn_if_unfinished(study: str, counts: Mapping[str, int]) -> None:
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
