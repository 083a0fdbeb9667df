"""Authentication of the console's users, with sessions and roles."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import jinja2
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from itsdangerous import BadData, URLSafeTimedSerializer
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from cheaptalk.records.people.payouts import dollars_text
from cheaptalk.web.console.accounts import Accounts, equal_texts
from cheaptalk.web.console.errors import sentence, status_of
from cheaptalk.web.console.sentences import sentences
from cheaptalk.web.console.translation import CONSOLE_LANGUAGES, templates
from cheaptalk.web.laboratory.audit import Detail
from cheaptalk.web.laboratory.staff import SESSION_SECONDS, Account, Role, new_token
from cheaptalk.web.posted import Limit, Upload, asker, posted_files, posted_pairs, single
from cheaptalk.web.rooms.languages import Language, best_language, languages
from cheaptalk.web.rooms.pages import STYLE as ROOMS_STYLE

Answer = TypeVar("Answer", bound=Response)

FOLDER = Path(__file__).parent
STYLE_FILES = (
    FOLDER / "console.css",
    FOLDER / "preview.css",
    FOLDER / "designs" / "static" / "study_form.css",
)
STYLE = ROOMS_STYLE + Markup("".join(file.read_text(encoding="utf-8") for file in STYLE_FILES))  # noqa: S704 - our own files
COOKIE = "cheaptalk-console"
LANGUAGE_COOKIE = "cheaptalk-console-language"
MAX_FORM_BYTES = 3_000_000
"""A study file may have a million characters."""
MAX_FIELDS = 20_000
"""The form of a study has several fields for each parameter of each game."""
NOTICE_SECONDS = 60
"""Seconds for which a page can show the notice about the last action."""
CONSOLE_PATH = re.compile(r"(/[\w.-]+)*/?", re.ASCII)
"""Matches the paths of the console's own pages."""
ONE_TIME_ROUTES = (
    ("GET", "/account"),
    ("GET", "/live.js"),
    ("POST", "/account/password"),
    ("POST", "/log-out"),
)
"""Routes that are open to an account with a one-time password."""
TABS = (
    "overview",
    "design",
    "files",
    "recruit",
    "participants",
    "matches",
    "transcripts",
    "pay",
    "data",
    "log",
)
"""Tabs of a study in order; a tab without a registered page is hidden."""
STUDY = "/studies/{name}"
"""Route of a study's pages."""


class LoginRequired(Exception):
    """Raised if a page requires a login."""


class PasswordChangeRequired(Exception):
    """Raised if an account must first replace its one-time password."""


@cache
def _templates(language: Language) -> jinja2.Environment:
    environment = templates(language, FOLDER / "templates")
    environment.globals |= {"Role": Role, "style": STYLE}
    return environment


class Visit:
    """An HTTP request with the logged-in account; ``user`` is None without a login.

    ``form`` contains the posted fields without the verified CSRF token; it is empty for GET.
    ``pairs`` contains them in order, for fields with several values, and ``files`` the uploaded
    files.
    """

    def __init__(
        self, authentication: "Authentication", request: Request, user: Account | None
    ) -> None:
        self.authentication = authentication
        self.request = request
        self.user = user
        self.form: dict[str, str] = {}
        self.pairs: list[tuple[str, str]] = []
        self.files: list[Upload] = []
        self.token = request.cookies.get(COOKIE, "")
        self._is_new = False
        if not self.token:
            self.forget()

    @property
    def account(self) -> Account:
        """The logged-in account, available only on pages that require a login."""
        assert self.user is not None
        return self.user

    @property
    def csrf(self) -> str:
        """The CSRF token for forms, derived from the session token.

        Without a login, the field is valid only for logging in.
        """
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()

    @property
    def csrf_field(self) -> Markup:
        return Markup('<input type="hidden" name="csrf" value="{}">').format(self.csrf)

    @property
    def language(self) -> Language:
        """The language that the user chose in this browser or, by default, the browser's."""
        chosen = (self.request.query_params.get("lang"), self.request.cookies.get(LANGUAGE_COOKIE))
        code = next((code for code in chosen if code in CONSOLE_LANGUAGES), None)
        accepted = self.request.headers.get("Accept-Language", "")
        return languages()[code or best_language(accepted, CONSOLE_LANGUAGES)]

    def text(self, message: str) -> str:
        return sentences(self.language.code).translated(message)

    def dollars(self, cents: int) -> str:
        """Format an amount in cents as a decimal number in the user's language."""
        return self.language.writing.local(dollars_text(cents))

    def may(self, minimum: Role) -> bool:
        return self.user is not None and self.user.role.may(minimum)

    def link(self, path: str) -> str:
        return str(self.request.scope.get("root_path", "")) + path

    def renew(self, token: str) -> None:
        self.token, self._is_new = token, True

    def forget(self) -> None:
        self.renew(new_token())

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a page template based on ``frame.html.jinja``, the console's common layout.

        In addition to the given values, templates get ``visit``, ``link`` and ``token``, the hidden
        field that every form must contain, and, from the URL, ``name`` of the study and ``tab``.
        """
        study, tab = self.study_and_tab
        common = {
            "name": study,
            "tab": tab,
            "visit": self,
            "link": self.link,
            "token": self.csrf_field,
            "title": self.authentication.title,
            "done": self.notice(),
            "dollars": self.dollars,
            "tabs": self.authentication.tabs(),
        }
        page = _templates(self.language).get_template(template)
        return self._with_cookie(HTMLResponse(page.render(common | values), status))

    def reject(self, template: str, error: Exception, **values: Any) -> HTMLResponse:
        """Render the page of a rejected form, with the error as ``problem``."""
        problem = self.text(sentence(error))
        return self.render(template, status_of(error), problem=problem, **values)

    def record(self, action: str, study: str, **details: Detail) -> None:
        audit = self.authentication.accounts.database.audit
        audit.enter(self.account.name, action, study, **details)

    def download(self, file: str, text: str) -> Response:
        headers = {"Content-Disposition": f'attachment; filename="{file}"'}
        return PlainTextResponse(text, headers=headers, media_type="text/csv; charset=utf-8")

    def go(self, path: str, notice: str = "", **values: object) -> Response:
        """Redirect to a page of the console after an action.

        ``path`` must not be user input. The page shows ``notice``, a sentence about the result, in
        the user's language and with the given values.
        """
        signer, shown = self.authentication.signer, self.text(notice) % values
        mark = "&" if "?" in path else "?"
        query = f"{mark}said={signer.dumps(shown, salt=self.csrf)}" if notice else ""
        return self._with_cookie(RedirectResponse(self.link(path) + query, 303))

    def notice(self) -> str:
        signed = self.request.query_params.get("said", "")
        try:
            signer = self.authentication.signer
            return str(signer.loads(signed, max_age=NOTICE_SECONDS, salt=self.csrf))
        except BadData:
            return ""

    def check(self, form: dict[str, str]) -> None:
        """Store the fields of a posted form, or raise an error if its CSRF token is invalid."""
        good = equal_texts(form.pop("csrf", ""), self.csrf)
        self.form = form
        if not good or self._is_new:
            raise HTTPException(
                403,
                "This page is out of date. Your changes were not saved. Reload it or log in again.",
            )

    @property
    def study_and_tab(self) -> tuple[str, str]:
        path = self.request.scope["path"].removeprefix(self.link(""))
        match = re.match("/studies/([^/]+)/([^/]*)", path)
        return (match[1], match[2]) if match else ("", "")

    def _with_cookie(self, response: Answer) -> Answer:
        cookies = {COOKIE: self.token} if self._is_new else {}
        if self.request.query_params.get("lang") in CONSOLE_LANGUAGES:
            cookies[LANGUAGE_COOKIE] = self.language.code
        for name, value in cookies.items():
            response.set_cookie(
                name,
                value,
                max_age=int(SESSION_SECONDS),
                path=self.link("") or "/",
                httponly=True,
                samesite="strict",
                secure=self.request.url.scheme == "https",
            )
        return response


class Authentication:
    """Registry of pages and the roles that they require; all other routes are forbidden.

    A page or action, such as one of :class:`.PayPages`, gets the :class:`Visit` and the parameters
    in its path. It runs in its own thread, so it may read a database, unless it is ``async``. A
    study's tab appears as soon as its page is registered. Errors of the package become error pages.
    """

    def __init__(self, accounts: Accounts, title: str) -> None:
        self.app = FastAPI(
            title=title,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            dependencies=[Depends(self.admit)],
        )
        self.accounts = accounts
        self.title = title
        self.roles: dict[tuple[str, str], Role | None] = {}
        """Minimum role by method and route; None if no login is required."""
        self.repeating: set[tuple[str, str]] = set()
        self.uploads: set[tuple[str, str]] = set()
        self.posts = Limit(30, 5)
        self.signer = URLSafeTimedSerializer(secrets.token_bytes(32))

    def add_page(self, path: str, page: Callable[..., Any], minimum: Role | None) -> None:
        """Register a FastAPI endpoint and the role that it requires; None if it needs no login.

        A parameter of type ``CurrentVisit`` receives the visit.
        """
        self._add("GET", path, page, minimum)

    def add_action(
        self,
        path: str,
        action: Callable[..., Any],
        minimum: Role | None,
        *,
        repeating: bool = False,
        uploads: bool = False,
    ) -> None:
        """Register a handler for posted forms, and the role that it requires.

        If ``repeating``, fields may have several values, available in ``visit.pairs``. If
        ``uploads``, the form sends files, available in ``visit.files``.
        """
        self._add("POST", path, action, minimum)
        if repeating:
            self.repeating.add(("POST", path))
        if uploads:
            self.uploads.add(("POST", path))

    def _add(
        self, method: str, path: str, handler: Callable[..., Any], minimum: Role | None
    ) -> None:
        self.roles[method, path] = minimum
        self.app.add_api_route(path, handler, methods=[method], response_model=None)

    def tabs(self) -> list[str]:
        return [tab for tab in TABS if ("GET", f"{STUDY}/{tab}") in self.roles]

    async def admit(self, request: Request) -> None:
        """Check a request's access to its route; this is the only access check."""
        route = (request.method, request.scope["route"].path)
        token = request.cookies.get(COOKIE)
        user = await run_in_threadpool(self.accounts.staff.login, token) if token else None
        visit = request.state.visit = Visit(self, request, user)
        if request.method != "GET":
            client = user.name if user else asker(request)
            if route in self.uploads:
                pairs, visit.files = await posted_files(request, self.posts, client, MAX_FORM_BYTES)
            else:
                pairs = await posted_pairs(request, self.posts, client, MAX_FORM_BYTES, MAX_FIELDS)
            visit.check(dict(pairs) if route in self.repeating else single(pairs))
            visit.pairs = [(name, text) for name, text in pairs if name != "csrf"]
        if route not in self.roles:
            raise HTTPException(403, "This action is not available.")
        minimum = self.roles[route]
        if minimum is None:
            return
        if user is None:
            raise LoginRequired
        if user.one_time and route not in ONE_TIME_ROUTES:
            raise PasswordChangeRequired
        if not visit.may(minimum):
            roles = " or ".join(role for role in Role if role.may(minimum))
            raise HTTPException(
                403, f"Your role does not allow this. It requires the role {roles}."
            )

    def redirect_to_login(self, request: Request, error: Exception) -> Response:
        """Redirect to the login, set-up or password page, or show an error page after a POST."""
        visit: Visit = request.state.visit
        if isinstance(error, PasswordChangeRequired):
            return visit.go("/account", "Choose your own password first.")
        if request.method != "GET":
            message = visit.text(
                "Your session has expired. Your changes were not saved. Log in and try again."
            )
            return visit.render("error.html.jinja", 403, message=message)
        if not self.accounts.staff.any():
            return visit.go("/set-up")
        path = request.url.path.removeprefix(visit.link(""))
        return visit.go(f"/login?to={quote(path)}" if CONSOLE_PATH.fullmatch(path) else "/login")


async def _visit(request: Request) -> Visit:
    visit: Visit = request.state.visit
    return visit


CurrentVisit = Annotated[Visit, Depends(_visit)]
"""FastAPI dependency for the visit."""
