"""The ``model mcp`` command, which connects an MCP client to a run."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.printing import err, say


def mcp(
    url: Annotated[
        str,
        typer.Argument(help="Address of the agent server, as printed by the run.", metavar="URL"),
    ],
    token: Annotated[
        str | None,
        typer.Option(
            envvar="CHEAPTALK_AGENT_TOKEN",
            show_envvar=True,
            help="Authenticate with this token, as printed by the run.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Serve streamable HTTP on this local port; 0 picks a free port.",
            show_default="standard input and output",
        ),
    ] = None,
) -> None:
    """Connect an MCP client to a run as a remote agent.

    The command starts a server of the Model Context Protocol with tools to read decision requests,
    wait, and respond. With --port, the client must send the agent's token as a bearer token.
    """
    if port is None:
        ct.adapters.serve_mcp(url, token)
        return
    with ct.loopback.listening(port) as sock:
        host, number = sock.getsockname()
        say(f"MCP server listening at http://{host}:{number}/mcp (stop with Ctrl-C)", to=err)
        ct.adapters.serve_mcp(url, token, sock)
