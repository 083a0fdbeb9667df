"""Pages of the console: access by role, and the handling of forms."""

import asyncio
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import Response
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.web.console.authentication import MAX_FORM_BYTES, STYLE
from cheaptalk.web.console.study_pages import DEFAULT_DESIGN
from cheaptalk.web.headers import HeadersMiddleware, page_headers
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.web.posted import Limit
from tests.web.asker import WILD, encode_form
from tests.web.console.office import CSRF, ROOT, Browser, Office, opened
from tests.web.console.test_study_form import PostedForm

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OPEN = {("GET", "/set-up"), ("POST", "/set-up"), ("GET", "/login"), ("POST", "/login")}
FIELDS = ["name", "role", "text", "version", "password", "old", "again", "code", "to", "csrf", "x"]


def routes(office: Office) -> list[tuple[str, str]]:
    registered = [route for route in office.app.routes if isinstance(route, APIRoute)]
    return [(method, route.path) for route in registered for method in route.methods or ()]


def address(path: str) -> str:
    return re.sub(r"\{.*?\}", "4", path.replace("{name}", "pilot"))


ROLES = {
    ("GET", "/"): Role.VIEWER, ("GET", "/account"): Role.VIEWER,
    ("POST", "/account/password"): Role.VIEWER, ("POST", "/log-out"): Role.VIEWER,
    ("GET", "/new-study"): Role.RESEARCHER, ("POST", "/new-study"): Role.RESEARCHER,
    ("GET", "/start"): Role.RESEARCHER, ("GET", "/form"): Role.RESEARCHER,
    ("POST", "/form"): Role.RESEARCHER, ("POST", "/form/counts"): Role.RESEARCHER,
    ("POST", "/form/file"): Role.RESEARCHER,
    ("POST", "/form/cost"): Role.RESEARCHER, ("POST", "/form/preview"): Role.RESEARCHER,
    ("GET", "/study_form.js"): Role.VIEWER,
    ("GET", "/live.js"): Role.VIEWER, ("GET", "/studies/{name}/delete"): Role.RESEARCHER,
    ("GET", "/studies/{name}/pay/{number}/file"): Role.RESEARCHER,
    ("GET", "/studies/{name}/preview"): Role.RESEARCHER, ("POST", "/preview"): Role.RESEARCHER,
    ("GET", "/preview/{key}"): Role.RESEARCHER, ("POST", "/preview/{key}"): Role.RESEARCHER,
    ("GET", "/studies/{name}/participants/{code}/erase"): Role.RESEARCHER,
    ("GET", "/files"): Role.VIEWER, ("POST", "/files"): Role.RESEARCHER,
    ("POST", "/files/remove"): Role.RESEARCHER,
    ("GET", "/studies/{name}/launch"): Role.RESEARCHER,
}  # fmt: skip


def minimum_role(method: str, path: str) -> Role:
    """Viewers may read studies, researchers may change them, and only owners manage accounts."""
    of_study = Role.VIEWER if method == "GET" else Role.RESEARCHER
    return ROLES.get((method, path), of_study if path.startswith("/studies/") else Role.OWNER)


async def send(browser: Browser, method: str, path: str, csrf: str) -> httpx2.Response:
    data = {"csrf": csrf} if method == "POST" else None
    return await browser.client.request(method, ROOT + address(path), data=data)


async def token(browser: Browser, page: str = "/account") -> str:
    form = CSRF.search((await browser.get(page)).text)
    assert form is not None
    return form[1]


async def test_every_route_requires_its_minimum_role(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Limit, "allows", lambda limit, client: True)
    people = {role: await office.log_in_as(role) for role in reversed(Role)}
    tokens = {role: await token(browser) for role, browser in people.items()}
    stranger = office.browser()
    csrf = await token(stranger, "/login")
    await office.log_in_as(Role.VIEWER, "the fourth")
    office.database.drafts.create("pilot", DEFAULT_DESIGN.format(name="pilot"), "owner")
    everything = [route for route in routes(office) if route[1] != "/log-out"]
    assert ROLES.keys() | OPEN <= set(everything) | {("POST", "/log-out")}
    for method, path in everything:
        response = await send(stranger, method, path, csrf)
        if (method, path) in OPEN:
            continue
        assert response.status_code == (403 if method == "POST" else 303), path
        for role, browser in people.items():
            response = await send(browser, method, path, tokens[role])
            needed = minimum_role(method, path)
            refused = "Your role does not allow this" in response.text
            assert refused is not role.may(needed), (method, path, role)
            assert (response.status_code == 403) is (refused or path == "/account/password")


async def test_route_without_a_role_is_forbidden(office: Office) -> None:
    owner = await office.log_in_as()
    office.app.get("/forgotten")(lambda: Response("seen"))
    assert (await owner.get("/forgotten")).status_code == 403


async def test_forged_forms_change_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limit, "allows", lambda limit, client: True)
    owner, stranger = await office.log_in_as(), office.browser()
    office.database.drafts.create("pilot", "x", "owner")
    before = office.database.audit.page()
    tokens = ["", "0" * 64, "ä", await token(stranger, "/login"), await token(owner)]
    fields = {"name": "eve", "role": "owner", "text": "y", "version": "1"}
    for csrf in tokens:
        headers = {"Sec-Fetch-Site": "cross-site"} if csrf == tokens[-1] else {}
        for method, path in routes(office):
            if method == "POST":
                sent = await owner.client.post(
                    ROOT + address(path), data=fields | {"csrf": csrf}, headers=headers
                )
                assert sent.status_code == 403, path
    assert office.database.audit.page() == before
    assert (await owner.get("/")).status_code == 200


async def test_concurrent_edits_of_a_study_conflict(office: Office) -> None:
    ann, bob = await office.log_in_as(), await office.log_in_as(Role.RESEARCHER, "bob")
    assert (await ann.post("/new-study", name="Pilot")).status_code == 303
    first = DEFAULT_DESIGN.format(name="Pilot")
    page = "/studies/Pilot/design"
    bobs_text, anns_text = first + "# bob's\n", first + "# ann's <b>\n"
    saved = await bob.post(page, text=bobs_text.replace("\n", "\r\n"), version="1")
    assert "Version 2 was saved." in await bob.follow(saved)
    late = await ann.post("/studies/PILOT/design", text=anns_text, version="1")
    assert late.status_code == 409
    assert bobs_text.replace("'", "&#39;") in late.text
    escaped = anns_text.replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;")
    assert escaped in late.text
    assert office.database.drafts.read("Pilot").text == bobs_text
    assert (await ann.post(page, text=anns_text, version="2")).status_code == 303
    draft = office.database.drafts.read("Pilot")
    assert (draft.text, draft.version, draft.changed_by) == (anns_text, 3, "owner")
    same = await bob.post(page, text=anns_text, version="1")
    assert (same.status_code, office.database.drafts.read("Pilot")) == (303, draft)


async def test_text_that_cannot_be_saved_is_returned(office: Office) -> None:
    browser = await office.log_in_as()
    office.database.drafts.create("pilot", "x", "owner")
    csrf = await token(browser)
    office.database.drafts.delete("pilot", 1, "owner")
    fields = {"csrf": csrf, "text": "an hour's <work>", "version": "1"}
    address = f"{ROOT}/studies/pilot/design"
    gone = await browser.client.post(address, data=fields)
    assert (gone.status_code, "an hour&#39;s &lt;work&gt;" in gone.text) == (404, True)
    office.clock.time += 13 * 3600
    over = await browser.client.post(address, data=fields)
    assert (over.status_code, "an hour&#39;s &lt;work&gt;" in over.text) == (403, True)


async def test_invalid_design_is_saved_and_its_problem_shown(office: Office) -> None:
    browser = await office.log_in_as()
    await browser.post("/new-study", name="pilot")
    page = "/studies/pilot/design"
    for version, (text, message) in enumerate((
        ("name: [", "line 1"), ("name: pilot\nplayer: {}", "player"),
        (DEFAULT_DESIGN.format(name="pilot2"), "here, not pilot2"),
        (DEFAULT_DESIGN.format(name="pilot").replace("boulware", "boulwark"),
        "mean &#34;boulware"),
    ), 1):  # fmt: skip
        posted = await browser.post(page, text=text, version=str(version))
        page_text = await browser.follow(posted)
        assert message in page_text
        assert "not a valid study" in page_text
        assert ">invalid</span>" in (await browser.get("/")).text
        assert office.database.drafts.read("pilot").text == text
    await browser.post(page, text=DEFAULT_DESIGN.format(name="pilot"), version="5")
    assert "not a valid study" not in (await browser.get(page)).text
    assert "Bargaining" in (await browser.get("/")).text
    assert "20\xa0matches" in (await browser.get("/studies/pilot/overview")).text
    for name in ("PILOT", "../x", "-x", "", "a b", "ä", "..", "x" * 81):
        refused = await browser.post("/new-study", name=name, text="mine")
        assert (refused.status_code in (400, 409), "mine" in refused.text) == (True, True)
    assert len(office.database.drafts.page()) == 1


async def test_studies_can_be_searched_and_are_paginated(office: Office) -> None:
    browser = await office.log_in_as(Role.OWNER)
    assert "No studies yet" in (await browser.get("/")).text
    for number in range(60):
        office.database.drafts.create(f"s{number}", f"about 100% of {number}", "owner")
    first, second = (await browser.get("/")).text, (await browser.get("/?after=50")).text
    assert [first.count("/overview"), second.count("/overview")] == [50, 10]
    assert "after=50" in first
    matching = (await browser.get("/?words=100%25+59")).text
    assert matching.count("/overview") == 1
    assert "No study matches your search" in (await browser.get("/?words=10_%25")).text
    log = (await browser.get("/log")).text
    assert log.count("study created") == 50


async def test_deletion_requires_the_version_that_was_shown(office: Office) -> None:
    browser = await office.log_in_as()
    office.database.drafts.create("pilot", "a\nb", "owner")
    page = "/studies/pilot/delete"
    assert "2\xa0lines, version 1" in (await browser.get(page)).text
    office.database.drafts.replace("pilot", "c", 1, "bob")
    late = await browser.post(page, version="1")
    assert (late.status_code, "bob has just changed this study" in late.text) == (409, True)
    gone = await browser.post(page, version="2")
    assert "pilot was deleted." in await browser.follow(gone)
    assert (await browser.get("/studies/pilot/overview")).status_code == 404
    assert office.database.audit.page("pilot")[0].deed == "study deleted"


async def test_confirmation_is_shown_only_to_its_user(office: Office) -> None:
    browser, viewer = await office.log_in_as(), await office.log_in_as(Role.VIEWER)
    created = await browser.post("/new-study", name="pilot")
    location = created.headers["location"]
    assert "pilot was created." in (await browser.client.get(location)).text
    assert "pilot was created." not in (await viewer.client.get(location)).text


class Console(NamedTuple):
    runner: asyncio.Runner
    office: Office
    owner: Browser


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setattr(Limit, "allows", lambda limit, client: True)
        context = opened(tmp_path_factory.mktemp("laboratory"))
        office = runner.run(context.__aenter__())
        yield Console(runner, office, runner.run(office.log_in_as()))
        runner.run(context.__aexit__(None, None, None))


@given(data=st.data())
def test_arbitrary_forms_cause_no_server_error(console: Console, data: st.DataObject) -> None:
    posts = [
        path for method, path in routes(console.office) if method == "POST" and path != "/log-out"
    ]
    path = data.draw(st.sampled_from(posts))
    value = data.draw(st.sampled_from(["pilot", "1", "0", "9" * 30, "..", "\x00", "ä", "nobody"]))
    value = quote(value)
    target = path.replace("{name}", value).replace("{number}", value)
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(FIELDS), WILD), max_size=6))
    proper = data.draw(st.booleans())

    async def send_it() -> httpx2.Response:
        if not console.office.database.drafts.page():
            console.office.database.drafts.create("pilot", "x", "owner")
        csrf = [("csrf", (await token(console.owner)).encode())] if proper else []
        body = encode_form([*csrf, *pairs])
        return await console.owner.client.post(ROOT + target, content=body, headers=FORM)

    response = console.runner.run(send_it())
    assert response.status_code in {201, 303} or 400 <= response.status_code < 500, response.text
    assert "<script>" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"


def test_malformed_forms_are_rejected(console: Console) -> None:
    for body, kind, status in [
        (b"text=" + b"x" * MAX_FORM_BYTES, "application/x-www-form-urlencoded", 413),
        (b'{"text": "x"}', "application/json", 415),
        (b"text=\xff", None, 400),
        (b"a=1&a=2", None, 400),
    ]:
        headers = {"Content-Type": kind} if kind else FORM
        sent = console.owner.client.post(f"{ROOT}/new-study", content=body, headers=headers)
        assert console.runner.run(sent).status_code == status


async def test_frequent_posts_are_rate_limited(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = await office.log_in_as()
    clients = list[str]()

    def never(limit: Limit, client: str) -> bool:
        clients.append(client)
        return False

    monkeypatch.setattr(Limit, "allows", never)
    assert (await browser.post("/new-study", name="pilot")).status_code == 429
    assert (await office.browser().log_in("owner")).status_code == 429
    assert clients == ["owner", "192.0.2.7"]
    assert office.database.drafts.page() == []


async def test_mounted_console_sends_its_own_headers(office: Office) -> None:
    outer = FastAPI()
    outer.mount(ROOT, office.app)
    outer.add_middleware(HeadersMiddleware, headers=page_headers("b { color: red }"))
    transport = httpx2.ASGITransport(outer)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        page = await client.get(f"{ROOT}/set-up")
        policy = page_headers(STYLE)["Content-Security-Policy"]
        assert page.headers.get_list("content-security-policy") == [policy]
        assert f"<style>{STYLE}</style>" in page.text


def test_unknown_addresses_return_an_error(console: Console) -> None:
    for path, status in (
        ("/nowhere", 404), ("/studies/none/design", 404), ("/accounts/77", 404),
        ("/accounts/x", 400), (f"/accounts/{'9' * 40}", 400), ("/?after=-1", 400),
        ("/log?before=0", 400), ("/?said=forged", 200),
    ):  # fmt: skip
        page = console.runner.run(console.owner.get(path))
        assert (page.status_code, "no-store" in page.headers["cache-control"]) == (status, True)


async def test_form_changes_a_design_without_overwriting_newer_versions(office: Office) -> None:
    ann, drafts = await office.log_in_as(Role.RESEARCHER), office.database.drafts
    drafts.create("pilot", DEFAULT_DESIGN.format(name="pilot"), "owner")
    for missing in ("preset", "copy", "change"):
        assert (await ann.get(f"/form?{missing}=none")).status_code == 404
    page = (await ann.get("/form?change=pilot")).text
    filled = dict(PostedForm(page).pairs)

    async def save(**fields: str) -> httpx2.Response:
        sent = filled | {"do": "save"} | fields
        return await ann.client.post(f"{ROOT}/form", data=sent)

    assert "Version 2 was saved" in await ann.follow(await save(instances="7"))
    assert drafts.read("pilot").version == 2
    assert "instances: 7" in drafts.read("pilot").text
    late = await save(instances="9")  # from the outdated page
    assert late.status_code == 409
    assert "instances: 9" in late.text
    assert "instances: 7" in late.text
    assert drafts.read("pilot").version == 2
    assert "twin was saved" in await ann.follow(await save(name="twin"))
    assert {draft.name for draft in drafts.page()} == {"twin", "pilot"}
    assert (await save(name="twin")).status_code == 409
