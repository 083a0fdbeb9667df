"""The reception: who comes to which page, whether they may, and what pages have in common."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from itsdangerous import BadData, URLSafeTimedSerializer
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from cheaptalk.reports.pages import environment
from cheaptalk.web.console.accounts import LASTS, Accounts, new_token, same
from cheaptalk.web.laboratory.staff import Account, Login, Role
from cheaptalk.web.posted import asker, posted_pairs, single
from cheaptalk.web.rooms.limits import Limit
from cheaptalk.web.rooms.pages import STYLE as ROOMS_STYLE

Answer = TypeVar("Answer", bound=Response)

HERE = Path(__file__).parent
OWN_STYLES = (HERE / "console.css", HERE / "designs" / "static" / "study_form.css")
STYLE = ROOMS_STYLE + Markup("".join(one.read_text(encoding="utf-8") for one in OWN_STYLES))  # noqa: S704 - our own files
COOKIE = "cheaptalk-console"
LONGEST = 3_000_000
"""Bytes of a form: a study file may have a million characters."""
MOST_FIELDS = 20_000
"""Of a form: that of a study has several for each parameter of each game."""
FRESH = 60
"""Seconds for which a page says what was done."""
OWN = re.compile(r"(/[\w.-]+)*/?", re.ASCII)
"""Addresses of the console's own pages, as they stand after its beginning."""
ONE_TIME = (
    ("GET", "/account"), ("GET", "/live.js"), ("POST", "/account/password"), ("POST", "/log-out")
)  # fmt: skip
"""Where somebody may go whose password must be changed."""
TABS = ("overview", "design", "participants", "matches", "transcripts", "pay", "data", "log")
"""Of a study, in order; those that no page is registered for are not shown."""
STUDY = "/studies/{name}"
"""How the addresses of a study's pages begin."""


class LoggedOut(Exception):
    """Somebody must log in to see a page."""


class MustChange(Exception):
    """Somebody must change their password first."""


class Visit:
    """One request, and whose it is.

    Attributes:
        request: as it came.
        login: the session; None for who is not logged in.
        form: what was posted, its token checked and taken out; empty for a page that is looked at.
        pairs: the same in order, where fields may have several values.
    """

    def __init__(self, reception: "Reception", request: Request, login: Login | None) -> None:
        self.reception = reception
        self.request = request
        self.login = login
        self.form: dict[str, str] = {}
        self.pairs: list[tuple[str, str]] = []
        self._token = request.cookies.get(COOKIE, "")
        self._set = False
        if not self._token:
            self.forget()

    @property
    def account(self) -> Account:
        """Whose visit it is; only for pages that people must log in for."""
        assert self.login is not None
        return self.login.account

    @property
    def csrf(self) -> str:
        """What stands in every form as ``csrf``: made of the session's token, and of nothing else.

        Who is not logged in has a token, too, which is good for logging in alone.
        """
        return hmac.new(self._token.encode(), b"csrf", hashlib.sha256).hexdigest()

    @property
    def token(self) -> str:
        """The session's token."""
        return self._token

    def may(self, least: Role) -> bool:
        """Whether somebody's role suffices where another is the least."""
        return self.login is not None and self.account.role.may(least)

    def link(self, path: str) -> str:
        """The address of a page of the console, such as ``/accounts``."""
        return str(self.request.scope.get("root_path", "")) + path

    def renew(self, token: str) -> None:
        """Give the browser another token with the answer."""
        self._token, self._set = token, True

    def forget(self) -> None:
        """Give the browser a token that is nobody's."""
        self.renew(new_token())

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page, of a template that extends ``frame.html.jinja``.

        Besides the values templates know ``visit``, ``link`` and ``token``, the field that must
        stand in every form; those of a study's pages, which extend ``study.html.jinja``, need
        ``name``, the study's, and ``tab``, one of ``TABS``.
        """
        return self._with_cookie(HTMLResponse(self.reception.page(self, template, values), status))

    def go(self, path: str, said: str = "") -> Response:
        """Go on to a page of the console after a deed.

        Args:
            path: such as ``/accounts``; never what somebody posted.
            said: a sentence on what was done, which the page shows.
        """
        query = f"?said={self.reception.signer.dumps(said, salt=self.csrf)}" if said else ""
        return self._with_cookie(RedirectResponse(self.link(path) + query, 303))

    def done(self) -> str:
        """What was done just before, in a sentence; empty where nothing was."""
        signed = self.request.query_params.get("said", "")
        try:
            return str(self.reception.signer.loads(signed, max_age=FRESH, salt=self.csrf))
        except BadData:
            return ""

    def check(self, form: dict[str, str]) -> None:
        """Take what was posted.

        Raises:
            HTTPException: it was not sent from a page of this session.
        """
        good = same(form.pop("csrf", ""), self.csrf)
        self.form = form
        if not good or self._set:
            raise HTTPException(
                403, "This page was out of date, and nothing was changed. Load it again, or log in."
            )

    @property
    def study(self) -> str:
        """The name of the study whose page it is; empty of another page."""
        return self._place[0]

    @property
    def tab(self) -> str:
        """The part of the study that the page belongs to; empty of another page."""
        return self._place[1]

    @property
    def _place(self) -> tuple[str, str]:
        path = self.request.scope["path"].removeprefix(self.link(""))
        match = re.match("/studies/([^/]+)/([^/]*)", path)
        return (match[1], match[2]) if match else ("", "")

    def _with_cookie(self, response: Answer) -> Answer:
        if self._set:
            response.set_cookie(
                COOKIE, self._token, max_age=int(LASTS), path=self.link("") or "/", httponly=True,
                samesite="strict", secure=self.request.url.scheme == "https",
            )  # fmt: skip
        return response


class Reception:
    """Lets people in to pages by their roles; a page that it does not know lets nobody in.

    A module adds its pages in a function of the reception, which ``make_console`` is given::

        def add_pay(reception: Reception) -> None:
            reception.page_at("/studies/{name}/pay", pay, Role.VIEWER)
            reception.deed_at("/studies/{name}/pay", approve, Role.RESEARCHER)

        def pay(visit: Visiting, name: str) -> Response:
            return visit.render("pay.html.jinja", name=name, tab="pay")

        def approve(visit: Visiting, name: str) -> Response:
            ...  # visit.form holds what was posted, visit.account is who did it
            return visit.go(f"/studies/{name}/pay", "3 payments were approved.")

    Such functions run in a thread each, so that they may read a database; one that is ``async``
    must not. A study's tab is shown as soon as its page is there. Errors of the package become
    pages that say them.

    Args:
        title: what stands over all pages.

    Attributes:
        app: the console.
    """

    def __init__(self, accounts: Accounts, title: str) -> None:
        self.app = FastAPI(
            title=title, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False,
            dependencies=[Depends(self.admit)],
        )  # fmt: skip
        self.accounts = accounts
        self.title = title
        self.least: dict[tuple[str, str], Role | None] = {}
        """The least role for each method and route; None where nobody needs to log in."""
        self.repeating: set[tuple[str, str]] = set()
        self.posts = Limit(30, 5)
        self.signer = URLSafeTimedSerializer(secrets.token_bytes(32))
        self.templates = environment(HERE / "templates")
        self.templates.globals |= {"Role": Role, "style": STYLE}

    def page_at(self, path: str, page: Callable[..., Any], least: Role | None) -> None:
        """Show a page at a route.

        Args:
            page: a function as FastAPI takes it; its parameter of the type ``Visiting`` is the
                visit.
            least: the role that somebody needs; None where nobody needs to log in.
        """
        self._add("GET", path, page, least)

    def deed_at(
        self, path: str, deed: Callable[..., Any], least: Role | None, *, repeating: bool = False
    ) -> None:
        """Do something when a form is posted to a route; as for ``page_at``.

        Args:
            repeating: whether fields may have several values, which ``visit.pairs`` has.
        """
        self._add("POST", path, deed, least)
        if repeating:
            self.repeating.add(("POST", path))

    def _add(self, method: str, path: str, does: Callable[..., Any], least: Role | None) -> None:
        self.least[method, path] = least
        self.app.add_api_route(path, does, methods=[method], response_model=None)

    def tabs(self) -> list[str]:
        """The tabs of a study that there are pages for."""
        return [tab for tab in TABS if ("GET", f"{STUDY}/{tab}") in self.least]

    async def admit(self, request: Request) -> None:
        """Let somebody in to a page, or not: the one place where that is decided.

        Raises:
            LoggedOut: they must log in.
            MustChange: they must change their password.
            HTTPException: their role does not suffice, or what they posted is refused.
        """
        route = (request.method, request.scope["route"].path)
        token = request.cookies.get(COOKIE)
        login = await run_in_threadpool(self.accounts.login, token) if token else None
        visit = request.state.visit = Visit(self, request, login)
        if request.method != "GET":
            who = login.account.name if login else asker(request)
            pairs = await posted_pairs(request, self.posts, who, LONGEST, MOST_FIELDS)
            visit.check(dict(pairs) if route in self.repeating else single(pairs))
            visit.pairs = [(name, text) for name, text in pairs if name != "csrf"]
        if route not in self.least:
            raise HTTPException(403, "Nobody may do this.")
        least = self.least[route]
        if least is None:
            return
        if login is None:
            raise LoggedOut
        if login.account.one_time and route not in ONE_TIME:
            raise MustChange
        if not visit.may(least):
            raise HTTPException(403, f"Your role does not allow this: only {_whom(least)} may.")

    def page(self, visit: Visit, template: str, values: Mapping[str, Any]) -> str:
        """The text of a page."""
        field = Markup('<input type="hidden" name="csrf" value="{}">').format(visit.csrf)
        common = {
            "visit": visit, "link": visit.link, "token": field, "title": self.title,
            "done": visit.done(), "tabs": self.tabs(),
        }  # fmt: skip
        return self.templates.get_template(template).render({**common, **values})

    def turned_away(self, request: Request, error: Exception) -> Response:
        """Send somebody to the page that they must see first, or say so where they posted."""
        visit: Visit = request.state.visit
        if isinstance(error, MustChange):
            return visit.go("/account", "Choose a password of your own first.")
        if request.method != "GET":
            said = "Your session is over, and nothing was changed. Log in, and send it again."
            return visit.render("refused.html.jinja", 403, said=said)
        if not self.accounts.staff.any():
            return visit.go("/set-up")
        path = request.url.path.removeprefix(visit.link(""))
        return visit.go(f"/login?to={quote(path)}" if OWN.fullmatch(path) else "/login")


def visit_of(request: Request) -> Visit:
    """The visit of somebody who was let in."""
    visit: Visit = request.state.visit
    return visit


async def _visit(request: Request) -> Visit:
    return visit_of(request)


Visiting = Annotated[Visit, Depends(_visit)]
"""The visit, as pages ask for it."""


def _whom(least: Role) -> str:
    return " and ".join(f"{role}s" for role in Role if role.may(least))
