"""Pages for set-up, login and passwords, and owners' pages for accounts and the log."""

from typing import Annotated

from fastapi import HTTPException, Path, Query
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.accounts import (
    MIN_PASSWORD_LENGTH,
    BadAccount,
    TooManyLogins,
    WrongPassword,
)
from cheaptalk.web.console.authentication import CONSOLE_PATH, Authentication, CurrentVisit, Visit
from cheaptalk.web.laboratory.audit import PAGE
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.posted import asker

FORM_ERRORS = (BadAccount, TooManyLogins, WrongPassword)
"""Errors that are shown above the form."""


def add_account_pages(authentication: Authentication) -> None:
    """Add the pages for accounts and the log to a console."""
    authentication.add_page("/set-up", set_up_page, None)
    authentication.add_action("/set-up", set_up, None)
    authentication.add_page("/login", login_page, None)
    authentication.add_action("/login", log_in, None)
    authentication.add_action("/log-out", log_out, Role.VIEWER)
    authentication.add_page("/account", own_account, Role.VIEWER)
    authentication.add_action("/account/password", change_password, Role.VIEWER)
    authentication.add_page("/accounts", listing, Role.OWNER)
    authentication.add_action("/accounts", invite, Role.OWNER)
    authentication.add_page("/accounts/{number}", account, Role.OWNER)
    authentication.add_page("/log", log, Role.OWNER)
    authentication.add_action("/accounts/{number}/role", set_role, Role.OWNER)
    for action in (disable, enable, reset):
        authentication.add_action(f"/accounts/{{number}}/{action.__name__}", action, Role.OWNER)


def set_up_page(visit: CurrentVisit) -> Response:
    """Show the form for the set-up code and the first account."""
    if visit.authentication.accounts.staff.any():
        raise HTTPException(404)
    return visit.render(
        "set_up.html.jinja", code="", name="", problem="", shortest=MIN_PASSWORD_LENGTH
    )


async def set_up(visit: CurrentVisit) -> Response:
    """Create the owner's account and log them in."""
    accounts, form, address = visit.authentication.accounts, visit.form, asker(visit.request)
    code, name, password = (form.get(field, "") for field in ("code", "name", "password"))
    try:
        if password != form.get("again", ""):
            raise BadAccount("the two passwords are different; enter the same password twice")
        await accounts.in_thread(accounts.create_owner, code, name, password, address)
        visit.renew(await accounts.in_thread(accounts.log_in, name, password, address))
    except FORM_ERRORS as error:
        return visit.reject(
            "set_up.html.jinja", error, code=code, name=name, shortest=MIN_PASSWORD_LENGTH
        )
    return visit.go("/", "The laboratory is ready. Create a study, or invite your colleagues.")


def login_page(visit: CurrentVisit, to: str = "") -> Response:
    """Show the login form, and remember the requested page."""
    if not visit.authentication.accounts.staff.any():
        return visit.go("/set-up")
    if visit.user is not None:
        return visit.go("/")
    return visit.render("login.html.jinja", name="", to=to, problem="")


async def log_in(visit: CurrentVisit) -> Response:
    """Log in with the posted name and password, and start a new session."""
    accounts, form = visit.authentication.accounts, visit.form
    name, to = form.get("name", ""), form.get("to", "")
    try:
        password, address = form.get("password", ""), asker(visit.request)
        token = await accounts.in_thread(accounts.log_in, name, password, address)
    except FORM_ERRORS as error:
        page = visit.reject("login.html.jinja", error, name=name, to=to)
        if isinstance(error, TooManyLogins):
            page.headers["Retry-After"] = str(round(error.wait))
        return page
    if visit.user is not None:
        await run_in_threadpool(accounts.staff.log_out, visit.account, visit.token)
    visit.renew(token)
    return visit.go(to if to and CONSOLE_PATH.fullmatch(to) else "/")


def log_out(visit: CurrentVisit) -> Response:
    """End the login session in the database and in the browser."""
    visit.authentication.accounts.staff.log_out(visit.account, visit.token)
    visit.forget()
    return visit.go("/login")


def own_account(visit: CurrentVisit) -> Response:
    """Show the current account and the form for changing its password."""
    return visit.render("own_account.html.jinja", problem="", shortest=MIN_PASSWORD_LENGTH)


async def change_password(visit: CurrentVisit) -> Response:
    """Change the current account's password, and end the account's other sessions."""
    accounts, form, address = visit.authentication.accounts, visit.form, asker(visit.request)
    old, new, again = (form.get(field, "") for field in ("old", "password", "again"))
    try:
        if new != again:
            raise BadAccount("the two new passwords are different; enter the same password twice")
        token = await accounts.in_thread(accounts.change_password, visit.account, old, new, address)
    except WrongPassword:
        error = WrongPassword("the current password is wrong")
        return visit.reject("own_account.html.jinja", error, shortest=MIN_PASSWORD_LENGTH)
    except FORM_ERRORS as error:
        return visit.reject("own_account.html.jinja", error, shortest=MIN_PASSWORD_LENGTH)
    visit.renew(token)
    return visit.go("/", "Your password was changed. Your other sessions were logged out.")


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


def listing(visit: CurrentVisit) -> Response:
    """List the accounts, with a form for inviting researchers."""
    accounts = visit.authentication.accounts.staff.all()
    return visit.render("accounts.html.jinja", accounts=accounts, roles=ROLES, name="", problem="")


async def invite(visit: CurrentVisit) -> Response:
    """Create an account and show its one-time password once."""
    accounts, name = visit.authentication.accounts, visit.form.get("name", "")
    try:
        role = _role(visit)
        password = await accounts.in_thread(accounts.invite, name, role, visit.account.name)
    except CheaptalkError as error:
        listed = await run_in_threadpool(accounts.staff.all)
        return visit.reject("accounts.html.jinja", error, accounts=listed, roles=ROLES, name=name)
    return visit.render("invited.html.jinja", 201, name=name.strip(), password=password)


def account(visit: CurrentVisit, number: Number) -> Response:
    """Show an account and its settings."""
    selected = visit.authentication.accounts.staff.account(number)
    return visit.render("account.html.jinja", selected=selected, roles=ROLES)


def set_role(visit: CurrentVisit, number: Number) -> Response:
    """Change the role of an account."""
    after = visit.authentication.accounts.staff.set_role(number, _role(visit), visit.account.name)
    return visit.go(
        "/accounts",
        "%(name)s now has this role: %(role)s.",
        name=after.name,
        role=visit.text(after.role),
    )


def disable(visit: CurrentVisit, number: Number) -> Response:
    """Disable an account."""
    after = visit.authentication.accounts.staff.disable(number, visit.account.name)
    return visit.go("/accounts", "%(name)s can no longer log in.", name=after.name)


def enable(visit: CurrentVisit, number: Number) -> Response:
    """Enable an account."""
    after = visit.authentication.accounts.staff.enable(number, visit.account.name)
    return visit.go("/accounts", "%(name)s can log in again.", name=after.name)


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


def _role(visit: Visit) -> Role:
    try:
        return Role(visit.form.get("role", ""))
    except ValueError:
        raise HTTPException(400, "Choose a role: viewer, researcher or owner.") from None
