"""The command ``study preview``, which previews a human study as a participant."""

from __future__ import annotations

import asyncio
from typing import Annotated

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import find_study
from cheaptalk.cli.shared.printing import say
from cheaptalk.extras import needing


def preview(
    study: Annotated[str, opt.Settings(autocompletion=completion.studies)],
    /,
    treatment: str = "",
    first_seat: str = "",
    seats: opt.Count = 1,
    language: str = "en",
    start: str = "",
    strategy: str = "random",
    time_limits: bool = False,
    real_models: bool = False,
    store: opt.Store = opt.DEFAULT_STORE,
    port: opt.Port = 8644,
) -> None:
    """Preview a human study as a participant; nothing is stored.

    The command prints a link for each seat that you play. Bots play the other seats. In the
    laboratory, a button opens previews, with all seats side by side.

    Args:
        study: Study file, preset or study in the store with human players.
        treatment: Start in this treatment of a design, or play this order of treatments, e.g.
            "person > model". Without a design, write the number of the table. Default: the first.
        first_seat: Play this seat in the first game, e.g. alice. Default: any.
        seats: Play N seats.
        language: Show the pages in this language.
        start: Start at this step; earlier steps are filled in. Default: the first step.
        strategy: Let the bots play this strategy in games that have it, else random legal moves.
        time_limits: Keep the study's deadlines.
        real_models: Use the study's models, which costs money, instead of a mock model.
    """
    settings = ct.web.PreviewSettings(
        " \u2192 ".join(part.strip() for part in treatment.split(">")),
        first_seat,
        seats,
        language,
        start,
        strategy,
        time_limits,
        real_models,
    )

    async def main() -> None:
        with ct.web.listen(port) as sock:
            address = ct.web.own_address(sock)
            async with ct.web.open_preview(found.study, settings, address) as opened:
                await opened.wait()
                for number, path in enumerate(opened.paths, 1):
                    which = f"seat {number} at " if seats > 1 else ""
                    say(f"Play {which}{address.url}{path}")
                say("Stop with Ctrl-C; nothing is stored")
                await ct.web.serve_app(opened.app, sock, address)

    with needing("analysis"):
        found = find_study(study, store, None, None, None, prefer_stored=True)
        asyncio.run(main())
