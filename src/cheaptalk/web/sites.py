"""What ``cheaptalk serve`` serves, as web applications to be served, or mounted, by others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from fastapi import FastAPI

from cheaptalk.models.http.reach import public_models_only
from cheaptalk.studies import Study, study_of
from cheaptalk.web.console.server import make_laboratory, set_up_code
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.participants.server import identities_beside, make_experiment, open_experiment
from cheaptalk.web.rooms.addresses import Address
from cheaptalk.web.rooms.house import open_house
from cheaptalk.web.rooms.links import Links, key_beside
from cheaptalk.web.rooms.server import make_rooms


class Site(NamedTuple):
    """A web application.

    Attributes:
        app: to be served, as :func:`serve_app` does.
        link: where people begin.
        notes: what whoever looks after it is to know, a sentence each.
    """

    app: FastAPI
    link: str
    notes: tuple[str, ...] = ()


@asynccontextmanager
async def open_site(
    study: Study | Path | str, store: Path | str, address: Address
) -> AsyncIterator[Site]:
    """The rooms of a study, or its experiment where it says what participants go through.

    Matches under way go on where they were.

    Args:
        study: the study, its file or a preset's name.
        store: the file or URL of its store, made where there is none; its links' key, and the ids
            of participants, lie beside it.
        address: where people find it, such as :func:`own_address` of a socket.

    Raises:
        StudyError: the study has no people, or cannot be laid out.
        StoreError: the store is held by somebody else, or cannot be written.
    """
    wanted, place = study_of(study), str(store)
    links = Links(key_beside(place))
    if wanted.people is None:
        async with open_house(wanted, store) as house:
            yield Site(make_rooms(house, links, address), f"{address.url}/")
    else:
        async with open_experiment(wanted, store, identities_beside(place)) as supervisor:
            app = make_experiment(supervisor, links, address, wanted.name)
            yield Site(app, f"{address.url}{wanted.people.link}")


@asynccontextmanager
async def open_laboratory(
    folder: Path, address: Address, *, private_models: bool = False
) -> AsyncIterator[Site]:
    """A laboratory for researchers: its studies, accounts and runs.

    Args:
        folder: where all of it is, made where there is none, for nobody else to read.
        address: where people find it.
        private_models: whether models that researchers enter may be at private addresses, such as
            this machine's own. By default calls reach only public ones.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # what people gave is nobody else's
    reach = nullcontext() if private_models else public_models_only()
    with reach, LaboratoryDatabase(folder) as database:
        links = Links(key_beside(str(folder / "laboratory")))
        code = set_up_code(database)
        async with Laboratory(folder, database, links, address) as opened:
            set_up = (f"Set it up with this code, which is good once: {code}",) if code else ()
            broken = (f"{name} cannot be opened: {why}" for name, why in opened.broken.items())
            app = make_laboratory(opened, code)
            yield Site(app, f"{address.url}/console", (*set_up, *broken))
