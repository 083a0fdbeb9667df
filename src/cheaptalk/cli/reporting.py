"""Commands that report studies and open them in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import DEFAULT_STORE, JsonOption, StoreOption, app, err, out, print_json

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
    sample: Annotated[
        int, typer.Option(min=0, help="Transcripts in the page for each pairing.")
    ] = 3,
    port: Port = PORT,
    json: JsonOption = False,
) -> None:
    """Write a study's report: one HTML file that works offline."""
    file = to or Path(f"{study}-report{'-as-published' if as_published else ''}.html")
    with ct.Store.open(store) as opened:
        counts = opened.study(study).counts
        with extra("analysis"):
            write = ct.reports.report
        with err.status(f"{study}: reporting"):
            write(opened, study, file, as_published=as_published, sample=sample, port=port)
    if json:
        print_json({"study": study, "report": str(file.absolute()), "matches": counts})
    else:
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
