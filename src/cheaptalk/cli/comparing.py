"""Commands that compare studies and rank players over them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, err, out, print_json
from cheaptalk.cli.reporting import PORT, Port, extra

if TYPE_CHECKING:
    from cheaptalk.reports import Findings, ReportTable

PageOption = Annotated[
    Path | None, typer.Option("--out", help="Write a page with tables and charts, as HTML.")
]
TablesOption = Annotated[
    Path | None, typer.Option("--tables", help="Write the tables, as CSV and LaTeX.")
]


@app.command()
def compare(
    study: Annotated[str, typer.Argument(help="The name of a study.", metavar="A")],
    other: Annotated[str, typer.Argument(help="The study to compare with it.", metavar="B")],
    store: StoreOption = DEFAULT_STORE,
    other_store: Annotated[
        Path | None, typer.Option("--other-store", help="Where B is, if it is not in --store.")
    ] = None,
    stands: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            help="A player of B to be compared with a player of A of another name. Repeat it.",
            metavar="NEW=OLD",
        ),
    ] = None,
    to: PageOption = None,
    tables: TablesOption = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Measure as the published systems' code does."),
    ] = False,
    port: Port = PORT,
    json: JsonOption = False,
) -> None:
    """Compare two studies, match by match where they share deals: B less A, with intervals."""
    renamed = dict(map(_pair, stands or ()))
    with (
        ct.Store.open(store) as first,
        ct.Store.open(other_store) if other_store else nullcontext(first) as second,
        extra("analysis"),
    ):
        for where, name in ((first, study), (second, other)):
            where.study(name, counted=False)
        with err.status(f"comparing {study} with {other}"):
            found = ct.reports.compare(
                first, study, other, other_store=second, renamed=renamed, as_published=as_published
            )
        changed = {name: one for name, one in found.tables.items() if name.startswith("compare-")}
        _hand_over(found, changed, to, tables, port, json)


def _hand_over(
    found: Findings,
    shown: Mapping[str, ReportTable],
    to: Path | None,
    tables: Path | None,
    port: int,
    json: bool,
) -> None:
    """Print tables and write what is to be written; fail where there is none."""
    if to and shown:
        ct.reports.write_findings(found, to, port=port)
    written = (
        ct.reports.write_tables(found.tables, tables, found.recipe.name) if tables and shown else []
    )
    if json:
        told = {name: one.frame.to_dicts() for name, one in shown.items()}
        print_json({"tables": told, "lacking": found.lacking})
    else:
        for table in shown.values():
            typer.echo(f"{table}\n")
            for note in table.notes:
                out.print(note, markup=False)
        for title, why in found.lacking.items():
            out.print(f"{title}: {why}", markup=False)
        if written:
            out.print(f"The tables are in {written[0].parent.absolute()}", markup=False)
        if to and shown:
            out.print(f"The page is at {to.absolute()}", markup=False)
    if not shown:
        raise typer.Exit(1)


def _pair(text: str) -> tuple[str, str]:
    new, found, old = text.partition("=")
    if not (new and found and old):
        raise typer.BadParameter(f'"{text}" is not NEW=OLD', param_hint="--as")
    return new, old


@app.command()
def leaderboard(
    studies: Annotated[list[str], typer.Argument(help="Names of studies, one or several.")],
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None, typer.Option("--game", help="Only this game. Repeat it.")
    ] = None,
    new: Annotated[
        list[str] | None,
        typer.Option(
            "--new",
            help="A player who joined: give ranks without it too. Repeat it.",
            metavar="LABEL",
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=100, help="Bootstrap draws.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    to: PageOption = None,
    tables: TablesOption = None,
    port: Port = PORT,
    json: JsonOption = False,
) -> None:
    """Rank players over all games of some studies, with ranges of their ranks."""
    with ct.Store.open(store) as opened, extra("analysis"):
        for name in studies:
            opened.study(name, counted=False)
        with err.status(f"ranking the players of {', '.join(studies)}"):
            found = ct.reports.leaderboard(
                opened, studies, games=game or (), new=new or (), draws=draws, seed=seed
            )
        _hand_over(found, found.tables, to, tables, port, json)
