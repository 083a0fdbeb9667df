"""The web server of an experiment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from cheaptalk.calls.dispatcher import Models
from cheaptalk.records import Store
from cheaptalk.records.people.identities import Identities
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.studies.presets import StudySource, study_of
from cheaptalk.web.headers import page_headers
from cheaptalk.web.participants.admission.mturk import allowing_mturk
from cheaptalk.web.participants.experiment import Experiment
from cheaptalk.web.participants.pages import ParticipantPages
from cheaptalk.web.participants.people import Refused, check_protocol
from cheaptalk.web.participants.restoration import restore
from cheaptalk.web.participants.supervisor import Supervisor
from cheaptalk.web.rooms.addresses import ANYWHERE, Address
from cheaptalk.web.rooms.links import Links
from cheaptalk.web.rooms.room_manager import open_room_manager
from cheaptalk.web.rooms.server import bare_app


def identities_path(store: StoreLike) -> Path:
    """Return the path of the file that links a store's participants to their platform IDs."""
    store = store.name if isinstance(store, Store) else str(store)
    return Path("cheaptalk.identities" if "://" in store else f"{store}.identities")


@asynccontextmanager
async def open_experiment(
    study: StudySource, store: StoreLike, identities: Path | str, models: Models | None = None
) -> AsyncIterator[Supervisor]:
    """Open a study to participants, and resume its unfinished matches.

    The file of platform IDs is created if it does not exist.

    Raises:
        StudyError: the study has no participants, or its protocol cannot be carried out.
        StoreError: the store is in use or cannot be written.
    """
    study = study_of(study)
    check_protocol(study)
    async with open_room_manager(study, store, models) as room_manager:
        experiment = Experiment(room_manager, study, Identities(Path(identities)))
        await restore(experiment)
        supervisor = Supervisor(experiment)
        checking = asyncio.create_task(supervisor.run())
        try:
            yield supervisor
        finally:
            checking.cancel()


def make_experiment(
    supervisor: Supervisor, links: Links, address: Address = ANYWHERE, title: str = "cheaptalk"
) -> FastAPI:
    """Return an experiment's pages as a web application that can be mounted below a path.

    ``title`` is the title of the pages if the study has none.
    """
    return experiment_app(ParticipantPages(supervisor, links, address, title))


def experiment_app(pages: ParticipantPages) -> FastAPI:
    """Return the web application of participants' pages."""
    headers = None
    if pages.protocol.recruitment.source == "mturk" and not pages.preview:
        headers = allowing_mturk(page_headers(pages.style))
    app = bare_app(pages, pages.address, pages.title, headers)
    app.add_exception_handler(Refused, pages.refused)
    app.get("/")(pages.entry)
    app.post("/enter")(pages.enter)
    app.get("/gone")(pages.gone)
    app.get("/images/{name}")(pages.image)
    app.get("/p/{token}")(pages.visitor)
    app.get("/p/{token}/events")(pages.events)
    app.post("/p/{token}/answer")(pages.answer)
    app.post("/p/{token}/page")(pages.page)
    app.post("/p/{token}/focus")(pages.focus)
    app.post("/p/{token}/{deed}")(pages.deed)
    return app
