"""The command that pretends to be a model server: stand-in."""

from __future__ import annotations

from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.printing import say


def stand_in(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 takes any free one.")
    ] = 8123,
    seed: Annotated[int, typer.Option(help="Another seed answers otherwise.")] = 0,
    delay: Annotated[
        float, typer.Option(min=0, help="Seconds that each answer takes, but in batches.")
    ] = 0.0,
    faults: Annotated[
        float,
        typer.Option(min=0, max=1, help="Of the calls, the share that fails with status 503."),
    ] = 0.0,
) -> None:
    """Pretend to be a model server, on this machine only: no key, no bill.

    It answers with legal moves of all games, in their usual styles and in the formats of OpenAI
    and Anthropic, batches included, and as an agent. What it says follows from the conversation
    and the seed alone.
    """
    with ct.loopback.listening(port) as there:
        host, taken = there.getsockname()
        say(f"A pretended model: vllm/tiny@http://{host}:{taken}/v1 (Ctrl-C ends it)")
        ct.stand_in.serve(there, seed, delay, faults)
