"""The entrance: setting the laboratory up, logging in and out, one's own account."""

from fastapi import HTTPException
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from cheaptalk.web.console.accounts import SHORTEST, BadAccount, TooManyTries, WrongPassword
from cheaptalk.web.console.reception import OWN, Reception, Visiting
from cheaptalk.web.console.refusals import sentence, status_of
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.posted import asker

REFUSALS = (BadAccount, TooManyTries, WrongPassword)
"""What a form says in place."""


def add_entrance(reception: Reception) -> None:
    """Add the pages to a console."""
    reception.page_at("/set-up", set_up_page, None)
    reception.deed_at("/set-up", set_up, None)
    reception.page_at("/login", login_page, None)
    reception.deed_at("/login", log_in, None)
    reception.deed_at("/log-out", log_out, Role.VIEWER)
    reception.page_at("/account", own_account, Role.VIEWER)
    reception.deed_at("/account/password", change_password, Role.VIEWER)


def set_up_page(visit: Visiting) -> Response:
    """Ask for the code and the first account, while there is none."""
    if visit.reception.accounts.staff.any():
        raise HTTPException(404)
    return visit.render("set_up.html.jinja", code="", name="", problem="", shortest=SHORTEST)


async def set_up(visit: Visiting) -> Response:
    """Make the owner, and log them in."""
    accounts, form, address = visit.reception.accounts, visit.form, asker(visit.request)
    code, name, password = (form.get(one, "") for one in ("code", "name", "password"))
    try:
        if password != form.get("again", ""):
            raise BadAccount("the two passwords differ; write the same one twice")
        await accounts.aside(accounts.found, code, name, password, address)
        visit.renew(await accounts.aside(accounts.log_in, name, password, address))
    except REFUSALS as error:
        return visit.render(
            "set_up.html.jinja", status_of(error), code=code, name=name,
            problem=sentence(error), shortest=SHORTEST,
        )  # fmt: skip
    return visit.go("/", "The laboratory is yours. Begin a study, or invite others.")


def login_page(visit: Visiting, to: str = "") -> Response:
    """Ask for name and password, and remember which page somebody wanted."""
    if not visit.reception.accounts.staff.any():
        return visit.go("/set-up")
    if visit.login is not None:
        return visit.go("/")
    return visit.render("login.html.jinja", name="", to=to, problem="")


async def log_in(visit: Visiting) -> Response:
    """Open a session, under a new token."""
    accounts, form = visit.reception.accounts, visit.form
    name, to = form.get("name", ""), form.get("to", "")
    try:
        token = await accounts.aside(
            accounts.log_in, name, form.get("password", ""), asker(visit.request)
        )
    except REFUSALS as error:
        page = visit.render(
            "login.html.jinja", status_of(error), name=name, to=to, problem=sentence(error)
        )
        if isinstance(error, TooManyTries):
            page.headers["Retry-After"] = str(round(error.wait))
        return page
    if visit.login is not None:
        await run_in_threadpool(accounts.log_out, visit.account, visit.token)
    visit.renew(token)
    return visit.go(to if to and OWN.fullmatch(to) else "/")


def log_out(visit: Visiting) -> Response:
    """End the session, here and in the browser."""
    visit.reception.accounts.log_out(visit.account, visit.token)
    visit.forget()
    return visit.go("/login")


def own_account(visit: Visiting) -> Response:
    """Show who one is, and ask for another password."""
    return visit.render("own_account.html.jinja", problem="", shortest=SHORTEST)


async def change_password(visit: Visiting) -> Response:
    """Change one's own password, and end all other sessions."""
    accounts, form = visit.reception.accounts, visit.form
    new = form.get("password", "")
    try:
        if new != form.get("again", ""):
            raise BadAccount("the two new passwords differ; write the same one twice")
        token = await accounts.aside(
            accounts.change_password, visit.account, form.get("old", ""), new,
            asker(visit.request),
        )  # fmt: skip
    except REFUSALS as error:
        said = "The old password is wrong." if isinstance(error, WrongPassword) else sentence(error)
        return visit.render(
            "own_account.html.jinja", status_of(error), problem=said, shortest=SHORTEST
        )
    visit.renew(token)
    return visit.go("/", "Your password was changed, and your other sessions were ended.")
