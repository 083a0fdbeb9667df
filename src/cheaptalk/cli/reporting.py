"""Commands that report studies and open them in a browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, err, out, print_json
from cheaptalk.rules import counted

if TYPE_CHECKING:
    from cheaptalk.reports import Findings

PORT = 8642
"""Where the viewer listens and reports link to, unless told otherwise."""
Port = Annotated[int, typer.Option(min=0, max=65535, help="The viewer's port; 0 takes a free one.")]


@app.command()
def report(
    study: Annotated[str, typer.Argument(help="The name of a study in the store.")],
    store: StoreOption = DEFAULT_STORE,
    to: Annotated[
        Path | None,
        typer.Option("--out", help="The file to write.", show_default="STUDY-report.html"),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Measure as the published systems' code does."),
    ] = False,
    recipe: Annotated[
        str | None,
        typer.Option(
            "--recipe",
            help="Make the tables and figures of a paper instead; see cheaptalk recipes.",
            metavar="NAME",
        ),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option("--tables", help="Write a recipe's tables here too, as CSV and LaTeX."),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=100, help="A recipe's bootstrap and permutation draws.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    told: Annotated[
        list[str] | None,
        typer.Option("--set", help="What a recipe is told besides.", metavar="NAME=VALUE"),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="Transcripts in the page for each pairing.")
    ] = 3,
    port: Port = PORT,
    json: JsonOption = False,
) -> None:
    """Write a study's report, or a paper's tables and figures: one HTML file that works offline."""
    if tables and not recipe:
        raise typer.BadParameter("only a recipe makes tables; name one", param_hint="--recipe")
    if told and not recipe:
        raise typer.BadParameter("only a recipe has options; name one", param_hint="--recipe")
    options = _options(told or [])
    what = f"{recipe or 'report'}{'-as-published' if as_published else ''}"
    file = to or Path(f"{study}-{what}.html")
    if recipe:
        with _found(store, study, recipe, as_published, draws, seed, options) as found:
            _check_held(found)
            with err.status(f"{study}: writing {file.name}"):
                ct.reports.write_findings(found, file, sample=sample, port=port)
            written = (
                ct.reports.write_tables(found.tables, tables, found.recipe.name) if tables else []
            )
        _tell(found, file, written, json)
        return
    with ct.Store.open(store) as opened:
        counts = opened.study(study).counts
        _say_unfinished(study, counts)
        with extra("analysis"):
            write = ct.reports.report
        with err.status(f"{study}: reporting"):
            write(opened, study, file, as_published=as_published, sample=sample, port=port)
    if json:
        print_json({"study": study, "report": str(file.absolute()), "matches": counts})
    else:
        out.print(f"The report is at {file.absolute()}", markup=False)


def _say_unfinished(study: str, counts: Mapping[str, int]) -> None:
    """Warn of matches that have begun and are not finished, on standard error."""
    said = [
        f"{counted(counts[status], 'match')} {status.value}"
        for status in (ct.records.Status.LIVE, ct.records.Status.FAILED)
        if counts.get(status)
    ]
    if said:
        err.print(f"{study} is not complete: {', '.join(said)}", markup=False)


def _check_held(found: Findings) -> None:
    """See that the study holds something of the recipe.

    Raises:
        CheaptalkError: it does not; the sentence says what is missing first.
    """
    if found.empty:
        study, recipe = found.evidence.study, found.recipe.name
        first = next(iter(found.lacking.values()))
        raise ct.CheaptalkError(f"{study} holds nothing of the recipe {recipe}: {first}")


def _options(told: list[str]) -> dict[str, str]:
    """Names and values, written ``name=value``."""
    for one in told:
        if "=" not in one:
            raise typer.BadParameter(f'"{one}" is not NAME=VALUE', param_hint="--set")
    return {name: value for name, _, value in (one.partition("=") for one in told)}


@contextmanager
def _found(
    store: Path,
    study: str,
    recipe: str,
    as_published: bool,
    draws: int,
    seed: int,
    options: dict[str, str],
) -> Iterator[Findings]:
    """What a recipe makes of a study, part after part; while it is used the store is open."""
    with ct.Store.open(store) as opened:
        _say_unfinished(study, opened.study(study).counts)
        with extra("analysis"):
            find = ct.reports.findings
        with err.status(f"{study}: reading matches") as status:
            found = find(
                opened, study, recipe, as_published=as_published, draws=draws, seed=seed,
                options=options, progress=lambda part: status.update(f"{study}: {part.title}"),
            )  # fmt: skip
        yield found


def _tell(found: Findings, file: Path, written: list[Path], json: bool) -> None:
    """What was made, and what was not."""
    if json:
        print_json(
            {
                "study": found.evidence.study,
                "recipe": found.recipe.name,
                "report": str(file.absolute()),
                "tables": {name: one.frame.to_dicts() for name, one in found.tables.items()},
                "lacking": found.lacking,
                "files": [str(one.absolute()) for one in written],
            }
        )
        return
    for name, table in found.tables.items():
        out.print(f"{name}: {counted(table.frame.height, 'row')}", markup=False)
    for title, why in found.lacking.items():
        out.print(f"Left out: {title}: {why}", markup=False)
    if written:
        folder = written[0].parent.absolute()
        out.print(f"The tables are in {folder}, as CSV and LaTeX", markup=False)
    out.print(f"The report is at {file.absolute()}", markup=False)


@app.command()
def view(
    study: Annotated[str | None, typer.Argument(help="Begin with this study.")] = None,
    store: StoreOption = DEFAULT_STORE,
    port: Port = PORT,
) -> None:
    """Read all matches of a store in the browser, on this machine only."""
    with ct.Store.open(store) as opened:
        path = f"studies/{opened.study(study).name}" if study else ""
        with extra("analysis"):
            listen, serve = ct.web.listen, ct.web.serve
        with listen(port) as listening:
            host, taken = listening.getsockname()
            out.print(f"Open http://{host}:{taken}/{path} (Ctrl-C ends it)", markup=False)
            serve(opened, listening)


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Say how to install what is missing.

    Raises:
        CheaptalkError: a package of this extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ct.CheaptalkError(
            f'{error.name} is not installed; get it with: pip install "cheaptalk[{name}]"'
        ) from None
