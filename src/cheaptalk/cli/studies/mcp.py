"""The command that lets a client of the Model Context Protocol sit down: mcp."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.printing import err, say


def mcp(
    url: Annotated[
        str,
        typer.Argument(
            help="Where the guest looks and answers, as the run shows it.", metavar="URL"
        ),
    ],
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CHEAPTALK_GUEST_TOKEN", show_envvar=True, help="The token that the run shows."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Serve by streamable HTTP at this port of this machine; 0 takes any free one.",
            show_default="standard input and output",
        ),
    ] = None,
) -> None:
    """Let a client of the Model Context Protocol play as a guest of a run.

    Its model finds tools to look what it is asked, to wait, and to answer. By HTTP, the client
    sends the guest's token as a bearer token, too.
    """
    if port is None:
        ct.adapters.serve_mcp(url, token)
        return
    with ct.loopback.listening(port) as there:
        host, taken = there.getsockname()
        say(f"The table is at http://{host}:{taken}/mcp (Ctrl-C ends it)", to=err)
        ct.adapters.serve_mcp(url, token, there)
