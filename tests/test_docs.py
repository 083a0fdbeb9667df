"""Documentation: commands run, files match, and every game has a page."""

import ast
import doctest
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs import gallery, hooks, links, notebooks, pictures, sample_matches
from docs.blocks import BASH, MARK, Block, blocks, environment, script
from docs.roles import ROLE
from mkdocs.exceptions import PluginError

import cheaptalk as ct
from cheaptalk import models, studies
from cheaptalk.cli.commands import full_names
from cheaptalk.records.store import schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GALLERY = ROOT / "docs" / gallery.PAGE
"""The commands of this page run when the site is built."""
RUN = [page for page in PAGES[1:] if page.parent.name not in ("docs", "reference")] + [PAGES[0]]
PROGRESS = re.compile(
    r"^[\w./-]+: (?:[\d,]+ of [\d,]+ (?:match(?:es)?(?: judged)?|trained)|solving(?: [^\n,]*)?)"
    r"(?:, [^\n]*)?\n",
    re.MULTILINE,
)
"""Progress lines without a terminal; their number depends on the machine's speed."""
OUTPUT = doctest.OutputChecker()
COMPARISON = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
REFERENCE = {
    "rules": ("rules", "styles", "conformance"),
    "players": ("players", "models"),
    "studies": ("studies",),
    "records": ("records", "adapters"),
    "statistics": ("statistics", "equilibrium"),
}
"""The packages on each page of the reference."""
BASE = {
    "name": "example",
    "games": [{"game": "bargaining"}],
    "players": {"one": {"strategy": "linear"}, "two": {"strategy": "boulware"}},
}
"""The study that the fragments in the documentation modify."""


def page_case(page: Path) -> Any:
    """Return a page as a test case, with the mark ``lm`` if its commands use a real model."""
    text, _ = script(blocks(page.read_text(encoding="utf-8")))
    return pytest.param(page, id=page.stem, marks=pytest.mark.lm if "smollm2" in text else ())


@pytest.mark.slow
@pytest.mark.parametrize("page", [page_case(page) for page in RUN])
def test_commands_print_the_documented_output(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text, run = script(blocks(page.read_text(encoding="utf-8")))
    done = subprocess.run(
        [BASH, "-c", text],
        cwd=tmp_path,
        env=environment(tmp_path / "home"),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=1200,
        check=False,
    )
    outcomes = done.stdout.split(MARK)
    for command, output, status in zip(run, outcomes[::2], outcomes[1::2], strict=False):
        got = PROGRESS.sub("", output)
        assert status == "0", f"$ {command.typed}\n{got}\nexit status {status}"
        if command.shown:
            assert OUTPUT.check_output(command.shown, got, COMPARISON), f"$ {command.typed}\n{got}"
    assert len(outcomes) // 2 == len(run), done.stdout


def test_code_blocks_are_tested_or_explained() -> None:
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            check_block(block, runs=page in [*RUN, GALLERY])


def check_block(block: Block, runs: bool) -> None:
    """Assert that a block is tested, or a comment explains why not; ``runs`` if its page is run."""
    if block.skip is not None:
        assert len(block.skip.split()) > 2, "a reason is missing"
    elif block.title is not None and (ROOT / block.title).exists():
        assert block.body == (ROOT / block.title).read_text(encoding="utf-8"), block.title
    elif block.language == "yaml" and block.title is None:
        check_fragment(yaml.safe_load(block.body))
    elif block.language == "python" and block.title is None:
        assert ">>> " in block.body
    else:
        assert block.title or runs or block.language in ("text", "jinja"), block


def check_fragment(fragment: dict[str, Any]) -> None:
    """Assert that a study with this fragment can be planned."""
    study = BASE | fragment
    if "instances_from" in fragment:
        del study["games"]
    parsed = studies.parse_study(study, "fragment")
    if parsed.instances_from is None:
        assert ct.plan(parsed).matches


def test_every_game_has_a_sample_match() -> None:
    played = [part.game for part in ct.load_study(sample_matches.STUDY).games]
    assert sorted(played) == sorted(ct.rules.games())


def test_paper_list_contains_every_recipe() -> None:
    page = (ROOT / "docs" / "reproduce" / "index.md").read_text(encoding="utf-8")
    shown = GALLERY.read_text(encoding="utf-8")
    for name in ct.reports.RECIPES:
        assert f"| `{name}` |" in page
        assert f"--recipe {name} " in shown


def test_python_page_lists_every_command() -> None:
    page = (ROOT / "docs" / "experiments" / "python-api.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    listed = {word for row in rows for word in re.findall(r"`([^`]+)`", row)}
    names = {" ".join(name.split()[:2]) for name in full_names()}
    assert [name for name in names if not any(f"{word} ".startswith(name) for word in listed)] == []
    for name in set(re.findall(r"\bct((?:\.\w+)+)", page)):
        attrgetter(name[1:])(ct)


def read_variables(path: Path) -> set[str]:
    """Return the environment variables that a module reads."""
    text = path.read_text(encoding="utf-8")
    if "environ" not in text and "envvar" not in text:
        return set()
    nodes = list(ast.walk(ast.parse(text)))
    named = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    read = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "envvar"]
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="environ")), args=[name, *_]):
                read.append(name)
            case ast.Subscript(value=ast.Attribute(attr="environ"), slice=name):
                read.append(name)
    names = [named.get(node.id, node) if isinstance(node, ast.Name) else node for node in read]
    variables = {str(node.value) for node in names if isinstance(node, ast.Constant)}
    return {name for name in variables if name[0] != "_"}  # shells set the others


def test_environment_page_lists_every_variable() -> None:
    read = set().union(*map(read_variables, (ROOT / "src").rglob("*.py")))
    page = "\n".join(hooks.environment_page())
    assert read == set(hooks.VARIABLES)
    keys = {provider.key for provider in models.PROVIDERS.values()} - {""}
    assert [name for name in read | keys if f"<code>{name}</code>" not in page] == []


def test_tables_page_lists_every_column() -> None:
    page = "\n".join(hooks.tables_page())
    for table in schema.metadata.sorted_tables:
        section = page.partition(f"\n## {table.name}\n")[2].partition("\n## ")[0]
        assert [c.name for c in table.columns if f"<code>{c.name}</code>" not in section] == []


def has_docs(thing: object) -> bool:
    """Return whether an object is a class or a function, which has its own docstring."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


@pytest.mark.lm
@pytest.mark.slow
def test_site_builds_and_is_complete(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for heading in gallery.HEADING.finditer(GALLERY.read_text(encoding="utf-8")):
        assert (tmp_path / "gallery" / f"{heading['name']}.html").exists()
    for path in notebooks.NOTEBOOKS:
        assert '<div class="given">' in (tmp_path / "notebooks" / f"{path.stem}.html").read_text()
    assert not [page for page in tmp_path.rglob("*.html") if ROLE.search(page.read_text())]
    for game_spec in ct.rules.games().values():
        page = (tmp_path / "reference" / "games" / f"{game_spec.name}.html").read_text()
        anchors = set(re.findall(r'<h3 id="(\w+)"', page))
        events = [event.__name__ for event in game_spec.rules.events]
        named = [*game_spec.metrics, *game_spec.rules.model_fields, *events]
        assert set(ct.rules.strategies(game_spec.name)) <= anchors
        assert 'id="a-match"' in page
        assert [name for name in named if f"<code>{name}</code>" not in page] == []
    for name, packages in REFERENCE.items():
        page = (tmp_path / "reference" / f"{name}.html").read_text()
        shown = set(re.findall(r' id="cheaptalk\.[\w.]*\b(\w+)"', page))
        for package in (getattr(ct, package) for package in packages):
            public = [name for name in package.__all__ if has_docs(getattr(package, name))]
            assert [name for name in public if name not in shown] == []
    commands_page = (tmp_path / "reference" / "command-line.html").read_text()
    listed = subprocess.run(
        [sys.executable, "-m", "cheaptalk", "--help"], capture_output=True, text=True, check=True
    )
    for name in re.findall(r"^  ([a-z]+) ", listed.stdout, re.MULTILINE):
        assert f">cheaptalk {name}" in commands_page


SECTION = "## Bars {{ #bars }}\n\n```console\n$ {command}\n```\n"
"""A section of a gallery."""


def test_gallery_shows_first_chart_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "BROWSERS", ())
    made = gallery.exhibit(SECTION.format(command="echo 'Up: <svg>1</svg>' > bars.html"))
    assert made.page == b"Up: <svg>1</svg>\n"
    assert dict(made.files())["gallery/bars.svg"] == b"<svg>1</svg>"
    assert "](gallery/bars.svg)](gallery/bars.html)" in made.shown()
    bare = gallery.exhibit(SECTION.format(command="echo Up > bars.html"))
    assert [path for path, _ in bare.files()] == ["gallery/bars.html"]
    for failing in ("echo Up > bars.html; false", "true"):
        with pytest.raises(PluginError, match=r"gallery\.md, Bars"):
            gallery.exhibit(SECTION.format(command=failing))


def test_broken_and_external_links_are_reported(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<a href="../index.html">')
    external = "loads from another site:"
    for page, problem in [
        ('<p id="there"><a href="#there"></a><a href="sub/">', None),
        ('<a href="https://example.org"><img src="data:image/png;base64,AA">', None),
        ('<a href="gone.html">', "has a broken link: gone.html"),
        ('<a href="sub/#no">', "links to a missing anchor of sub/index.html: sub/#no"),
        ('<img src="/gone.png">', "has a broken link: /gone.png"),
        ('<script src="//x.org/a.js">', f"{external} //x.org/a.js"),
        ('<link rel="stylesheet" href="http://x.org/a">', f"{external} http://x.org/a"),
        ("<style>@import 'https://x.org/a'</style>", f"{external} https://x.org/a"),
    ]:
        (tmp_path / "index.html").write_text(page)
        expected = [] if problem is None else [f"index.html {problem}"]
        assert list(links.problems(tmp_path)) == expected
    (tmp_path / "index.html").write_text("")
    (tmp_path / "a.css").write_text("@font-face { src: url(https://x.org/f.woff2) }")
    assert list(links.problems(tmp_path)) == [f"a.css {external} https://x.org/f.woff2"]


def test_notebooks_are_committed_without_outputs() -> None:
    for path in notebooks.NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert [cell["source"] for cell in cells if cell.get("outputs")] == []
        assert [cell["source"] for cell in cells if cell.get("execution_count") is not None] == []


def write_notebook(folder: Path, *cells: str) -> Path:
    """Write a notebook with a title and code cells."""
    title = {"cell_type": "markdown", "id": "title", "source": "# Made", "metadata": {}}
    code: dict[str, Any] = {"cell_type": "code", "outputs": [], "execution_count": None}
    made = [
        code | {"metadata": {}, "id": f"cell-{n}", "source": source}
        for n, source in enumerate(cells)
    ]
    form = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [title, *made]}
    path = folder / "made.ipynb"
    path.write_text(json.dumps(form))
    return path


def test_notebook_page_shows_outputs(tmp_path: Path) -> None:
    html = "from IPython.display import HTML; HTML('<b>bold</b>')"
    noisy = "import sys; print('said'); print('warning', file=sys.stderr); x = 2"
    page = notebooks.shown(write_notebook(tmp_path, noisy, "x + 1", html))
    assert page.startswith("# Made\n")
    assert "```text\nsaid\n```" in page
    assert "warning" not in page.partition("```text")[2]
    assert "```text\n3\n```" in page
    assert '<div class="given">\n<b>bold</b>\n</div>' in page


@pytest.mark.slow
def test_failing_notebook_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(
        PluginError, match=r"(?s)made\.ipynb: .*ZeroDivisionError: division by zero"
    ):
        notebooks.shown(write_notebook(tmp_path, "1 / 0"))
