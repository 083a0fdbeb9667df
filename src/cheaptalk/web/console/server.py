"""The console as a web application, to be mounted under an address of the laboratory."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from argon2 import PasswordHasher
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, Response
from sqlalchemy.exc import OperationalError

from cheaptalk.records import Hurt, StoreError
from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.accounts import Accounts, new_code
from cheaptalk.web.console.designs.designing import Designing
from cheaptalk.web.console.entrance import add_entrance
from cheaptalk.web.console.pay import PayDesk
from cheaptalk.web.console.people import People
from cheaptalk.web.console.reception import STYLE, LoggedOut, MustChange, Reception, Visit
from cheaptalk.web.console.refusals import sentence, status_of
from cheaptalk.web.console.studies import (
    Remove,
    Stand,
    Studies,
    not_launched,
    nothing_else,
    nothing_launched,
)
from cheaptalk.web.console.team import add_team
from cheaptalk.web.console.work import Work
from cheaptalk.web.headers import Headed, page_headers
from cheaptalk.web.laboratory.damage import Damages
from cheaptalk.web.laboratory.database import LaboratoryDatabase
from cheaptalk.web.laboratory.laboratory import Laboratory
from cheaptalk.web.laboratory.site import make_site
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.laboratory.standing import standing
from cheaptalk.web.rooms.addresses import ANYWHERE, Address

Damage: TypeAlias = Callable[[str], Awaitable[Sequence[Hurt]]]
"""Returns what is wrong with the store of a study."""
LIVE = Path(__file__).parent / "live.js"
CODE_LETTERS = 12
"""Of the code for setting up: 60 bits."""


async def no_damage(_name: str) -> list[Hurt]:
    """Know of no damage."""
    return []


def set_up_code(database: LaboratoryDatabase) -> str:
    """The code that whoever sets up a laboratory must know, to be printed where the server was
    started; empty where the laboratory has an owner.
    """
    return "" if database.staff.any() else new_code(CODE_LETTERS)


def make_console(
    database: LaboratoryDatabase,
    address: Address = ANYWHERE,
    code: str = "",
    title: str = "cheaptalk",
    more: Sequence[Callable[[Reception], None]] = (),
    hasher: PasswordHasher | None = None,
    remove: Remove = nothing_else,
    stand: Stand = not_launched,
    launched: Callable[[str], str | None] = nothing_launched,
    damage: Damage = no_damage,
) -> FastAPI:
    """The console of a laboratory; its links lead to wherever it is mounted.

    Args:
        address: where people find it.
        code: what :func:`set_up_code` said.
        title: what stands over all pages.
        more: functions that add further pages; see :class:`Reception`.
        hasher: of passwords, with argon2's own parameters by default.
        remove: deletes what else there is of a study, before its design goes.
        stand: tells how a study stands that was launched.
        launched: the text with which one was; None where it was not.
        damage: returns what is wrong with a study's store.
    """
    accounts = Accounts(database, code, hasher or PasswordHasher())
    reception = Reception(accounts, title)
    app = reception.app
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(address.hosts))
    app.add_middleware(Headed, headers=page_headers(STYLE))
    reception.page_at("/live.js", _live, Role.VIEWER)
    pages = (Studies(database, remove, stand, launched).add, Designing(database).add)
    for add in (add_entrance, *pages, add_team, *more):
        add(reception)

    async def refused(request: Request, error: Exception) -> Response:
        return await _refused(reception, request, error, damage)

    for error in (404, 405, 500, HTTPException, RequestValidationError, CheaptalkError,
                  OperationalError):  # fmt: skip
        app.add_exception_handler(error, refused)
    for turned in (LoggedOut, MustChange):
        app.add_exception_handler(turned, reception.turned_away)
    return app


async def _live() -> Response:
    """The script that keeps pages fresh."""
    return FileResponse(LIVE, media_type="text/javascript")


def make_laboratory(laboratory: Laboratory, code: str = "", title: str = "cheaptalk") -> FastAPI:
    """All pages of a laboratory: its researchers' and its participants'.

    Args:
        code: for setting it up, which whoever does must know.
        title: what stands over the researchers' pages.
    """
    console = make_console(
        laboratory.database, laboratory.address, code, title,
        [People(laboratory).add, PayDesk(laboratory).add, Work(laboratory).add],
        remove=laboratory.remove, stand=partial(standing, laboratory), launched=laboratory.launched,
        damage=Damages(laboratory.folder).of,
    )  # fmt: skip
    return make_site(laboratory, console)


async def _refused(
    reception: Reception, request: Request, error: Exception, damage: Damage
) -> Response:
    """Say in a page why there is nothing, and give back what was typed.

    A page that a damaged store prevents lists what is wrong with the store instead.
    """
    visit: Visit = getattr(request.state, "visit", None) or Visit(reception, request, None)
    said, status = sentence(error), status_of(error)
    may_be_damaged = isinstance(error, StoreError) or status == 500
    if request.method == "GET" and visit.login and visit.study and may_be_damaged:
        hurts = await damage(visit.study)
        if hurts:
            tab = next((one for one in reception.tabs() if one == visit.tab), "overview")
            return visit.render(
                "damaged.html.jinja", name=visit.study, tab=tab, said=said, hurts=hurts
            )
    return visit.render("refused.html.jinja", status, said=said)
