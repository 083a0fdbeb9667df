"""The laboratory's website: the researchers' console and each study's participant pages."""

from pathlib import Path

from argon2 import PasswordHasher
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, RedirectResponse, Response
from sqlalchemy.exc import OperationalError
from starlette.types import Receive, Scope, Send

from cheaptalk.records import StoreError
from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.account_pages import add_account_pages
from cheaptalk.web.console.accounts import Accounts, new_code
from cheaptalk.web.console.authentication import (
    STYLE,
    Authentication,
    LoginRequired,
    PasswordChangeRequired,
    Visit,
)
from cheaptalk.web.console.correction_pages import CorrectionPages
from cheaptalk.web.console.designs.study_editor import StudyEditor
from cheaptalk.web.console.errors import sentence, status_of
from cheaptalk.web.console.file_pages import FilePages
from cheaptalk.web.console.launch_pages import LaunchPages
from cheaptalk.web.console.participants.control_pages import ControlPages
from cheaptalk.web.console.participants.participant_pages import ParticipantPages
from cheaptalk.web.console.participants.pay_pages import PayPages
from cheaptalk.web.console.participants.recruit_pages import RecruitPages
from cheaptalk.web.console.preview_pages import StudyPreviews
from cheaptalk.web.console.run_pages import StudyRunPages
from cheaptalk.web.console.study_pages import StudyPages
from cheaptalk.web.headers import HeadersMiddleware, page_headers
from cheaptalk.web.laboratory.damage import Damages
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.staff import Role

CONSOLE = "/console"
STUDIES = "/s"


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


LIVE_SCRIPT = Path(__file__).parent / "live.js"
SET_UP_CODE_LENGTH = 12
"""60 bits."""
HANDLED = (
    404,
    405,
    500,
    HTTPException,
    RequestValidationError,
    CheaptalkError,
    OperationalError,
)
"""Statuses and errors that have an error page."""


def set_up_code(database: LaboratoryDatabase) -> str:
    """Return a new set-up code for the operator; empty if the laboratory has an owner."""
    return "" if database.staff.any() else new_code(SET_UP_CODE_LENGTH)


def make_laboratory(laboratory: Laboratory, code: str = "", title: str = "cheaptalk") -> FastAPI:
    """Return a laboratory's website: console at ``/console``, studies at ``/s/NAME``.

    The code is that from :func:`set_up_code`.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)

    async def start() -> Response:
        return RedirectResponse(f"{CONSOLE}/", 303)

    app.get("/")(start)
    app.get(CONSOLE)(start)
    app.mount(CONSOLE, make_console(laboratory, code, title, PasswordHasher()))
    app.mount(STUDIES, _Studies(laboratory))
    return app


def make_console(laboratory: Laboratory, code: str, title: str, hasher: PasswordHasher) -> FastAPI:
    """Return a laboratory's console as a web application that can be mounted at any path."""
    authentication = Authentication(Accounts(laboratory.database, code, hasher), title)
    app, damages = authentication.app, Damages(laboratory.folder)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(laboratory.address.hosts))
    app.add_middleware(HeadersMiddleware, headers=page_headers(STYLE))

    async def live_script() -> Response:
        return FileResponse(LIVE_SCRIPT, media_type="text/javascript")

    async def error_page(request: Request, error: Exception) -> Response:
        return await _error_page(authentication, request, error, damages)

    authentication.add_page("/live.js", live_script, Role.VIEWER)
    add_account_pages(authentication)
    StudyEditor(laboratory).add(authentication)
    for pages in (
        StudyPages,
        CorrectionPages,
        FilePages,
        RecruitPages,
        ParticipantPages,
        ControlPages,
        PayPages,
        LaunchPages,
        StudyRunPages,
        StudyPreviews,
    ):
        pages(laboratory).add(authentication)
    for error in HANDLED:
        app.add_exception_handler(error, error_page)
    for exception in (LoginRequired, PasswordChangeRequired):
        app.add_exception_handler(exception, authentication.redirect_to_login)
    return app


async def _error_page(
    authentication: Authentication, request: Request, error: Exception, known: Damages
) -> Response:
    """Render an error page or, if the study's store is damaged, a list of the damage."""
    visit: Visit = getattr(request.state, "visit", None) or Visit(authentication, request, None)
    message, status = visit.text(sentence(error)), status_of(error)
    may_be_damaged = isinstance(error, StoreError) or status == 500
    study, tab = visit.study_and_tab
    if request.method == "GET" and visit.user and study and may_be_damaged:
        damages = await known.find(study)
        if damages:
            tab = tab if tab in authentication.tabs() else "overview"
            return visit.render("damaged.html.jinja", tab=tab, message=message, damages=damages)
    return visit.render("error.html.jinja", status, message=message)
