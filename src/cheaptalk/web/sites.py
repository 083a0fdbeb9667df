"""The web applications of ``cheaptalk serve``, which other ASGI applications can mount."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI

from cheaptalk.models.http.reach import public_models_only
from cheaptalk.records.store.lookup import StoreLike
from cheaptalk.studies import study_of
from cheaptalk.studies.presets import StudySource
from cheaptalk.web.console.server import make_laboratory, set_up_code
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.participants.server import identities_path, make_experiment, open_experiment
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.links import Links, load_link_key
from cheaptalk.web.rooms.room_manager import open_room_manager
from cheaptalk.web.rooms.server import make_rooms


class Site(NamedTuple):
    """A web application with the URL of its start page.

    Attributes:
        app: the ASGI application, for example for :func:`serve_app`.
        link: the URL of the start page.
        notes: sentences to show to the operator.
    """

    app: FastAPI
    link: str
    notes: tuple[str, ...] = ()


@asynccontextmanager
async def open_site(study: StudySource, store: StoreLike, address: Address) -> AsyncIterator[Site]:
    """Open the rooms of a study, or its experiment if the study has a ``people`` section.

    Interrupted matches resume.

    Args:
        study: a study, a study file, or the name of a preset.
        store: the store, its file or its URL, created if missing. The link key and the
            participants' IDs are stored next to the store.
        address: the public address, for example :func:`own_address` of a socket.

    Raises:
        StudyError: the study has no people, or cannot be planned.
        StoreError: the store is locked by another process, or is not writable.
    """
    served = study_of(study)
    links = Links(load_link_key(store))
    if served.people is None:
        async with open_room_manager(served, store) as room_manager:
            yield Site(make_rooms(room_manager, links, address), f"{address.url}/")
    else:
        async with open_experiment(served, store, identities_path(store)) as supervisor:
            app = make_experiment(supervisor, links, address, served.name)
            yield Site(app, f"{address.url}{served.people.link}")


@asynccontextmanager
async def open_laboratory(
    folder: Path | str, address: Address, *, private_models: bool = False
) -> AsyncIterator[Site]:
    """Open a laboratory for researchers, with its studies, accounts and runs.

    Args:
        folder: the data directory, created if missing, readable only by the current user.
        private_models: whether researchers' models may have private addresses, such as this
            machine's own. By default, calls reach only public addresses.
    """
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # personal data
    reach = nullcontext() if private_models else public_models_only()
    with reach, LaboratoryDatabase(folder) as database:
        links = Links(load_link_key(str(folder / "laboratory")))
        code = set_up_code(database)
        async with Laboratory(folder, database, links, address) as laboratory:
            notes = [f"{name} cannot be opened: {why}" for name, why in laboratory.broken.items()]
            if code:
                notes.insert(0, f"Set up the laboratory with this one-time code: {code}")
            app = make_laboratory(laboratory, code)
            yield Site(app, f"{address.url}/console", tuple(notes))
