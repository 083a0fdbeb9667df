"""Pages for owners: accounts, roles and the laboratory's log."""

from typing import Annotated

from fastapi import HTTPException, Path, Query
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.authentication import Authentication, CurrentVisit, Visit
from cheaptalk.web.console.errors import sentence, status_of
from cheaptalk.web.laboratory.audit import PAGE
from cheaptalk.web.laboratory.staff import Role

MAX_ID = 2**63 - 1
"""Largest integer that SQLite can store."""

Number = Annotated[int, Path(ge=1, le=MAX_ID)]
"""Account number in a URL."""
Before = Annotated[int | None, Query(ge=1, le=MAX_ID)]
"""Show log entries with smaller numbers."""
ROLES = {
    Role.VIEWER: "can read everything except accounts",
    Role.RESEARCHER: "can also create, change and run studies",
    Role.OWNER: "can also manage accounts and read the laboratory's log",
}
"""Permissions of each role."""


def add_team_pages(authentication: Authentication) -> None:
    """Add the pages for accounts, roles and the log to a console."""
    authentication.add_page("/accounts", listing, Role.OWNER)
    authentication.add_action("/accounts", invite, Role.OWNER)
    authentication.add_page("/accounts/{number}", account, Role.OWNER)
    authentication.add_action("/accounts/{number}/role", set_role, Role.OWNER)
    authentication.add_action("/accounts/{number}/disable", disable, Role.OWNER)
    authentication.add_action("/accounts/{number}/enable", enable, Role.OWNER)
    authentication.add_action("/accounts/{number}/reset", reset, Role.OWNER)
    authentication.add_page("/log", log, Role.OWNER)


def listing(visit: CurrentVisit) -> Response:
    """List the accounts, with a form for inviting researchers."""
    return _listing(visit)


async def invite(visit: CurrentVisit) -> Response:
    """Create an account and show its one-time password once."""
    accounts, name = visit.authentication.accounts, visit.form.get("name", "")
    try:
        role = _role(visit)
        password = await accounts.in_thread(accounts.invite, name, role, visit.account.name)
    except CheaptalkError as error:
        return await run_in_threadpool(_listing, visit, status_of(error), name, sentence(error))
    return visit.render("invited.html.jinja", 201, name=name.strip(), password=password)


def account(visit: CurrentVisit, number: Number) -> Response:
    """Show an account and its settings."""
    selected = visit.authentication.accounts.staff.account(number)
    return visit.render("account.html.jinja", selected=selected, roles=ROLES)


def set_role(visit: CurrentVisit, number: Number) -> Response:
    """Change the role of an account."""
    after = visit.authentication.accounts.staff.set_role(number, _role(visit), visit.account.name)
    return visit.go("/accounts", f"{after.name} now has the role {after.role}.")


def disable(visit: CurrentVisit, number: Number) -> Response:
    """Disable an account."""
    after = visit.authentication.accounts.staff.disable(number, visit.account.name)
    return visit.go("/accounts", f"{after.name} can no longer log in.")


def enable(visit: CurrentVisit, number: Number) -> Response:
    """Enable an account."""
    after = visit.authentication.accounts.staff.enable(number, visit.account.name)
    return visit.go("/accounts", f"{after.name} can log in again.")


async def reset(visit: CurrentVisit, number: Number) -> Response:
    """Set a one-time password for an account, and show it once."""
    accounts = visit.authentication.accounts
    name, password = await accounts.in_thread(accounts.reset, number, visit.account.name)
    return visit.render("invited.html.jinja", name=name, password=password)


def log(visit: CurrentVisit, before: Before = None) -> Response:
    """Show the laboratory's log, newest entries first."""
    entries = visit.authentication.accounts.database.audit.page(before=before)
    later = before is not None
    return visit.render("log.html.jinja", entries=entries, later=later, page=PAGE)


def _listing(visit: Visit, status: int = 200, name: str = "", problem: str = "") -> Response:
    return visit.render(
        "accounts.html.jinja",
        status,
        accounts=visit.authentication.accounts.staff.all(),
        roles=ROLES,
        name=name,
        problem=problem,
    )


def _role(visit: Visit) -> Role:
    try:
        return Role(visit.form.get("role", ""))
    except ValueError:
        raise HTTPException(400, "Choose a role: viewer, researcher or owner.") from None
