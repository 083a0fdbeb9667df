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
    host: Annotated[
        str, typer.Option(help="Where to listen; 0.0.0.0 lets in everybody in this network.")
    ] = "127.0.0.1",
    url: Annotated[
        str | None,
        typer.Option(
            help="The public address, such as https://play.example.org, of a proxy on this machine."
        ),
    ] = None,
) -> None:
    """Let people play in the browser: against models and scripts, and with one another."""
    if (study is None) != demo:
        raise typer.BadParameter("name a study, or take --demo", param_hint="STUDY")
    with needing("analysis"):
        public = None if url is None else ct.web.public_address(url)

    async def main() -> None:
        with ct.web.listen(port, host) as there:
            address = public or ct.web.own_address(there)
            async with ct.web.open_house(study or ct.web.demo(), store) as house:
                links = ct.web.Links(ct.web.key_beside(store))
                say(f"Open {address.url}/ (Ctrl-C ends it; matches go on next time)")
                if said := ct.web.who_can_join(address, host):
                    say(said)
                await ct.web.serve_rooms(house, links, there, address)

    asyncio.run(main())
