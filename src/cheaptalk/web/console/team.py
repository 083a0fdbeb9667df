"""The team: owners invite others, give them roles, and look at the log of the laboratory."""

from typing import Annotated

from fastapi import HTTPException, Path, Query
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.reception import Reception, Visit, Visiting
from cheaptalk.web.console.refusals import sentence, status_of
from cheaptalk.web.laboratory.audit import PAGE
from cheaptalk.web.laboratory.staff import Role

GREATEST = 2**63 - 1
"""Number that a database can look for."""

Number = Annotated[int, Path(ge=1, le=GREATEST)]
"""Of an account, in an address."""
Before = Annotated[int | None, Query(ge=1, le=GREATEST)]
"""The number of a log's entry, of which the page shows those before."""
ROLES = {
    Role.VIEWER: "reads everything but accounts",
    Role.RESEARCHER: "does everything with studies",
    Role.OWNER: "also looks after accounts, and reads the laboratory's log",
}
"""What each role may do."""


def add_team(reception: Reception) -> None:
    """Add the pages to a console."""
    reception.page_at("/accounts", listing, Role.OWNER)
    reception.deed_at("/accounts", invite, Role.OWNER)
    reception.page_at("/accounts/{number}", account, Role.OWNER)
    reception.deed_at("/accounts/{number}/role", set_role, Role.OWNER)
    reception.deed_at("/accounts/{number}/disable", disable, Role.OWNER)
    reception.deed_at("/accounts/{number}/enable", enable, Role.OWNER)
    reception.deed_at("/accounts/{number}/reset", reset, Role.OWNER)
    reception.page_at("/log", log, Role.OWNER)


def listing(visit: Visiting) -> Response:
    """Show all accounts, and ask whom to invite."""
    return _listing(visit)


async def invite(visit: Visiting) -> Response:
    """Make an account, and show its one-time password, this once."""
    accounts, name = visit.reception.accounts, visit.form.get("name", "")
    try:
        role = _role(visit)
        password = await accounts.aside(accounts.invite, name, role, visit.account.name)
    except CheaptalkError as error:
        return await run_in_threadpool(_listing, visit, status_of(error), name, sentence(error))
    return visit.render("invited.html.jinja", 201, name=name.strip(), password=password)


def account(visit: Visiting, number: Number) -> Response:
    """Show an account, and what can be done with it."""
    shown = visit.reception.accounts.staff.account(number)
    return visit.render("account.html.jinja", shown=shown, roles=ROLES)


def set_role(visit: Visiting, number: Number) -> Response:
    """Give somebody another role."""
    after = visit.reception.accounts.staff.set_role(number, _role(visit), visit.account.name)
    return visit.go("/accounts", f"The role of {after.name} is {after.role} now.")


def disable(visit: Visiting, number: Number) -> Response:
    """Let somebody no longer log in."""
    after = visit.reception.accounts.staff.disable(number, visit.account.name)
    return visit.go("/accounts", f"{after.name} can no longer log in.")


def enable(visit: Visiting, number: Number) -> Response:
    """Let somebody log in again."""
    after = visit.reception.accounts.staff.enable(number, visit.account.name)
    return visit.go("/accounts", f"{after.name} can log in again.")


async def reset(visit: Visiting, number: Number) -> Response:
    """Give somebody a one-time password, and show it, this once."""
    accounts = visit.reception.accounts
    name, password = await accounts.aside(accounts.reset, number, visit.account.name)
    return visit.render("invited.html.jinja", name=name, password=password)


def log(visit: Visiting, before: Before = None) -> Response:
    """Show what was done in the laboratory, newest first."""
    entries = visit.reception.accounts.database.audit.page(before=before)
    later = before is not None
    return visit.render("log.html.jinja", entries=entries, later=later, page=PAGE)


def _listing(visit: Visit, status: int = 200, name: str = "", problem: str = "") -> Response:
    return visit.render(
        "accounts.html.jinja", status, accounts=visit.reception.accounts.staff.all(), roles=ROLES,
        name=name, problem=problem,
    )  # fmt: skip


def _role(visit: Visit) -> Role:
    """The role that was chosen.

    Raises:
        HTTPException: none was.
    """
    try:
        return Role(visit.form.get("role", ""))
    except ValueError:
        raise HTTPException(400, "Choose a role: viewer, researcher or owner.") from None
