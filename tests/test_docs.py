"""The documentation keeps its word: commands run, files are as shown, every game has its page."""

import ast
import doctest
import inspect
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from docs import hooks

import cheaptalk as ct
from cheaptalk import (
    conformance,
    equilibrium,
    models,
    players,
    records,
    rules,
    statistics,
    studies,
    styles,
)
from cheaptalk.records.store import schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = [page for page in PAGES if page.parent.name in ("tutorial", "how-to")] + [PAGES[0]]
BLOCK = re.compile(
    r"^(?:<!-- skip: (?P<skip>[^\n]*) -->\n)?"
    r'(?P<fence>`{3,})(?P<language>\w+)(?: title="(?P<title>[^"\n]+)")?\n'
    r"(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
"""A fenced block. What stands in one with a title is that file; a comment before it skips it."""
PROGRESS = re.compile(
    r"^[\w./-]+: (?:[\d,]+ of [\d,]+ match(?:es)?(?: judged)?|solving(?: [^\n,]*)?)(?:, [^\n]*)?\n",
    re.MULTILINE,
)
"""The lines that commands print now and then off a terminal: how many depends on the machine."""
PORT = re.compile(r"\b81[23]\d\b")
"""The ports at which the servers of the pages listen."""
LISTENING = "until (: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep; done"
"""Waits until somebody listens at a port."""
MARK = "\x1e"
BASH = shutil.which("bash") or "bash"
OUTPUT = doctest.OutputChecker()
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PACKAGES = (
    rules, styles, conformance, players, models, studies, records, statistics, equilibrium,
)  # fmt: skip
BASE = {
    "name": "example",
    "games": [{"game": "bargaining"}],
    "players": {"one": {"strategy": "linear"}, "two": {"strategy": "boulware"}},
}
"""The study of which the fragments in the documentation replace parts."""


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str | None
    body: str
    skip: str | None


class Command(NamedTuple):
    """A command as a reader types it, and what is to come of it; ``...`` stands for anything."""

    typed: str
    shown: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(m["language"], m["title"], m["body"], m["skip"]) for m in found]


def commands(body: str) -> Iterator[Command]:
    """The commands of a console block.

    >>> list(commands("$ echo a \\\\\\n    b\\na b\\n$ true\\n"))
    [Command(typed='echo a \\\\\\n    b', shown='a b\\n'), Command(typed='true', shown='')]
    """
    assert body.startswith("$ "), body
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        typed, _, shown = part.partition("\n")
        while typed.endswith("\\"):
            more, _, shown = shown.partition("\n")
            typed += f"\n{more}"
        yield Command(typed, shown)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def script(page: Path) -> tuple[str, list[Command]]:
    """A shell script that writes a page's files and runs its commands, in order.

    Servers of a page listen at ports that are free, and are waited for until they do.
    """
    lines, run = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT", "sleep() { command sleep 0.2; }"], []
    ports: dict[str, str] = {}
    for block in blocks(page):
        if block.skip is not None:
            continue
        body = block.body
        for port in set(PORT.findall(body)):
            body = re.sub(rf"\b{port}\b", ports.setdefault(port, str(free_port())), body)
        if block.title is not None and not (ROOT / block.title).exists():
            lines += [f"mkdir -p \"$(dirname '{block.title}')\""]
            lines += [f"cat > '{block.title}' <<'{MARK}'", body + MARK]
        for command in commands(body) if block.language == "console" else ():
            lines += [command.typed]
            if command.typed.endswith("&"):
                lines += [LISTENING.format(port=port) for port in ports.values()]
            lines += [f"printf '{MARK}%s{MARK}' $?"]
            run.append(command)
    return "\n".join(lines), run


def environment(home: Path) -> dict[str, str]:
    """What a reader's shell holds: this environment first, no keys; pip installs into a folder."""
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    for name in (
        "CHEAPTALK_STORE",
        "CHEAPTALK_CACHE",
        "CHEAPTALK_PROVIDERS",
        "CHEAPTALK_SETTINGS",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
    ):
        kept.pop(name, None)
    return kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "COLUMNS": "80",
        "PIP_TARGET": str(home / "installed"),
        "PYTHONPATH": str(home / "installed"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this as: no isolation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_commands_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text, run = script(page)
    done = subprocess.run(
        [BASH, "-c", text], cwd=tmp_path, env=environment(tmp_path / "home"), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200,
        check=False,
    )  # fmt: skip
    outcomes = done.stdout.split(MARK)
    for command, output, status in zip(run, outcomes[::2], outcomes[1::2], strict=False):
        got = PROGRESS.sub("", output)
        assert status == "0", f"$ {command.typed}\n{got}\nexit status {status}"
        if command.shown:
            assert OUTPUT.check_output(command.shown, got, LIKE), f"$ {command.typed}\n{got}"
    assert len(outcomes) // 2 == len(run), done.stdout


def test_blocks_are_tested_or_say_why_not() -> None:
    for page in PAGES:
        for block in blocks(page):
            check_block(block, runs=page in RUN)


def check_block(block: Block, runs: bool) -> None:
    """Demand that a block is tested, or that a comment says why not.

    Args:
        block: the block.
        runs: whether the commands of its page are run.
    """
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
    """Demand that a study with this part in it can be laid out."""
    study = BASE | fragment
    if "deals_from" in fragment:
        del study["games"]
    parsed = studies.parse_study(study, "fragment")
    if parsed.deals_from is None:
        assert ct.plan(parsed).matches


def read_variables(path: Path) -> set[str]:
    """The environment variables that a module reads by names of its own."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    named = {
        node.targets[0].id: node.value
        for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }  # fmt: skip
    read = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg == "envvar"]
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="environ")), args=[name, *_]):
                read.append(name)
            case ast.Subscript(value=ast.Attribute(attr="environ"), slice=name):
                read.append(name)
    found = [named.get(one.id, one) if isinstance(one, ast.Name) else one for one in read]
    return {str(one.value) for one in found if isinstance(one, ast.Constant)}


def test_the_page_of_environment_variables_has_every_one_that_is_read() -> None:
    read = set().union(*map(read_variables, (ROOT / "src").rglob("*.py")))
    page = "\n".join(hooks.environment_page())
    assert read == set(hooks.VARIABLES)
    keys = {provider.key for provider in models.PROVIDERS.values()} - {""}
    assert [name for name in read | keys if f"<code>{name}</code>" not in page] == []


def test_the_page_of_tables_has_every_column() -> None:
    page = "\n".join(hooks.tables_page())
    for one in schema.metadata.sorted_tables:
        section = page.partition(f"\n## {one.name}\n")[2].partition("\n## ")[0]
        assert [c.name for c in one.columns if f"<code>{c.name}</code>" not in section] == []


def documented(thing: object) -> bool:
    """Whether something has a docstring of its own: a class or a function."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


@pytest.mark.slow
def test_the_site_builds_and_leaves_nothing_out(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for box in ct.rules.games().values():
        page = (tmp_path / "reference" / "games" / box.name / "index.html").read_text()
        anchors = set(re.findall(r'<h3 id="(\w+)"', page))
        events = [event.__name__ for event in box.rules.events]
        named = [*box.measures, *box.rules.model_fields, *events]
        assert set(ct.rules.strategies(box.name)) <= anchors
        assert [name for name in named if f"<code>{name}</code>" not in page] == []
    for package in PACKAGES:
        page = (tmp_path / "reference" / package.__name__.split(".")[1] / "index.html").read_text()
        public = [name for name in package.__all__ if documented(getattr(package, name))]
        shown = set(re.findall(r' id="cheaptalk\.[\w.]*\b(\w+)"', page))
        assert [name for name in public if name not in shown] == []
    commands_page = (tmp_path / "reference" / "command-line" / "index.html").read_text()
    listed = subprocess.run(
        [sys.executable, "-m", "cheaptalk", "--help"], capture_output=True, text=True, check=True
    )
    for name in re.findall(r"^  ([a-z]+) ", listed.stdout, re.MULTILINE):
        assert f">cheaptalk {name}" in commands_page
