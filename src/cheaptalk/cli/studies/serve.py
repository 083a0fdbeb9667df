"""The ``serve`` command, which starts the web server."""

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
            help="Study file or preset with human players. Default: start the laboratory website.",
            autocompletion=completion.studies,
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Serve a demo of all games, against strategies or people."),
    ] = False,
    folder: Annotated[
        Path,
        typer.Option(
            "--data-dir", help="Keep the laboratory's data in this folder (if no STUDY is given)."
        ),
    ] = Path("laboratory"),
    store: StoreOption = DEFAULT_STORE,
    port: PortOption = 8643,
    host: Annotated[
        str,
        typer.Option(help="Listen on this address; 0.0.0.0 accepts connections from the network."),
    ] = "127.0.0.1",
    url: Annotated[
        str | None,
        typer.Option(
            "--public-url",
            help="Use the public address of a reverse proxy, e.g. https://play.example.org.",
        ),
    ] = None,
    private_models: Annotated[
        bool,
        typer.Option(
            "--allow-private-hosts",
            help="Allow model servers at private addresses, e.g. localhost, in the laboratory.",
        ),
    ] = False,
) -> None:
    """Start the web server for participants or researchers.

    If you name a study, participants play it in the browser. Otherwise, the server runs the
    laboratory: a website where researchers create, run and analyse studies.
    """
    if study is not None and demo:
        raise typer.BadParameter("not valid with --demo; remove one of them", param_hint="STUDY")

    async def main() -> None:
        with ct.web.listen(port, host) as sock:
            address = public or ct.web.own_address(sock)
            if spec is None:
                async with ct.web.open_laboratory(
                    folder, address, private_models=private_models
                ) as site:
                    say(f"Open {site.link} (stop with Ctrl-C; all data are kept)")
                    for note in site.notes:
                        say(note)
                    await ct.web.serve_app(site.app, sock, address)
                return
            prefix = "Open" if spec.people is None else "Participants join at"
            async with ct.web.open_site(spec, store, address) as site:
                say(f"{prefix} {site.link} (stop with Ctrl-C; matches resume after a restart)")
                if note := ct.web.access_note(address, host):
                    say(note)
                await ct.web.serve_app(site.app, sock, address)

    with needing("analysis"):
        spec = ct.studies.study_of(study) if study else ct.web.demo() if demo else None
        public = None if url is None else ct.web.public_address(url)
        asyncio.run(main())
