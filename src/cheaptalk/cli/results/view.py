"""The command that opens a store in the browser: view."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, PORT, PortOption, StoreOption
from cheaptalk.cli.shared.printing import say
from cheaptalk.extras import needing


def view(
    study: Annotated[
        str | None,
        typer.Argument(help="Begin with this study.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    port: PortOption = PORT,
) -> None:
    """Read all matches of a store in the browser, on this machine only."""
    with ct.Store.open(store) as opened:
        path = f"studies/{opened.study(study).name}" if study else ""
        with needing("analysis"):
            listen, serve = ct.web.listen, ct.web.serve
        with listen(port) as listening:
            host, taken = listening.getsockname()
            say(f"Open http://{host}:{taken}/{path} (Ctrl-C ends it)")
            serve(opened, listening)
