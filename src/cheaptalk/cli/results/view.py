"""The ``view`` command, which starts the web viewer."""

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
        typer.Argument(
            help="Open the page of this study.", autocompletion=completion.stored_studies
        ),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    port: PortOption = PORT,
) -> None:
    """Browse recorded matches in a local web viewer.

    The viewer accepts connections from this computer only.
    """
    with ct.Store.open(store) as opened:
        path = f"studies/{opened.study(study).name}" if study else ""
        with needing("analysis"):
            listen, serve = ct.web.listen, ct.web.serve
        with listen(port) as sock:
            host, number = sock.getsockname()
            say(f"Open http://{host}:{number}/{path} (stop with Ctrl-C)")
            serve(opened, sock)
