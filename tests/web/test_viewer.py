import base64
import hashlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from starlette.applications import Starlette
from starlette.routing import Mount

import cheaptalk as ct
from cheaptalk.records.store import queries as browsing
from cheaptalk.reports.pages import PORT
from cheaptalk.web import make_viewer
from tests.fakes import Canned, Refusing, study, with_model
from tests.judges import judged
from tests.pages import Cell, Page
from tests.played import BADLY, EVIL, HALTED, WELL, play


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of three stores, each with the study that it is named after."""
    path = tmp_path_factory.mktemp("stores")
    for spec in (WELL, BADLY, HALTED):
        play(path, spec)
    return path


class Viewer:
    """A browser without scripts on the viewer of a store."""

    def __init__(self, store: ct.Store) -> None:
        self.store = store
        self.client = TestClient(make_viewer(store), base_url="http://127.0.0.1")

    def page(self, path: str, status: int = 200) -> Page:
        response = self.client.get(path)
        assert response.status_code == status, response.text
        return Page(response.text)

    def matches(self, path: str) -> list[str]:
        """Return the ids of all matches of a list, over all its pages."""
        match: list[str] = []
        while path:
            page = self.page(path)
            links = [link for link in page.attributes("href") if link.startswith("/matches/")]
            match += [urlsplit(link).path.removeprefix("/matches/") for link in links]
            next_page = [a["href"] or "" for _, a in page.elements if a.get("rel") == "next"]
            path = next_page[0] if next_page else ""
        return match


def viewer_of(name: str) -> Any:
    """Return a fixture with the viewer of one of the stores."""

    @pytest.fixture
    def viewer(folder: Path) -> Iterator[Viewer]:
        with ct.Store.open(folder / f"{name}.sqlite") as store:
            yield Viewer(store)

    return viewer


well, badly, halted = map(viewer_of, ("well", "badly", "halted"))


def test_studies_link_to_pairings_and_their_matches(badly: Viewer) -> None:
    (link,) = [link for link in badly.page("/").attributes("href") if "studies" in link]
    page = badly.page(link)
    records = list(badly.store.records("badly"))
    labels: list[str] = []
    for name in ("bargaining", "persuasion"):
        for row in page.tables[f"badly-{name}"][1:]:
            for cell in row[2:]:
                ids = badly.matches(cell.link) if cell.link else []
                assert len(ids) == cell.number()
                labels += ids
    assert sorted(labels) == sorted(record.id for record in records)


def test_lists_contain_every_match_once_and_in_order(well: Viewer) -> None:
    stored = [record.id for record in well.store.records("well") if record.game == "bargaining"]
    assert len(stored) > 100
    assert well.matches("/studies/well/bargaining") == stored


def test_links_of_a_mounted_viewer_stay_below_its_root(badly: Viewer) -> None:
    root = "/console/studies/badly/transcripts"
    site = Starlette(routes=[Mount(root, make_viewer(badly.store, hosts=["*"]))])
    client = TestClient(site, base_url="https://lab.example.org")
    record = next(match for match in badly.store.records("badly") if match.game == "persuasion")
    match_path = f"matches/{record.id}"
    for path in (
        "",
        "studies/badly",
        "studies/badly/persuasion?status=finished",
        match_path,
        "studies/x",
    ):
        response = client.get(f"{root}/{path}")
        assert response.status_code == (404 if path == "studies/x" else 200)
        page = Page(response.text)
        links = [link for link in page.attributes("href") if not link.startswith("#")]
        sent = [a["action"] for tag, a in page.elements if tag == "form"]
        assert [link for link in links + sent if not link or not link.startswith(root)] == []
        assert links


def test_filters(badly: Viewer) -> None:
    filters: list[tuple[str, Callable[[Any], object]]] = [
        ("status=forfeited", lambda r: r.status == "forfeited"),
        ("player=mute", lambda r: "mute" in {r.label("alice"), r.label("bob")}),
        ("player_alice=mute", lambda r: r.label("alice") == "mute"),
        (
            "player_alice=mute&player_bob=broken",
            lambda r: r.label("alice") == "mute" and r.label("bob") == "broken",
        ),
        (
            "forfeit_alice=mute",
            lambda r: (
                r.status == "forfeited"
                and r.label("alice") == "mute"
                and "unparsable" in r.kinds.get("alice", {})
            ),
        ),
        ("kind=repaired", lambda r: any("repaired" in kinds for kinds in r.kinds.values())),
        ("kind_bob=unparsable", lambda r: "unparsable" in r.kinds.get("bob", {})),
        ("parameters=MYOPIC%3Dtrue", lambda r: r.parameters["myopic"]),
        ("parameters=text+myopic%3Dfalse", lambda r: not r.parameters["myopic"]),
        ("player_alice=nobody", lambda r: False),
        ("status=&player=&kind=&parameters=", lambda r: True),
    ]
    for query, keep in filters:
        records = [r for r in badly.store.records("badly") if r.game == "persuasion"]
        expected = [record.id for record in records if keep(record)]
        assert badly.matches(f"/studies/badly/persuasion?{query}") == expected
        message = f"{len(expected)} match{'es' if len(expected) != 1 else ''}"
        assert message in badly.page(f"/studies/badly/persuasion?{query}").text


def test_configurations_are_found_by_their_digests(badly: Viewer) -> None:
    records = [r for r in badly.store.records("badly") if r.game == "persuasion"]
    digests = {record.id: record.configuration.digest for record in records}
    unique = list(dict.fromkeys(digests.values()))
    assert len(unique) > 1
    for chosen in (unique[:1], unique[:2]):
        selected = [id_ for id_, digest in digests.items() if digest in chosen]
        path = f"/studies/badly/persuasion?configuration={','.join(chosen)}"
        assert badly.matches(path) == selected
        assert f'name="configuration" value="{",".join(chosen)}"' in badly.client.get(path).text


def test_report_links_find_as_many_matches_as_reported(badly: Viewer, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    ct.reports.report(badly.store, "badly", out)
    page = Page(out.read_text())
    faulty = {
        record.id
        for record in badly.store.records("badly")
        if any(set(kinds) - {"ok"} for kinds in record.kinds.values())
    }

    def links(cell: Cell) -> list[str]:
        return badly.matches((cell.link or "").removeprefix(f"http://127.0.0.1:{PORT}"))

    for row in page.rows("persuasion-pairings"):
        statuses = [row[name] for name in ("Finished", "Forfeited", "Failed")]
        for heading, cell in row.items():
            if not cell.link:
                continue
            if heading == "Valid at first try":
                assert len(links(cell)) == sum(link.number() or 0 for link in statuses)
            elif cell in statuses:
                assert len(links(cell)) == cell.number()
            else:
                assert len(links(cell)) == row["Finished"].number()
    for row in page.rows("persuasion-answers"):
        assert all(set(links(row[kind])) <= faulty for kind in ("Repaired", "Unparsable"))


def test_match_page_shows_the_transcript_with_every_call(badly: Viewer) -> None:
    for record in badly.store.records("badly", bodies=True):
        if record.status in ("failed", "live"):
            continue
        text = " ".join(badly.page(f"/matches/{record.id}?study=badly").text.split())
        for line in ct.records.transcript(record):
            assert " ".join(line.text.split()) in text
            for call in line.calls:
                assert " ".join((call["reply"]["text"]).split()) in text
                for message in call["call"]["messages"]:
                    assert " ".join(message["content"].split()) in text
        assert "100 tokens in, 10 out, 1.50 s" in text or "100 tokens in, 10 out, 0.25 s" in text
        assert record.status.value in text


def test_messages_of_players_are_inert(badly: Viewer) -> None:
    paths = ["/", "/studies/badly", "/studies/badly/bargaining"]
    paths += [f"/matches/{record.id}" for record in badly.store.records("badly")]
    for path in paths:
        page = badly.page(path)
        assert len(page.scripts) == 1
        assert page.tags().isdisjoint({"img", "iframe", "object", "embed", "link", "base"})
        assert not any(name.startswith("on") for _, scripts in page.elements for name in scripts)
        assert " ".join(EVIL.split()) in " ".join(page.text.split()) or "mute" in page.text


def test_failed_match_shows_its_calls_and_the_provider_s_error(badly: Viewer) -> None:
    failed = [record for record in badly.store.records("badly") if record.status == "failed"]
    page = badly.page(f"/matches/{failed[0].id}")
    assert "Unresolved calls" in page.text
    assert ", request 0" in page.text, "as exports number it"
    assert f"failed: {failed[0].why}" in page.text
    assert "out of order <script>" in page.text


def test_live_match_shows_the_calls_so_far(halted: Viewer) -> None:
    live = [record for record in halted.store.records("halted") if record.status == "live"]
    assert live
    pending = [record for record in live if halted.store.open_calls(record.id)]
    page = halted.page(f"/matches/{pending[0].id}")
    assert "This match has not ended" in page.text
    assert "answered" in page.text


def test_match_under_other_rules_is_shown_as_recorded(tmp_path: Path) -> None:
    path = play(tmp_path, WELL | {"instances": 1, "repeats": 1})
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update configurations set version = 7")
    with ct.Store.open(path) as store:
        record = next(store.records("well", bodies=True))
        text = Viewer(store).page(f"/matches/{record.id}").text
    assert "version 7 of the rules" in text
    assert f"{record.answers[0].actor} (ok)" in text


def test_unknown_pages_return_404(well: Viewer) -> None:
    for path, message in [
        ("/studies/wel", 'did you mean "well"'),
        ("/studies/well/bargainin", 'did you mean "bargaining"'),
        ("/matches/00", 'no match "00"'),
        ("/matches/00?study=well", 'no match "00" in well'),
    ]:
        assert message in well.page(path, 404).text


def test_viewer_is_local_and_read_only(well: Viewer) -> None:
    assert well.client.get("/", headers={"Host": "evil.example"}).status_code == 400
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert well.client.request(method, "/studies/well").status_code == 405


def test_page_loads_nothing_and_runs_only_its_own_script(well: Viewer) -> None:
    response = well.client.get("/studies/well")
    (script,) = Page(response.text).running()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = response.headers["content-security-policy"]
    assert f"default-src 'none'; script-src 'sha256-{digest}';" in policy
    assert all(link.startswith(("/", "#")) for link in Page(response.text).attributes("href"))


def test_command_prints_its_address(folder: Path) -> None:
    command = [sys.executable, "-m", "cheaptalk", "view", "well", "--port", "0"]
    environment = os.environ | {"CHEAPTALK_STORE": str(folder / "well.sqlite")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            match = re.match(r"Open (\S+/studies/well) ", process.stdout.readline())
            assert match
            with urllib.request.urlopen(match[1], timeout=30) as response:  # noqa: S310 - our own
                text = response.read().decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
        finally:
            process.kill()
    assert "Three games, &lt;b&gt;all&lt;/b&gt; finished." in text


def test_port_in_use_is_named(folder: Path) -> None:
    with ct.web.listen(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ct.CheaptalkError, match=f"port {port} cannot be used"):
            ct.web.listen(port)


@pytest.fixture
def discussion(tmp_path: Path) -> Iterator[Viewer]:
    with ct.Store.open(tmp_path / "talk.sqlite", create=True) as store:
        judged.play(store, instances=12)
        yield Viewer(store)


def test_messages_can_be_searched_page_by_page(
    discussion: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/studies/talk/deal_or_no_deal?says=i+TAKE+2+books"
    spoken = [
        record.id
        for record in discussion.store.records("talk", bodies=True)
        if any("I take 2 books" in str(answer.action) for answer in record.answers)
    ]
    assert 0 < len(spoken) < 12
    assert discussion.matches(path) == spoken
    monkeypatch.setattr(browsing, "SEARCHED", 5)
    assert discussion.matches(path) == spoken
    assert "of the next 5 matches" in discussion.page(path).text
    assert discussion.matches("/studies/talk/deal_or_no_deal?says=elephant") == []


def test_match_page_shows_judgements(discussion: Viewer) -> None:
    first = next(discussion.store.records("talk"))
    path = f"/matches/{first.id}?study=talk"
    assert "Judgements" not in discussion.page(path).text
    models = judged.always("false value")
    ct.judge(discussion.store, "talk", judged.judge_of(), models=models)
    text = discussion.page(path).text
    assert "Judgements" in text
    assert "false value" in text
    assert "vllm/judge" in text


def test_dropped_and_replaced_matches_are_marked(tmp_path: Path) -> None:
    spec = study(**with_model(), unanswered={"refused": "replace"})
    with ct.Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(spec, store, models=Refusing(1), concurrency=1)
        viewer = Viewer(store)
        text = viewer.page("/studies/small").text
        assert "1 match with invalid answers excluded from metrics, 1 match replaced" in text
        pages = {record.id: viewer.page(f"/matches/{record.id}").text for record in store.records()}
        (first,) = (record for record in store.records() if "forfeited" in record.status.value)
        (replacement,) = (record for record in store.records() if "+" in record.instance_key)
        message = "excluded from metrics: alice refused"
        assert [id_ for id_, page in pages.items() if message in page] == [first.id]
        assert viewer.page("/studies/small/bargaining").text.count(message) == 1
        assert (
            f"a replacement match on a new instance for match {first.id}" in pages[replacement.id]
        )
        store.register_study("small", spec.written() | {"unanswered": {}})
        assert message not in viewer.page(f"/matches/{first.id}").text


def test_study_page_shows_why_the_last_run_halted(tmp_path: Path) -> None:
    spec = study(**with_model(), budget={"calls": 1})
    with ct.Store.open(tmp_path / "s.sqlite", create=True) as store:
        ct.run(spec, store, models=Canned())
        text = Viewer(store).page("/studies/small").text
    assert "The last run stopped: the budget of 1 call is exhausted." in text


def test_pages_follow_changes_of_the_store(discussion: Viewer) -> None:
    path = "/studies/talk/deal_or_no_deal"
    assert len(discussion.matches(path)) == 12
    discussion.page("/studies/talk/bargaining", 404)
    judged.play(discussion.store, instances=15)
    assert len(discussion.matches(path)) == 15
