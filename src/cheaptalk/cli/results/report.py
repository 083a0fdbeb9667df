"""The commands ``report``, ``compare`` and ``leaderboard``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.interrupts import finishing
from cheaptalk.cli.shared.lookup import ReportedStudy, pooled
from cheaptalk.cli.shared.printing import StatusLine, err, hint, print_json, say, warn_about_names
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.extras import needing

TablesFolder = Annotated[
    opt.NewFolder | None, opt.Settings(help="Write tables (CSV and LaTeX) to this folder.")
]
FiguresFolder = Annotated[
    opt.NewFolder | None, opt.Settings(help="Write charts (SVG and PDF) to this folder.")
]
RecipeOptions = Annotated[
    list[opt.Setting] | None,
    opt.Settings(
        flags=("--recipe-option",),
        help="Set an option of the recipe; cheaptalk study recipes --json lists them. Repeatable.",
    ),
]


@dataclass(frozen=True)
class Outputs:
    """Where an analysis writes its page, tables and charts.

    Attributes:
        out: Write an HTML page with tables and charts to this file.
    """

    out: opt.NewPage | None = None
    tables: TablesFolder = None
    figures: FiguresFolder = None
    raw_cells: opt.RawCells = False
    viewer: opt.Viewer = opt.VIEWER
    json: opt.Json = False

    def write(
        self, findings: ct.reports.Findings, shown: Mapping[str, ct.reports.ReportTable]
    ) -> None:
        """Print tables and write the requested files; exit with status 1 if there are no tables."""
        if self.out and shown:
            ct.reports.write_findings(findings, self.out, viewer=self.viewer)
        written = []
        if self.tables and shown:
            written = ct.reports.write_tables(
                findings.tables, self.tables, findings.recipe.name, raw_cells=self.raw_cells
            )
        drawn = []
        if self.figures and shown:
            drawn = ct.reports.write_figures(findings.charts, self.figures)
        if self.json:
            rows = {name: table.frame.to_dicts() for name, table in shown.items()}
            print_json({"answers": findings.answers, "tables": rows, "lacking": findings.lacking})
        else:
            _print_all(findings, shown)
            if written:
                say(f"Tables written to {written[0].parent.absolute()}")
            _print_figures(drawn)
            if self.out and shown:
                say(f"Page written to {self.out.absolute()}")
        if not shown:
            raise typer.Exit(1)


@finishing()
def report(
    studies: Annotated[list[opt.StoredStudy], opt.Settings(metavar="STUDY...")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    add_store: list[str] | None = None,
    out: Annotated[opt.NewPage | None, opt.Settings(show_default="STUDY-report.html")] = None,
    as_published: opt.Published = False,
    recipe: Annotated[opt.Name | None, opt.Settings(autocompletion=completion.recipes)] = None,
    tables: TablesFolder = None,
    figures: FiguresFolder = None,
    raw_cells: opt.RawCells = False,
    draws: Annotated[int, opt.Settings(min=100, metavar="N")] = 1000,
    seed: opt.DrawSeed = 0,
    recipe_option: RecipeOptions = None,
    transcripts: opt.CountFromZero = 3,
    workers: opt.Workers = opt.CPUS,
    viewer: opt.Viewer = opt.VIEWER,
    json: opt.Json = False,
) -> None:
    """Write a study's report as one HTML file.

    The HTML file is self-contained and works offline. Several studies are reported as one, for
    example to compare people, models and scripts that played in different studies.

    Args:
        studies: Names of one or more studies.
        add_store: Also look for the studies in this store. Repeatable.
        out: Write the report to this HTML file.
        recipe: Write a paper's tables and figures instead of the report; cheaptalk study
            recipes lists the recipes.
        draws: With --recipe: use N bootstrap or permutation draws.
        transcripts: Include N transcripts per pairing, at most 50 per game.
    """
    if recipe_option and not recipe:
        raise typer.BadParameter("requires --recipe", param_hint="--recipe-option")
    chosen = recipe_options(recipe, {}, recipe_option) if recipe else {}
    suffix = f"{recipe or 'report'}{'-as-published' if as_published else ''}"
    with pooled(studies, [store, *(add_store or ())]) as study:
        write_report(
            study,
            out or Path(f"{study.name}-{suffix}.html"),
            Outputs(out, tables, figures, raw_cells, viewer, json),
            recipe=recipe,
            as_published=as_published,
            draws=draws,
            seed=seed,
            options=chosen,
            transcripts=transcripts,
            workers=workers,
        )


def recipe_options(
    recipe: str, defaults: Mapping[str, str], entered: Sequence[str] | None
) -> dict[str, str]:
    """Return the options of a recipe, of which some are entered on the command line.

    Raises:
        CheaptalkError: the recipe doesn't exist, or has no option of this name.
    """
    pairs = [opt.pair(text, "NAME=VALUE", "--recipe-option", empty=True) for text in entered or ()]
    if pairs:
        ct.reports.check_options(recipe, dict(pairs))
    return {**defaults, **dict(pairs)}


def write_report(
    reported: ReportedStudy,
    file: Path,
    outputs: Outputs,
    *,
    recipe: str | None,
    draws: int,
    seed: int,
    options: Mapping[str, str],
    workers: int,
    as_published: bool = False,
    transcripts: int = 3,
) -> ct.reports.Findings:
    """Write a report's page, tables and charts, and print its answers."""
    store, study, command = reported
    counts = store.study(study).counts
    _warn_if_unfinished(study, counts)
    warn_about_names(store, study)
    with needing("analysis"):
        chosen = recipe or ct.reports.study_recipe(store, study)
    with StatusLine().shown(f"{study}: reading matches") as show:
        findings = ct.reports.findings(
            store,
            study,
            chosen,
            as_published=as_published,
            draws=draws,
            seed=seed,
            options=options,
            workers=workers,
            progress=lambda details: show(f"{study}: {details}"),
        )
    if recipe and findings.empty:
        first = next(iter(findings.lacking.values()))
        raise ct.CheaptalkError(f"{study} has no data for the recipe {recipe}: {first}")
    with err.status(f"{study}: writing {file.name}"):
        ct.reports.write_findings(
            findings, file, sample=transcripts, viewer=outputs.viewer, command=command
        )
    written = []
    if outputs.tables:
        written = ct.reports.write_tables(
            findings.tables, outputs.tables, recipe or "", raw_cells=outputs.raw_cells
        )
    drawn = ct.reports.write_figures(findings.charts, outputs.figures) if outputs.figures else []
    _print_result(findings, counts, file, written, drawn, outputs.json)
    return findings


def _warn_if_unfinished(study: str, counts: Mapping[str, int]) -> None:
    unfinished = [
        f"{counted(counts[status], 'match')} {status.value}"
        for status in (ct.records.Status.LIVE, ct.records.Status.FAILED)
        if counts.get(status)
    ]
    if unfinished:
        say(f"warning: {study} is incomplete: {', '.join(unfinished)}", to=err)


def _print_result(
    findings: ct.reports.Findings,
    counts: Mapping[str, int],
    file: Path,
    written: list[Path],
    drawn: list[Path],
    json: bool,
) -> None:
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
    for why, parts in findings.omitted.items():
        say(f"Missing: {', '.join(part.name for part in parts)}: {why}")
    if written:
        say(f"Tables written to {written[0].parent.absolute()} (CSV and LaTeX)")
    _print_figures(drawn)
    say(f"Report written to {file.absolute()}")


@finishing()
def compare(
    study: Annotated[opt.StoredStudy, opt.Settings(metavar="A")],
    other: Annotated[opt.StoredStudy, opt.Settings(metavar="B")],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    other_store: Path | None = None,
    alias: Annotated[list[str] | None, opt.Settings(metavar="ALIAS=NAME")] = None,
    as_published: opt.Published = False,
    *,
    outputs: Outputs,
) -> None:
    """Compare two studies on their common instances.

    The command reports the difference B - A of each player's metrics with confidence intervals.
    Matches on an instance that both studies contain are compared as pairs.

    Args:
        study: Name of the first study.
        other: Name of the second study.
        other_store: Read the second study (B) from this store instead of --store.
        alias: Treat the player ALIAS of study B as the player NAME of study A. Repeatable.
    """
    renamed = dict(opt.pair(text, "ALIAS=NAME", "--alias") for text in alias or ())
    with (
        ct.Store.open(store) as first,
        ct.Store.open(other_store) if other_store else nullcontext(first) as second,
        needing("analysis"),
    ):
        for opened, name in ((first, study), (second, other)):
            opened.study(name, counted=False)
        with err.status(f"comparing {study} with {other}"):
            findings = ct.reports.compare(
                first, study, other, other_store=second, renamed=renamed, as_published=as_published
            )
        tables_ = findings.tables.items()
        changes = {name: table for name, table in tables_ if name.startswith("compare-")}
        outputs.write(findings, changes)


@finishing()
def leaderboard(
    studies: list[opt.StoredStudy],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    game: Annotated[list[opt.GameName] | None, opt.Settings(metavar="NAME")] = None,
    newcomer: list[opt.Label] | None = None,
    draws: Annotated[int, opt.Settings(min=100, metavar="N")] = 1000,
    seed: opt.DrawSeed = 0,
    *,
    outputs: Outputs,
) -> None:
    """Rank players across studies, with rank intervals.

    Args:
        studies: Names of one or more studies in the store.
        game: Rank players by matches of this game only. Repeatable.
        newcomer: Also report ranks without this player. Repeatable.
        draws: Use N bootstrap draws.
    """
    with ct.Store.open(store) as opened, needing("analysis"):
        for name in studies:
            opened.study(name, counted=False)
        with err.status(f"ranking the players of {', '.join(studies)}"):
            findings = ct.reports.leaderboard(
                opened, studies, games=game or (), new=newcomer or (), draws=draws, seed=seed
            )
        outputs.write(findings, findings.tables)


def _print_all(findings: ct.reports.Findings, shown: Mapping[str, ct.reports.ReportTable]) -> None:
    for title, answer in findings.answers.items():
        say(f"{title}: {answer}\n")
    for table in shown.values():
        say(f"{table}\n", wrap=False)
        for note in table.remarks:
            say(note)
    for title, why in findings.lacking.items():
        say(f"{title}: {why}")


def _print_figures(drawn: list[Path]) -> None:
    """Print the folder of the charts, and how to add PDF files if there are none."""
    if not drawn:
        return
    formats = dict.fromkeys(path.suffix.removeprefix(".").upper() for path in drawn)
    say(f"Charts written to {drawn[0].parent.absolute()} ({' and '.join(formats)})")
    if "PDF" not in formats:
        hint('to also write PDF files, run: pip install "cheaptalk[figures]"')
