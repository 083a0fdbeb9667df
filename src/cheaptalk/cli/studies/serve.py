"""The command that lets people play in the browser: serve."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.extras import needing
from cheaptalk.cli.shared.options import DEFAULT_STORE, PortOption, StoreOption
from cheaptalk.cli.shared.printing import say


def serve(
    study: Annotated[
        str | None,
        typer.Argument(
            help="A study file or preset with players who are people in the browser.",
            autocompletion=completion.studies,
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="All games, against scripts and with one another.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    port: PortOption = 8643,
) -> None:
    """Let people play in the browser: against models and scripts, and with one another."""
    if (study is None) != demo:
        raise typer.BadParameter("name a study, or take --demo", param_hint="STUDY")
    with needing("analysis"):
        listen, serve_rooms = ct.web.listen, ct.web.serve_rooms

    async def main() -> None:
        with listen(port) as there:
            async with ct.web.open_house(study or ct.web.demo(), store) as house:
                links = ct.web.Links(ct.web.key_beside(store))
                host, taken = there.getsockname()
                say(f"Open http://{host}:{taken}/ (Ctrl-C ends it; matches go on next time)")
                await serve_rooms(house, links, there)

    asyncio.run(main())
