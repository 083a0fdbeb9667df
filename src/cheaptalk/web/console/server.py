"""The laboratory's website: the researchers' console and each study's participant pages."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from argon2 import PasswordHasher
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, RedirectResponse, Response
from sqlalchemy.exc import OperationalError
from starlette.types import ASGIApp, Receive, Scope, Send

from cheaptalk.records import Damage, StoreError
from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.status import StudyStatus
from cheaptalk.web.console.account_pages import add_account_pages
from cheaptalk.web.console.accounts import Accounts, new_code
from cheaptalk.web.console.authentication import (
    STYLE,
    Authentication,
    LoginRequired,
    PasswordChangeRequired,
    Visit,
)
from cheaptalk.web.console.designs.study_editor import StudyEditor
from cheaptalk.web.console.errors import sentence, status_of
from cheaptalk.web.console.participant_pages import ParticipantPages
from cheaptalk.web.console.pay_pages import PayPages
from cheaptalk.web.console.run_pages import StudyRunPages
from cheaptalk.web.console.study_pages import ReadStanding, RemoveData, StudyPages
from cheaptalk.web.headers import HeadersMiddleware, page_headers
from cheaptalk.web.laboratory.damage import Damages
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.rooms.addresses import ANYWHERE, Address

CONSOLE = "/console"
STUDIES = "/s"


def make_site(laboratory: Laboratory, console: ASGIApp) -> FastAPI:
    """Return the laboratory's website: console at ``/console``, studies at ``/s/NAME``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)

    async def start() -> Response:
        return RedirectResponse(f"{CONSOLE}/", 303)

    app.get("/")(start)
    app.get(CONSOLE)(start)
    app.mount(CONSOLE, console)
    app.mount(STUDIES, _Studies(laboratory))
    return app


class _Studies:
    """ASGI application that forwards requests to the pages of open studies."""

    def __init__(self, laboratory: Laboratory) -> None:
        self.laboratory = laboratory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        name, slash, _ = scope["path"].removeprefix(root).lstrip("/").partition("/")
        opened = self.laboratory.open.get(name)
        if opened is None:
            missing = Response(
                "There is no such study here. Use the complete link that you received.",
                404,
                media_type="text/plain",
            )
            await missing(scope, receive, send)
        elif not slash:
            query = scope.get("query_string", b"").decode("latin-1")
            location = f"{root}/{name}/" + (f"?{query}" if query else "")
            await RedirectResponse(location, 307)(scope, receive, send)
        else:
            await opened.app({**scope, "root_path": f"{root}/{name}"}, receive, send)


FindDamage: TypeAlias = Callable[[str], Awaitable[Sequence[Damage]]]
"""Returns the problems of a study's store."""
LIVE_SCRIPT = Path(__file__).parent / "live.js"
SET_UP_CODE_LENGTH = 12
"""60 bits."""


async def remove_nothing(_name: str) -> None:
    """Do nothing, because a console without launched studies has no data to delete."""


async def no_standing(_name: str) -> StudyStatus | None:
    """Return None because the console has no launched studies."""
    return None


def no_launched_text(_name: str) -> str | None:
    """Return None because the console has no launched studies."""
    return None


async def no_damage(_name: str) -> list[Damage]:
    """Return no problems because the console has no launched studies."""
    return []


def set_up_code(database: LaboratoryDatabase) -> str:
    """Return a new set-up code for the operator; empty if the laboratory has an owner."""
    return "" if database.staff.any() else new_code(SET_UP_CODE_LENGTH)


def make_console(
    database: LaboratoryDatabase,
    address: Address = ANYWHERE,
    code: str = "",
    title: str = "cheaptalk",
    extensions: Sequence[Callable[[Authentication], None]] = (),
    hasher: PasswordHasher | None = None,
    remove: RemoveData = remove_nothing,
    read_standing: ReadStanding = no_standing,
    launched_text: Callable[[str], str | None] = no_launched_text,
    find_damage: FindDamage = no_damage,
) -> FastAPI:
    """Return a laboratory's console as a web application that can be mounted at any path.

    Args:
        code: the code from :func:`set_up_code`.
        extensions: functions that add further pages; see :class:`Authentication`.
        hasher: hashes passwords, by default with argon2's default parameters.
        remove: deletes the other data of a study before its design is deleted.
        read_standing: returns the status of a study; None before its launch.
        launched_text: returns the launched design text; None before the launch.
        find_damage: returns the problems of a study's store.
    """
    accounts = Accounts(database, code, hasher or PasswordHasher())
    authentication = Authentication(accounts, title)
    app = authentication.app
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(address.hosts))
    app.add_middleware(HeadersMiddleware, headers=page_headers(STYLE))

    async def live_script() -> Response:
        return FileResponse(LIVE_SCRIPT, media_type="text/javascript")

    authentication.add_page("/live.js", live_script, Role.VIEWER)
    pages = (
        StudyPages(database, remove, read_standing, launched_text).add,
        StudyEditor(database).add,
    )
    for add in (add_account_pages, *pages, *extensions):
        add(authentication)

    async def error_page(request: Request, error: Exception) -> Response:
        return await _error_page(authentication, request, error, find_damage)

    for error in (
        404,
        405,
        500,
        HTTPException,
        RequestValidationError,
        CheaptalkError,
        OperationalError,
    ):
        app.add_exception_handler(error, error_page)
    for exception in (LoginRequired, PasswordChangeRequired):
        app.add_exception_handler(exception, authentication.redirect_to_login)
    return app


def make_laboratory(laboratory: Laboratory, code: str = "", title: str = "cheaptalk") -> FastAPI:
    """Return a web application with a laboratory's console and its participants' pages."""
    console = make_console(
        laboratory.database,
        laboratory.address,
        code,
        title,
        [ParticipantPages(laboratory).add, PayPages(laboratory).add, StudyRunPages(laboratory).add],
        remove=laboratory.remove,
        read_standing=laboratory.status,
        launched_text=laboratory.launched,
        find_damage=Damages(laboratory.folder).find,
    )
    return make_site(laboratory, console)


async def _error_page(
    authentication: Authentication, request: Request, error: Exception, find_damage: FindDamage
) -> Response:
    """Render an error page or, if the study's store is damaged, a list of the damage."""
    visit: Visit = getattr(request.state, "visit", None) or Visit(authentication, request, None)
    message, status = sentence(error), status_of(error)
    may_be_damaged = isinstance(error, StoreError) or status == 500
    if request.method == "GET" and visit.login and visit.study and may_be_damaged:
        damages = await find_damage(visit.study)
        if damages:
            tab = next((name for name in authentication.tabs() if name == visit.tab), "overview")
            return visit.render(
                "damaged.html.jinja", name=visit.study, tab=tab, message=message, damages=damages
            )
    return visit.render("error.html.jinja", status, message=message)
