"""Authentication in the console: setup, login, sessions and accounts."""

from pathlib import Path

import httpx2
import pytest
from argon2 import PasswordHasher

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.accounts import Accounts, TooManyLogins
from cheaptalk.web.laboratory.database import FILE, LaboratoryDatabase
from cheaptalk.web.laboratory.staff import IDLE_SECONDS, SESSION_SECONDS, Role
from cheaptalk.web.posted import LoginThrottle
from tests.web.console.office import PASSWORD, QUICK, ROOT, SECRET, Clock, Office

ANN = {"name": "ann", "password": PASSWORD, "again": PASSWORD}


def is_logged_in(response: httpx2.Response) -> bool:
    """Return whether a response is the list of studies rather than a redirect to the login."""
    assert response.status_code in (200, 303), response.text
    return response.status_code == 200


async def test_setup_requires_the_code_and_works_once(office: Office) -> None:
    browser = office.browser()
    assert (await browser.get("/")).headers["location"] == f"{ROOT}/set-up"
    for wrong in ("", "AAAA-BBBB-CCCC", "ä"):
        refused = await browser.post("/set-up", **ANN, code=wrong)
        assert (refused.status_code, "The code is wrong" in refused.text) == (403, True)
    for bad in (ANN | {"again": "another one"}, ANN | {"password": "short", "again": "short"},
                {"name": PASSWORD, "password": PASSWORD, "again": PASSWORD}):  # fmt: skip
        retry = await browser.post("/set-up", **bad, code=office.code)
        assert retry.status_code == 400
        assert f'value="{office.code}"' in retry.text
    assert not office.database.staff.any()
    late = office.browser()
    await late.get("/set-up")
    created = await browser.post("/set-up", **ANN, code=office.code.lower())
    assert "The laboratory is ready" in await browser.follow(created)
    assert office.database.staff.account("ANN").role is Role.OWNER
    assert (await browser.get("/set-up")).status_code == 404
    retry = await late.post("/set-up", "/login", **ANN, code=office.code)
    assert retry.status_code == 409
    assert len(office.database.staff.all()) == 1


async def test_wrong_passwords_lock_an_account_even_for_the_right_one(office: Office) -> None:
    await office.log_in_as()
    for name in ("owner", "nobody there"):
        browser = office.browser()
        responses = set()
        for _ in range(10):
            wrong = await browser.log_in(name, "wrong password")
            responses.add((wrong.status_code, "The name or password is wrong." in wrong.text))
        assert responses == {(403, True)}
        right = await office.browser("198.51.100.1").log_in(name)
        assert (right.status_code, "in 15 minutes" in right.text) == (429, True)
        assert right.headers["retry-after"] == "900"
    office.clock.time += 901
    assert (await browser.log_in("owner")).status_code == 303
    deeds = [entry.deed for entry in office.database.audit.page()]
    assert deeds.count("wrong password") == 20
    assert deeds.count("logged in") == 2


def test_wrong_passwords_lock_an_address(tmp_path: Path) -> None:
    clock = Clock()
    with LaboratoryDatabase(tmp_path, clock) as database:
        accounts = Accounts(database, "CODE", QUICK)
        database.staff.create_owner("ann", QUICK.hash(PASSWORD))
        for number in range(50):
            with pytest.raises(CheaptalkError, match="wrong"):
                accounts.log_in(f"guess {number}", PASSWORD, "here")
        for late in (lambda: accounts.log_in("ann", PASSWORD, "here"),
                     lambda: accounts.create_owner("CODE", "eve", PASSWORD, "here")):  # fmt: skip
            with pytest.raises(TooManyLogins):
                late()
        assert accounts.staff.login(accounts.log_in("ann", PASSWORD, "there"))


def test_correct_passwords_do_not_count_towards_the_limit(tmp_path: Path) -> None:
    login_throttle = LoginThrottle(2, 60, Clock())
    login_throttle.count("ann")
    login_throttle.undo("ann")
    login_throttle.count("ann")
    assert login_throttle.wait("ann") == 0
    with LaboratoryDatabase(tmp_path) as database:
        accounts = Accounts(database, "", QUICK)
        database.staff.create_owner("ann", QUICK.hash(PASSWORD))
        for wrong in [*["wrong password"] * 9, PASSWORD] * 2:
            if wrong == PASSWORD:
                assert accounts.log_in("ann", wrong, "here")
            else:
                with pytest.raises(CheaptalkError, match="wrong"):
                    accounts.log_in("ann", wrong, "here")


async def test_sessions_end_on_logout_and_when_idle(office: Office) -> None:
    browser = await office.log_in_as()
    old = browser.token
    assert is_logged_in(await browser.get("/"))
    logged_out = await browser.post("/log-out", "/account")
    assert "logged out" in [entry.deed for entry in office.database.audit.page()]
    assert logged_out.headers["location"] == f"{ROOT}/login"
    browser.client.cookies.clear()
    browser.client.cookies.set("cheaptalk-console", old)
    assert not is_logged_in(await browser.get("/"))

    browser.client.cookies.clear()
    await browser.log_in("owner")
    office.clock.time += IDLE_SECONDS - 1
    assert is_logged_in(await browser.get("/"))
    office.clock.time += IDLE_SECONDS + 1
    assert not is_logged_in(await browser.get("/"))


def test_session_lasts_at_most_a_week(tmp_path: Path) -> None:
    clock = Clock()
    with LaboratoryDatabase(tmp_path, clock) as database:
        accounts = Accounts(database, "", QUICK)
        database.staff.create_owner("ann", QUICK.hash(PASSWORD))
        token, end = accounts.log_in("ann", PASSWORD, "here"), clock.time + SESSION_SECONDS
        while clock.time + IDLE_SECONDS - 1 < end:
            clock.time += IDLE_SECONDS - 1
            assert accounts.staff.login(token)
        clock.time = end
        assert accounts.staff.login(token) is None


async def test_changing_the_password_ends_other_sessions(office: Office) -> None:
    browser, other_browser = await office.log_in_as(), office.browser()
    await other_browser.log_in("owner")
    before = browser.token
    new = {"password": "battery staple", "again": "battery staple"}
    wrong = await browser.post("/account/password", "/account", old="no", **new)
    assert (wrong.status_code, "current password is wrong" in wrong.text) == (403, True)
    assert is_logged_in(await other_browser.get("/"))
    changed = await browser.post("/account/password", "/account", old=PASSWORD, **new)
    assert "was changed" in await browser.follow(changed)
    assert browser.token != before
    assert not is_logged_in(await other_browser.get("/"))
    assert (await other_browser.log_in("owner")).status_code == 403
    assert (await other_browser.log_in("owner", "battery staple")).status_code == 303


async def test_login_sets_a_new_token_in_a_protected_cookie(office: Office) -> None:
    await office.log_in_as()
    browser = office.browser()
    await browser.get("/login")
    before = browser.token
    cookie = (await browser.log_in("owner")).headers["set-cookie"]
    assert browser.token != before
    for part in ("HttpOnly", "SameSite=strict", f"Path={ROOT}"):
        assert part in cookie
    assert "Secure" not in cookie
    browser.client.base_url = httpx2.URL("https://test")
    browser.client.cookies.clear()
    safe = await browser.get("/login")
    assert "Secure" in safe.headers["set-cookie"]
    assert "max-age" in safe.headers["strict-transport-security"]


async def test_owners_invite_disable_and_reset(office: Office) -> None:
    owner, visitor = await office.log_in_as(), office.browser()
    invited = await owner.post("/accounts", name=" Bea ", role="researcher")
    secret = SECRET.search(invited.text)
    assert secret is not None
    taken = await owner.post("/accounts", name="bea", role="viewer")
    assert (taken.status_code, "account named bea" in taken.text) == (409, True)
    await visitor.log_in("bea", secret[1])
    assert (await visitor.get("/")).headers["location"].startswith(f"{ROOT}/account?")
    assert (await visitor.post("/new-study", "/account", name="x")).status_code == 303
    assert office.database.drafts.page() == []
    new = {"password": "battery staple", "again": "battery staple"}
    await visitor.post("/account/password", "/account", old=secret[1], **new)
    assert is_logged_in(await visitor.get("/"))

    page = f"/accounts/{office.database.staff.account('bea').id}"
    await owner.post(f"{page}/disable", page)
    assert not is_logged_in(await visitor.get("/"))
    assert (await visitor.log_in("bea", "battery staple")).status_code == 403
    await owner.post(f"{page}/enable", page)
    assert (await visitor.log_in("bea", "battery staple")).status_code == 303
    reset = SECRET.search((await owner.post(f"{page}/reset", page)).text)
    assert reset is not None
    assert not is_logged_in(await visitor.get("/"))
    assert (await visitor.log_in("bea", "battery staple")).status_code == 403
    assert (await visitor.log_in("bea", reset[1])).status_code == 303


async def test_last_active_owner_cannot_be_removed(office: Office) -> None:
    owner = await office.log_in_as()
    await office.log_in_as(Role.RESEARCHER)
    for deed, fields in (("disable", {}), ("role", {"role": "viewer"})):
        refused = await owner.post(f"/accounts/1/{deed}", "/accounts/1", **fields)
        assert (refused.status_code, "only active owner" in refused.text) == (409, True)
    await owner.post("/accounts/2/role", "/accounts/2", role="owner")
    response = await owner.post("/accounts/1/role", "/accounts/1", role="viewer")
    assert response.status_code == 303
    assert (await owner.get("/accounts")).status_code == 403


async def test_login_redirects_only_within_the_console(office: Office) -> None:
    await office.log_in_as()
    for to in (
        "//evil.example", "https://evil.example", "/\\evil.example", "x//y", "/\tx",
        "/%2f/evil", "javascript:alert(1)", "@evil.example", "/a//b",
    ):  # fmt: skip
        sent = await office.browser().post("/login", name="owner", password=PASSWORD, to=to)
        assert sent.headers["location"] == f"{ROOT}/"
    browser = office.browser()
    away = (await browser.get("/studies/pilot/design")).headers["location"]
    assert away == f"{ROOT}/login?to=/studies/pilot/design"
    page = away.removeprefix(ROOT)
    sent = await browser.post(
        "/login", page, name="owner", password=PASSWORD, to="/studies/pilot/design"
    )
    assert sent.headers["location"] == f"{ROOT}/studies/pilot/design"


async def test_database_contains_no_password_or_token(tmp_path: Path, office: Office) -> None:
    browser = office.browser()
    await browser.post("/set-up", **ANN, code=office.code)
    await office.browser().log_in("ann", "a wrong password")
    invited = SECRET.search((await browser.post("/accounts", name="b", role="viewer")).text)
    assert invited is not None
    secrets = [PASSWORD, "a wrong password", office.code, invited[1], browser.token]
    await browser.get("/account")
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"argon2id" in content
    assert [secret for secret in secrets if secret.encode() in content] == []
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


def test_password_is_rehashed_when_parameters_change(tmp_path: Path) -> None:
    with LaboratoryDatabase(tmp_path) as database:
        database.staff.create_owner("ann", QUICK.hash(PASSWORD))
        hasher = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
        accounts = Accounts(database, "", hasher)
        accounts.log_in("ann", PASSWORD, "here")
        assert not hasher.check_needs_rehash(database.staff.account("ann").password)
        assert accounts.log_in("ann", PASSWORD, "here")
