"""Unreadable stored entries: pages that list them show the others and explain the problem."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import cheaptalk as ct
from cheaptalk.web import make_viewer
from cheaptalk.web.bots.pages import Page
from cheaptalk.web.console.study_pages import DEFAULT_DESIGN, check_design
from tests.played import WELL, play
from tests.web.laboratory.lab import STUDY, TEXT, Site, site

POLICY = (
    "name: {name}\ngames: [{{game: bargaining}}]\nplayers: {{a: {{policy: {policy}}}, b: fair}}\n"
)
DRAFTS = {
    "misspelt_policy": POLICY.format(name="misspelt_policy", policy="bargainin"),
    "policies": "games: [{game: bargaining}]\nplayers: {a: {policies: [nowhere]}}\n",
    "no_yaml": "games: [",
    "deep": "[" * 500,
    "list": "- 1",
    "other_name": DEFAULT_DESIGN.format(name="somebody"),
    "roster": "games: [{game: bargaining}]\nroster: /etc/hostname.yaml\n",
    "odd_roster": "games: [{game: bargaining}]\nroster: 5\n",
    "odd_players": "games: [{game: bargaining}]\nplayers: {1: 2, x: {policy: [3]}}\n",
}


def words(text: str) -> str:
    return " ".join(Page(text).words.split())


async def test_unreadable_draft_is_listed_with_its_problem(lab: Site) -> None:
    await lab.log_in()
    drafts = lab.laboratory.database.drafts
    for name, text in {"sound": DEFAULT_DESIGN.format(name="sound"), **DRAFTS}.items():
        drafts.create(name, text, "owner")
    listed = await lab.get("/")
    assert listed.status_code == 200
    assert listed.text.count(">invalid</span>") == len(DRAFTS)
    assert "Bargaining" in listed.text
    assert '"bargainin" is not a policy' in words(listed.text)
    for name in DRAFTS:
        assert name in listed.text
        for page in ("overview", "design", "matches", "data", "participants", "log", "delete"):
            response = await lab.get(f"/studies/{name}/{page}")
            assert response.status_code == 200, (name, page, response.text)
    assert (await lab.get("/start")).status_code == 200
    for query in ("copy", "change"):
        assert (await lab.get(f"/form?{query}=misspelt_policy")).status_code in (200, 303)


def test_exception_while_planning_is_a_problem_of_the_draft(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(_study: ct.Study) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("cheaptalk.web.console.study_pages.plan", crash)
    problem = check_design("pilot", DEFAULT_DESIGN.format(name="pilot")).problem
    assert "ZeroDivisionError" in problem
    assert "secret" not in problem


def test_problem_of_a_design_reveals_no_server_file(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("top secret")
    problems = set()
    for file in ("here", "missing"):
        path = tmp_path / file
        problem = check_design("a", POLICY.format(name="a", policy=path)).problem
        problems.add(problem.replace(f"/{file}", "").replace(file, ""))
        roster = f"name: a\ngames: [{{game: bargaining}}]\nroster: {path}.yaml\n"
        assert (
            "is a file; a laboratory reads only installed rosters"
            in check_design("a", roster).problem
        )
    assert len(problems) == 1


def test_designs_with_texts_or_texts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text('{% extends "plain.jinja" %}')
    named, text = tmp_path / "own.jinja", "{templates: {a.jinja: text}, style: a.jinja}"
    for players in (
        f"players: {{a: {{model: script/legal, style: {named}}}, b: fair}}",
        f"players: {{a: {{model: script/legal, style: {{bargaining: {named}}}}}, b: fair}}",
        f"players: {{a: {{model: script/legal, cross: {{style: [plain, {named}]}}}}, b: fair}}",
        f"players: {{a: script/legal, b: fair}}\nmodels: {{style: {named}}}",
        f"players: {{a: script/legal, b: fair}}\nmodels: {text}",
    ):
        design = f"name: a\ngames: [{{game: bargaining}}]\n{players}\n"
        problem = check_design("a", design).problem
        assert "is a template file; a laboratory uses only installed prompt styles" in problem
    hidden = "{model: script/legal, style: plain, templates: {plain: text}}"
    design = f"name: a\ngames: [{{game: bargaining}}]\nplayers: {{a: {hidden}, b: fair}}\n"
    assert '"plain" is not the name of a template file' in check_design("a", design).problem


async def test_damaged_files_do_not_affect_other_studies(tmp_path: Path) -> None:
    texts = {name: DEFAULT_DESIGN.format(name=name) for name in ("sound", "store", "spec", "note")}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "text.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty.yaml").write_bytes(b"")
    (tmp_path / "store.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    for name in ("spec", "note"):
        play(tmp_path, WELL | {"name": name})
    _damage(tmp_path / "spec.sqlite", "configurations", "parameters")
    outputs = tmp_path / "outputs" / "note"
    outputs.mkdir(parents=True)
    for name in ("report.html", "recipe-a.html", "export-csv.zip"):
        (outputs / name).write_text("made")
    (outputs / "report.html.json").write_text("{")
    (outputs / "recipe-a.html.json").write_text('{"title": 3}')
    (outputs / "export-csv.zip.json").write_text(
        '{"title": "Compared", "made": 1, "matches": 2, "policy": "", "seen": {"store": []}}'
    )
    async with site(tmp_path) as lab:
        await lab.log_in()
        for name in (*texts, "text", "empty"):
            draft = texts.get(name, DEFAULT_DESIGN.format(name=name))
            lab.laboratory.database.drafts.create(name, draft, "owner")
        listed = await lab.get("/")
        assert listed.status_code == 200, listed.text
        assert "cannot be read" in listed.text
        assert str(tmp_path) not in listed.text
        for name in (*texts, "text", "empty"):
            for page in ("overview", "design", "participants", "data", "log", "delete", "pay"):
                response = await lab.get(f"/studies/{name}/{page}")
                assert response.status_code < 500, (name, page, response.text)
                assert str(tmp_path) not in response.text
                assert page == "pay" or response.status_code == 200, (name, page, response.text)
        data = words((await lab.get("/studies/note/data")).text)
        assert "the note report.html.json cannot be read" in data
        assert "the note recipe-a.html.json cannot be read" in data
        assert "Compared" in data


NO_STORE = "file is not a database: the file is damaged or not a store"


async def test_pages_of_a_damaged_store_list_its_problems(tmp_path: Path) -> None:
    texts = {name: DEFAULT_DESIGN.format(name=name) for name in ("no_store", "status")}
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "no_store.sqlite").write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    play(tmp_path, WELL | {"name": "status"})
    _damage(tmp_path / "status.sqlite", "matches", "status")
    async with site(tmp_path) as lab:
        await lab.log_in()
        for name, text in (texts | {STUDY.name: TEXT}).items():
            lab.laboratory.database.drafts.create(name, text, "owner")
        await lab.laboratory.launch(STUDY.name, TEXT)
        await lab.participant("id-of-ann")
        _damage(tmp_path / "people.sqlite", "payments", "cents")
        for path, entry in {
            "no_store/matches": f"The store: no_store.sqlite: {NO_STORE}",
            "no_store/transcripts": f"The store: no_store.sqlite: {NO_STORE}",
            "status/matches": "Match ",
            "people/pay": "expected a whole number",
            "people/participants": "expected a whole number",
        }.items():
            response = await lab.get(f"/studies/{path}")
            assert response.status_code == 200, (path, response.text)
            text = words(response.text)
            assert "This page cannot be shown." in text
            assert entry in text.partition("Problems in the store")[2], path
            assert str(tmp_path) not in text
            tab = path.partition("/")[2].capitalize()
            assert f'aria-current="page">{tab}<' in response.text
        assert (await lab.get("/")).status_code == 200
        assert (await lab.get("/studies/people/matches")).status_code == 200
        sent = await lab.post("/studies/people/pay", "/account", form="csv")
        assert sent.status_code == 400
        assert "people.sqlite is damaged" in words(sent.text)


async def test_missing_participant_of_a_sound_store_returns_404(lab: Site) -> None:
    await lab.log_in()
    await lab.open_study()
    missing = await lab.get("/studies/people/participants/nobody")
    assert missing.status_code == 404
    assert "Problems in the store" not in missing.text


def test_viewer_lists_a_study_with_a_damaged_row(tmp_path: Path) -> None:
    play(tmp_path, WELL)
    store = tmp_path / "well.sqlite"
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(
            "insert into studies (name, spec, package, created) "
            "select 'broken', '{', package, created from studies"
        )
    with ct.Store.open(store) as opened:
        client = TestClient(
            make_viewer(opened), base_url="http://127.0.0.1", raise_server_exceptions=False
        )
        listed = client.get("/")
        assert listed.status_code == 200
        assert "broken: well.sqlite is damaged" in words(listed.text)
        assert "/studies/well" in listed.text
        refused = client.get("/studies/broken")
        assert refused.status_code == 404
        assert "well.sqlite is damaged" in refused.text


def _damage(store: Path, table: str, column: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute(f"update {table} set {column} = '{{'")  # noqa: S608 - our own names
