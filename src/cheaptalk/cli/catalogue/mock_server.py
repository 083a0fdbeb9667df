"""The ``model mock-server`` command, which starts a mock model server."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import PortOption
from cheaptalk.cli.shared.printing import say


def mock_server(
    port: PortOption = 8123,
    seed: Annotated[int, typer.Option(help="Set the random seed of the generated responses.")] = 0,
    delay: Annotated[
        float,
        typer.Option(
            min=0, metavar="SECONDS", help="Wait this long before each response, except in batches."
        ),
    ] = 0.0,
    error_rate: Annotated[
        float, typer.Option(min=0, max=1, help="Fail this fraction of calls with HTTP status 503.")
    ] = 0.0,
) -> None:
    """Start a local mock model server.

    The server needs no API key and costs nothing. It responds with legal moves of all games in
    their default prompt styles, through the APIs of OpenAI and Anthropic (including batches) and
    as a remote agent. Each response depends only on the conversation and the seed.
    """
    with ct.loopback.listening(port) as sock:
        host, number = sock.getsockname()
        say(f"Mock model: vllm/tiny@http://{host}:{number}/v1 (stop with Ctrl-C)")
        ct.mock_server.serve(sock, seed, delay, error_rate)
