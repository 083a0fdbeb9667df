"""Who comes in to the console, and who does not."""

from pathlib import Path

import httpx2
import pytest
from argon2 import PasswordHasher

from cheaptalk.rules import CheaptalkError
from cheaptalk.web.console.accounts import IDLE_SECONDS, SESSION_SECONDS, Accounts, TooManyLogins
from cheaptalk.web.laboratory.database import FILE, LaboratoryDatabase
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.login_throttle import LoginThrottle
from tests.web.console.office import PASSWORD, QUICK, ROOT, SECRET, Clock, Office, in_office

OWN = {"name": "ann", "password": PASSWORD, "again": PASSWORD}


def inside(answer: httpx2.Response) -> bool:
    """Whether an answer is the list of studies, and no way to the login."""
    assert answer.status_code in (200, 303), answer.text
    return answer.status_code == 200


def test_setting_up_needs_the_code_and_is_done_once(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        browser = office.browser()
        assert (await browser.get("/")).headers["location"] == f"{ROOT}/set-up"
        for wrong in ("", "AAAA-BBBB-CCCC", "ä"):
            refused = await browser.post("/set-up", **OWN, code=wrong)
            assert (refused.status_code, "The code is wrong" in refused.text) == (403, True)
        for bad in (OWN | {"again": "another one"}, OWN | {"password": "short", "again": "short"},
                    {"name": PASSWORD, "password": PASSWORD, "again": PASSWORD}):  # fmt: skip
            retry = await browser.post("/set-up", **bad, code=office.code)
            assert retry.status_code == 400
            assert f'value="{office.code}"' in retry.text
        assert not office.database.staff.any()
        late = office.browser()
        await late.get("/set-up")
        created = await browser.post("/set-up", **OWN, code=office.code.lower())
        assert "The laboratory is ready" in await browser.shown(created)
        assert office.database.staff.account("ANN").role is Role.OWNER
        assert (await browser.get("/set-up")).status_code == 404
        retry = await late.post("/set-up", "/login", **OWN, code=office.code)
        assert retry.status_code == 409
        assert len(office.database.staff.all()) == 1

    in_office(tmp_path, work)


def test_too_many_wrong_passwords_shut_an_account_even_for_the_right_one(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        await office.somebody()
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

    in_office(tmp_path, work)


def test_too_many_wrong_passwords_shut_an_address(tmp_path: Path) -> None:
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
        assert accounts.login(accounts.log_in("ann", PASSWORD, "there"))


def test_passwords_that_were_right_are_not_counted(tmp_path: Path) -> None:
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


def test_sessions_end(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        browser = await office.somebody()
        old = browser.token
        assert inside(await browser.get("/"))
        logged_out = await browser.post("/log-out", "/account")
        assert logged_out.headers["location"] == f"{ROOT}/login"
        browser.client.cookies.clear()
        browser.client.cookies.set("cheaptalk-console", old)
        assert not inside(await browser.get("/"))

        browser.client.cookies.clear()
        await browser.log_in("owner")
        office.clock.time += IDLE_SECONDS - 1
        assert inside(await browser.get("/"))
        office.clock.time += IDLE_SECONDS + 1
        assert not inside(await browser.get("/"))

    in_office(tmp_path, work)


def test_a_session_lasts_a_week_at_most(tmp_path: Path) -> None:
    clock = Clock()
    with LaboratoryDatabase(tmp_path, clock) as database:
        accounts = Accounts(database, "", QUICK)
        database.staff.create_owner("ann", QUICK.hash(PASSWORD))
        token, end = accounts.log_in("ann", PASSWORD, "here"), clock.time + SESSION_SECONDS
        while clock.time + IDLE_SECONDS - 1 < end:
            clock.time += IDLE_SECONDS - 1
            assert accounts.login(token)
        clock.time = end
        assert accounts.login(token) is None


def test_another_password_ends_the_other_sessions(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        browser, other_browser = await office.somebody(), office.browser()
        await other_browser.log_in("owner")
        before = browser.token
        new = {"password": "battery staple", "again": "battery staple"}
        wrong = await browser.post("/account/password", "/account", old="no", **new)
        assert (wrong.status_code, "current password is wrong" in wrong.text) == (403, True)
        assert inside(await other_browser.get("/"))
        changed = await browser.post("/account/password", "/account", old=PASSWORD, **new)
        assert "was changed" in await browser.shown(changed)
        assert browser.token != before
        assert not inside(await other_browser.get("/"))
        assert (await other_browser.log_in("owner")).status_code == 403
        assert (await other_browser.log_in("owner", "battery staple")).status_code == 303

    in_office(tmp_path, work)


def test_a_login_has_a_token_of_its_own_in_a_guarded_cookie(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        await office.somebody()
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

    in_office(tmp_path, work)


def test_owners_invite_disable_and_reset(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        owner, visitor = await office.somebody(), office.browser()
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
        assert inside(await visitor.get("/"))

        page = f"/accounts/{office.database.staff.account('bea').id}"
        await owner.post(f"{page}/disable", page)
        assert not inside(await visitor.get("/"))
        assert (await visitor.log_in("bea", "battery staple")).status_code == 403
        await owner.post(f"{page}/enable", page)
        assert (await visitor.log_in("bea", "battery staple")).status_code == 303
        reset = SECRET.search((await owner.post(f"{page}/reset", page)).text)
        assert reset is not None
        assert not inside(await visitor.get("/"))
        assert (await visitor.log_in("bea", "battery staple")).status_code == 403
        assert (await visitor.log_in("bea", reset[1])).status_code == 303

    in_office(tmp_path, work)


def test_the_last_owner_stays(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        owner = await office.somebody()
        await office.somebody(Role.RESEARCHER)
        for deed, fields in (("disable", {}), ("role", {"role": "viewer"})):
            refused = await owner.post(f"/accounts/1/{deed}", "/accounts/1", **fields)
            assert (refused.status_code, "only active owner" in refused.text) == (409, True)
        await owner.post("/accounts/2/role", "/accounts/2", role="owner")
        response = await owner.post("/accounts/1/role", "/accounts/1", role="viewer")
        assert response.status_code == 303
        assert (await owner.get("/accounts")).status_code == 403

    in_office(tmp_path, work)


def test_no_login_leads_away(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        await office.somebody()
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

    in_office(tmp_path, work)


def test_no_password_and_no_token_is_in_the_file(tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        browser = office.browser()
        await browser.post("/set-up", **OWN, code=office.code)
        await office.browser().log_in("ann", "a wrong password")
        invited = SECRET.search((await browser.post("/accounts", name="b", role="viewer")).text)
        assert invited is not None
        secrets = [PASSWORD, "a wrong password", office.code, invited[1], browser.token]
        await browser.get("/account")
        content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"argon2id" in content
        assert [secret for secret in secrets if secret.encode() in content] == []
        assert (tmp_path / FILE).stat().st_mode & 0o077 == 0

    in_office(tmp_path, work)


def test_a_password_is_hashed_anew_when_parameters_change(tmp_path: Path) -> None:
    with LaboratoryDatabase(tmp_path) as database:
        database.staff.create_owner("ann", QUICK.hash(PASSWORD))
        hasher = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
        accounts = Accounts(database, "", hasher)
        accounts.log_in("ann", PASSWORD, "here")
        assert not hasher.check_needs_rehash(database.staff.account("ann").password)
        assert accounts.log_in("ann", PASSWORD, "here")
