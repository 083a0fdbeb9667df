"""Uploads of images and templates for participants, and the studies that show them."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from cheaptalk.studies import load_study
from cheaptalk.studies.people.page_texts.files import content_of
from cheaptalk.web.laboratory.designs import read_design
from cheaptalk.web.laboratory.library import with_file
from cheaptalk.web.laboratory.staff import Role
from cheaptalk.yaml_files import parse_yaml
from tests.studies.people.test_texts import PNG, SVG
from tests.web.console.office import CSRF, ROOT, Browser, Office, opened

DESIGN = """\
# A pilot with a picture
name: pilot
games: [{game: bargaining}]
players: {people: {person: browser}, bot: equal_split}
pairing: [[people, bot]]
people:
  path:  # the steps
    - consent: "See ![the scheme](scheme.png)."
    - games
"""
FILES = "/studies/pilot/files"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with opened(tmp_path) as office:
        office.database.drafts.create("pilot", DESIGN, "owner")
        yield office


async def upload(browser: Browser, *files: tuple[str, bytes], path: str = FILES) -> httpx2.Response:
    form = CSRF.search((await browser.get(path)).text)
    assert form is not None
    return await browser.client.post(
        ROOT + path, data={"csrf": form[1]}, files=[("file", file) for file in files]
    )


async def test_uploaded_files_become_part_of_the_launched_study(
    office: Office, tmp_path: Path
) -> None:
    browser = await office.log_in_as()
    sent = await upload(browser, ("scheme.png", PNG), ("own.jinja", b"<p>Hello</p>"))
    page = await browser.follow(sent)
    assert "Files uploaded: scheme.png, own.jinja." in page
    assert "![Description](scheme.png)" in page
    assert 'src="data:image/png;base64,' in page
    text = office.database.drafts.read("pilot").text
    assert [line for line in text.splitlines() if "files" not in line] == DESIGN.splitlines()
    assert (await browser.get("/form?change=pilot")).text.count("scheme.png: files/") == 2
    launched = await browser.post("/studies/pilot/launch", version="2")
    assert launched.status_code == 303
    study = load_study(tmp_path / "pilot.yaml")  # as in a run of the laboratory
    assert study.people is not None
    assert study.people.files.keys() == {"scheme.png", "own.jinja"}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.exe", b"MZ", "is not the name of an image or template"),
        ("../a.png", PNG, "is not the name of an image or template"),
        ("a.png", b"<script>", "a.png is not an image of type image/png"),
        ("a.svg", b"<html><svg>", "a.svg is not an image of type image/svg+xml"),
        ("a.png", PNG + b"0" * 1_000_000, "a.png is larger than 1,000,000 bytes"),
        ("a.jinja", b"\xff", "a.jinja is not text in UTF-8"),
    ],
)
async def test_other_files_are_rejected(
    office: Office, tmp_path: Path, name: str, content: bytes, problem: str
) -> None:
    browser = await office.log_in_as()
    response = await upload(browser, (name, content))
    assert response.status_code == 422
    assert problem in response.text
    assert office.database.drafts.read("pilot").text == DESIGN
    assert not (tmp_path / "files").exists()


async def test_only_researchers_upload_files(office: Office) -> None:
    await office.log_in_as(Role.OWNER)
    viewer = await office.log_in_as(Role.VIEWER)
    form = CSRF.search((await viewer.get("/account")).text)
    assert form is not None
    for csrf in (form[1], "0" * 64):
        data, files = {"csrf": csrf}, {"file": ("scheme.png", PNG)}
        response = await viewer.client.post(ROOT + FILES, data=data, files=files)
        assert response.status_code == 403
    assert office.database.drafts.read("pilot").text == DESIGN


async def test_removed_file_leaves_the_design_as_before(office: Office) -> None:
    browser = await office.log_in_as()
    await upload(browser, ("scheme.png", PNG))
    await upload(browser, ("scheme.png", PNG + b"1"))  # replaces the first
    assert office.database.drafts.read("pilot").text.count("scheme.png: files/") == 1
    refused = await browser.post(f"{FILES}/remove", FILES, file="scheme.png")
    assert refused.status_code == 422
    assert "The design uses scheme.png; remove it from the texts first" in refused.text
    await browser.post("/files/remove", "/files", file="scheme.png")
    await browser.post(f"{FILES}/remove", FILES, file="scheme.png")
    assert office.database.drafts.read("pilot").text == DESIGN
    again = await browser.post(f"{FILES}/remove", FILES, file="scheme.png")
    assert again.status_code == 404


async def test_unsaved_study_shows_files_of_the_library(office: Office, tmp_path: Path) -> None:
    """When the study is saved, it keeps the file, even if its name gets another file."""
    browser = await office.log_in_as()
    form = "/form?copy=pilot"
    missing = "is not among the study"
    assert missing in (await browser.get(form)).text
    page = await browser.follow(await upload(browser, ("scheme.png", PNG), path="/files"))
    assert 'data-copy="![Description](scheme.png)"' in page
    assert missing not in (await browser.get(form)).text
    office.database.drafts.create("later", DESIGN.replace("name: pilot", "name: later"), "owner")
    text = office.database.drafts.read("later").text
    assert text.count("scheme.png: files/") == 1
    await upload(browser, ("scheme.png", PNG + b"1"), path="/files")
    version = str(office.database.drafts.read("later").version)
    await browser.post("/studies/later/design", text=text + "# saved again", version=version)
    assert office.database.drafts.read("later").text == text + "# saved again"
    study = read_design("later", text, tmp_path)
    assert study.people is not None
    assert study.people.files["scheme.png"] == content_of("scheme.png", PNG)


async def test_designs_cannot_name_other_files_of_the_server(
    office: Office, tmp_path: Path
) -> None:
    browser = await office.log_in_as()
    (tmp_path / "secret.svg").write_bytes(SVG)
    for path in ("secret.svg", "../secret.svg", "files/" + "0" * 32 + ".svg", "/etc/passwd"):
        text = with_file(DESIGN, "scheme.png", path)
        version = str(office.database.drafts.read("pilot").version)
        page = await browser.follow(
            await browser.post("/studies/pilot/design", text=text, version=version)
        )
        assert "is not a file of this laboratory; upload scheme.png" in page


@pytest.mark.parametrize(
    "people",
    [
        "people: {path: [games]}",
        "people:\n    path: [games]",
        "people:\n  path: [games]\n  files: {old.png: files/1.png}",
        "people:\n  path:\n  - consent: |\n      files:\n\n      people:\n  - games",
    ],
)
def test_file_is_added_to_any_notation_of_a_design(people: str) -> None:
    text = f"name: pilot\n{people}\nseed: 3"
    data = parse_yaml(with_file(text, "my scheme.png", "files/2.png"))
    before = parse_yaml(text)
    assert isinstance(data, dict)
    assert isinstance(before, dict)
    assert data["people"].pop("files") == before["people"].pop("files", {}) | {
        "my scheme.png": "files/2.png"
    }
    assert data == before
