"""The command that lets people play in the browser: serve."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, PortOption, StoreOption
from cheaptalk.cli.shared.printing import say
from cheaptalk.extras import needing


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
    folder: Annotated[
        Path, typer.Option(help="Of the laboratory that is opened where no study is named.")
    ] = Path("laboratory"),
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
    private_models: Annotated[
        bool,
        typer.Option(
            "--private-models",
            help="Let a laboratory's models be at private addresses, such as this machine's own.",
        ),
    ] = False,
) -> None:
    """Let people play in the browser, or without a study open a laboratory for researchers."""
    if study is not None and demo:
        raise typer.BadParameter("name a study, or take --demo, not both", param_hint="STUDY")

    async def main() -> None:
        with ct.web.listen(port, host) as there:
            address = public or ct.web.own_address(there)
            if study is None and not demo:
                async with ct.web.open_laboratory(
                    folder, address, private_models=private_models
                ) as site:
                    say(f"Open {site.link} (Ctrl-C ends it; all goes on next time)")
                    for note in site.notes:
                        say(note)
                    await ct.web.serve_app(site.app, there, address)
                return
            wanted = ct.web.demo() if study is None else ct.studies.study_of(study)
            begin = "Open" if wanted.people is None else "Participants come by"
            async with ct.web.open_site(wanted, store, address) as site:
                say(f"{begin} {site.link} (Ctrl-C ends it; matches go on next time)")
                if said := ct.web.who_can_join(address, host):
                    say(said)
                await ct.web.serve_app(site.app, there, address)

    with needing("analysis"):
        public = None if url is None else ct.web.public_address(url)
        asyncio.run(main())
