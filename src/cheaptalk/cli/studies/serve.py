"""The command that lets people play in the browser: serve."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
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
) -> None:
    """Let people play in the browser, or without a study open a laboratory for researchers."""
    if study is not None and demo:
        raise typer.BadParameter("name a study, or take --demo, not both", param_hint="STUDY")

    async def laboratory() -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what people gave is nobody else's
        with ct.web.listen(port, host) as there, ct.web.LaboratoryDatabase(folder) as database:
            address = public or ct.web.own_address(there)
            links = ct.web.Links(ct.web.key_beside(str(folder / "laboratory")))
            code = ct.web.set_up_code(database)
            async with ct.web.Laboratory(folder, database, links, address) as opened:
                app = ct.web.make_laboratory(opened, code)
                say(f"Open {address.url}/console (Ctrl-C ends it; all goes on next time)")
                if code:
                    say(f"Set it up with this code, which is good once: {code}")
                for name, why in opened.broken.items():
                    say(f"{name} cannot be opened: {why}")
                await ct.web.serve_app(app, there, address)

    async def main() -> None:
        wanted = ct.web.demo() if study is None else ct.studies.study_of(study)
        with ct.web.listen(port, host) as there:
            address = public or ct.web.own_address(there)
            async with AsyncExitStack() as stack:
                if wanted.people is None:
                    house = await stack.enter_async_context(ct.web.open_house(wanted, store))
                    links = ct.web.Links(ct.web.key_beside(store))
                    app = ct.web.make_rooms(house, links, address)
                    where = f"Open {address.url}/"
                else:
                    identities = ct.web.identities_beside(store)
                    supervisor = await stack.enter_async_context(
                        ct.web.open_experiment(wanted, store, identities)
                    )
                    links = ct.web.Links(ct.web.key_beside(store))
                    app = ct.web.make_experiment(supervisor, links, address, wanted.name)
                    where = f"Participants come by {address.url}{wanted.people.link}"
                say(f"{where} (Ctrl-C ends it; matches go on next time)")
                if said := ct.web.who_can_join(address, host):
                    say(said)
                await ct.web.serve_app(app, there, address)

    with needing("analysis"):
        public = None if url is None else ct.web.public_address(url)
        asyncio.run(main() if study or demo else laboratory())
