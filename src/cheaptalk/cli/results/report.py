"""The command that writes a study's report, or a paper's tables and figures: report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.results.outputs import FiguresOption, say_figures
from cheaptalk.cli.shared import completion
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
    folder_to_write,
    page_to_write,
    pair,
)
from cheaptalk.cli.shared.outside import finishing
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
            help="The file to write.",
            show_default="STUDY-report.html",
            callback=page_to_write,
        ),
    ] = None,
    as_published: PublishedOption = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="Make the tables and figures of a paper instead; see cheaptalk recipes.",
            autocompletion=completion.recipes,
            metavar="NAME",
        ),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables",
            help="Write the tables here too, as CSV and LaTeX.",
            callback=folder_to_write,
        ),
    ] = None,
    figures: FiguresOption = None,
    raw_cells: RawCellsOption = False,
    draws: Annotated[
        int, typer.Option(min=100, help="A recipe's bootstrap and permutation draws.")
    ] = 1000,
    seed: DrawSeedOption = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="What a recipe is told besides.", metavar="NAME=VALUE"),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="Transcripts in the page for each pairing.")
    ] = 3,
    workers: Annotated[
        int,
        typer.Option(
            min=1, help="Processes that read large studies for a recipe.", show_default="one a core"
        ),
    ] = os.cpu_count() or 1,
    viewer: ViewerOption = VIEWER,
    json: JsonOption = False,
) -> None:
    """Write a study's report, or a paper's tables and figures: one HTML file that works offline."""
    if settings and not recipe:
        raise typer.BadParameter("only a recipe has options; name one", param_hint="--recipe")
    options = dict(pair(one, "NAME=VALUE", "--set", empty=True) for one in settings or ())
    what = f"{recipe or 'report'}{'-as-published' if as_published else ''}"
    file = to or Path(f"{study}-{what}.html")
    with ct.Store.open(store) as opened:
        counts = opened.study(study).counts
        _say_unfinished(study, counts)
        if ct.records.imports.holds_names(opened, study):
            say(f"{study}: {ct.records.imports.NAMED}", to=err)
        with needing("analysis"):
            chosen = recipe or ct.reports.study_recipe(opened, study)
        with err.status(f"{study}: reading matches") as status:
            found = ct.reports.findings(
                opened, study, chosen, as_published=as_published, draws=draws, seed=seed,
                options=options, workers=workers,
                progress=lambda part: status.update(f"{study}: {part.title}"),
            )  # fmt: skip
        if recipe and found.empty:
            first = next(iter(found.lacking.values()))
            raise ct.CheaptalkError(f"{study} holds nothing of the recipe {recipe}: {first}")
        with err.status(f"{study}: writing {file.name}"):
            ct.reports.write_findings(found, file, sample=sample, viewer=viewer)
        written = (
            ct.reports.write_tables(found.tables, tables, recipe or "", raw_cells=raw_cells)
            if tables
            else []
        )
        drawn = ct.reports.write_figures(found.charts, figures) if figures else []
        _tell(found, counts, file, written, drawn, json)


def _say_unfinished(study: str, counts: Mapping[str, int]) -> None:
    """Warn of matches that have begun and are not finished, on standard error."""
    said = [
        f"{counted(counts[status], 'match')} {status.value}"
        for status in (ct.records.Status.LIVE, ct.records.Status.FAILED)
        if counts.get(status)
    ]
    if said:
        say(f"{study} is not complete: {', '.join(said)}", to=err)


def _tell(
    found: ct.reports.Findings, counts: Mapping[str, int], file: Path, written: list[Path],
    drawn: list[Path], json: bool,
) -> None:  # fmt: skip
    if json:
        print_json(
            {
                "study": found.evidence.study,
                "recipe": found.recipe.name,
                "report": str(file.absolute()),
                "matches": counts,
                "answers": found.answers,
                "tables": {name: one.frame.to_dicts() for name, one in found.tables.items()},
                "lacking": found.lacking,
                "files": [str(one.absolute()) for one in (*written, *drawn)],
            }
        )
        return
    for title, answer in found.answers.items():
        say(f"{title}: {answer}")
    for title, why in found.lacking.items():
        say(f"Left out: {title}: {why}")
    if written:
        folder = written[0].parent.absolute()
        say(f"The tables are in {folder}, as CSV and LaTeX")
    say_figures(drawn)
    say(f"The report is at {file.absolute()}")
