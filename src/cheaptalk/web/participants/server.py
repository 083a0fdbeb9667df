"""The server of an experiment: its participants' pages over its rooms."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from cheaptalk.calls.desk import Models
from cheaptalk.records import Store
from cheaptalk.records.people.identities import Identities
from cheaptalk.studies.study import Study
from cheaptalk.web.participants.experiment import Experiment, check_protocol
from cheaptalk.web.participants.pages import PAGE_STYLE, ParticipantPages
from cheaptalk.web.participants.people import Refused
from cheaptalk.web.participants.restoration import restore
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.rooms.addresses import ANYWHERE, Address
from cheaptalk.web.rooms.house import open_house
from cheaptalk.web.rooms.links import Links
from cheaptalk.web.rooms.server import bare_app


def identities_beside(store: str) -> Path:
    """Where the identities of a store's participants are kept: ``STORE.identities`` beside it."""
    return Path("cheaptalk.identities" if "://" in store else f"{store}.identities")


@asynccontextmanager
async def open_experiment(
    study: Study, store: Store | Path | str, identities: Path, models: Models | None = None
) -> AsyncIterator[Supervisor]:
    """The participants of a study over its store, everybody where they were.

    Args:
        store: where its matches are kept, or the store's file or URL; made where there is none.
        identities: the file of its participants' ids, made where there is none.
        models: makes the calls to models; by default over HTTP.

    Raises:
        StudyError: the study has no participants, or what they go through cannot be carried out.
        StoreError: the store is held by somebody else, or cannot be written.
    """
    check_protocol(study)
    async with open_house(study, store, models) as house:
        experiment = Experiment(house, study, Identities(identities))
        await restore(experiment)
        supervisor = Supervisor(experiment)
        minding = asyncio.create_task(supervisor.mind_at_times())
        try:
            yield supervisor
        finally:
            minding.cancel()


def make_experiment(
    supervisor: Supervisor, links: Links, address: Address = ANYWHERE, title: str = "cheaptalk"
) -> FastAPI:
    """The pages of an experiment, which may be mounted below the beginning of a site.

    Args:
        address: where people find them.
        title: what stands over all pages where the study has no title.
    """
    pages = ParticipantPages(supervisor, links, address, title)
    app = bare_app(pages, PAGE_STYLE, address, title)
    app.add_exception_handler(Refused, pages.refused)
    app.get("/")(pages.entry)
    app.post("/enter")(pages.enter)
    app.get("/gone")(pages.gone)
    app.get("/p/{token}")(pages.guest)
    app.get("/p/{token}/events")(pages.events)
    app.post("/p/{token}/answer")(pages.answer)
    app.post("/p/{token}/page")(pages.page)
    app.post("/p/{token}/{deed}")(pages.deed)
    return app
