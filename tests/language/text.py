"""Text of the docs, the CLI and docstrings, and names in code, for the language tests."""

import ast
import inspect
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import markdown  # type: ignore[import-untyped]
import typer

from cheaptalk.cli.main import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cheaptalk"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTENSIONS = ["admonition", "attr_list", "tables", "pymdownx.superfences"]
SKIPPED = {"pre", "script", "style"}
BLOCKS = {"p", "li", "td", "th", "dd", "dt", "h1", "h2", "h3", "h4", "blockquote"}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
VAGUE = frozenset({
    "asked", "found", "left", "mine", "one", "ours", "own", "said", "some", "theirs", "told",
    "whole",
})  # fmt: skip
"""Variable names that don't describe their value."""


class _Prose(HTMLParser):
    """Collect the text of a page's blocks, without code blocks; inline code becomes CODE."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = [""]
        self._skipping = 0
        self._code = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._skipping += tag in SKIPPED
        if tag == "code" and not self._skipping:
            self._code += 1
            self.blocks[-1] += "CODE"
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in SKIPPED
        self._code -= tag == "code" and self._code > 0
        if tag in BLOCKS:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        if not self._skipping and not self._code:
            self.blocks[-1] += data


def page_sentences(page: Path) -> list[str]:
    """Return the sentences of a Markdown page as rendered, without code blocks."""
    prose = _Prose()
    prose.feed(markdown.markdown(page.read_text(), extensions=EXTENSIONS))
    blocks = (" ".join(block.split()) for block in prose.blocks)
    return [sentence for block in blocks for sentence in SENTENCE_END.split(block) if sentence]


def docs_sentences() -> list[str]:
    """Return the sentences of README, CONTRIBUTING and all pages of the docs."""
    return [sentence for page in PAGES for sentence in page_sentences(page)]


def cli_strings() -> list[str]:
    """Return the help of every command and option, and the messages in the code of the CLI."""
    help_ = [text for text in _help(typer.main.get_command(app), "cheaptalk") if text]
    messages = (text for path in sorted((SOURCE / "cli").rglob("*.py")) for text in _messages(path))
    return list(dict.fromkeys([*help_, *messages]))


def _help(command: Any, name: str) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    yield " ".join(inspect.cleandoc(command.help or "").split())
    for parameter in command.params:
        yield " ".join((getattr(parameter, "help", None) or "").split())
    if hasattr(command, "list_commands"):
        for child in command.list_commands(context):
            yield from _help(command.get_command(context, child), child)


def _messages(path: Path) -> Iterator[str]:
    """Yield the strings of a module that contain prose; X replaces values in f-strings."""
    tree = ast.parse(path.read_text())
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
              for part in node.values}  # fmt: skip
    for node in ast.walk(tree):
        text = None
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = None if id(node) in documented | inside else node.value
        if text and len(re.findall(r"[a-z]{2,}", text)) > 2 and " " in text.strip():
            yield " ".join(text.split())


def docstrings() -> list[str]:
    """Return the docstrings of modules, classes and functions in the source."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [
        docstring for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, documented) and (docstring := ast.get_docstring(node))
    ]  # fmt: skip


def bound_names() -> list[str]:
    """Return every variable name that the source binds, with repetitions."""
    return [
        name for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text())) for name in _bound(node)
    ]  # fmt: skip


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.alias(asname=str(name)):
            yield name
