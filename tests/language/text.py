"""Text of the docs, the CLI and docstrings, and names in code, for the language tests."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import markdown  # type: ignore[import-untyped]
import typer

from cheaptalk.cli.main import app
from cheaptalk.gc_tuning import COMMAND, collecting

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cheaptalk"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTENSIONS = ["admonition", "attr_list", "tables", "pymdownx.superfences"]
SKIPPED = re.compile(r"<(pre|script|style)\b.*?</\1>", re.DOTALL)
INLINE_CODE = re.compile(r"<code\b.*?</code>", re.DOTALL)
BLOCK = re.compile(r"</?(?:p|li|td|th|dd|dt|h[1-4]|blockquote)\b[^>]*>")
TAG = re.compile(r"<[^>]*>")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])")
VAGUE = re.compile("asked|found|left|mine|one|ours|own|said|some|theirs|told|whole")
"""Variable names that don't describe their value."""


def page_sentences(page: Path) -> list[str]:
    """Return a Markdown page's sentences, without code blocks; inline code becomes CODE."""
    html = SKIPPED.sub("", markdown.markdown(page.read_text(), extensions=EXTENSIONS))
    texts = (TAG.sub("", block) for block in BLOCK.split(INLINE_CODE.sub("CODE", html)))
    blocks = (" ".join(unescape(text).split()) for text in texts)
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
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in joined for part in node.values}
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


@cache
@collecting(COMMAND)
def docstrings_and_names() -> tuple[list[str], list[str]]:
    """Return the docstrings in the source, and every variable name that it binds.

    The docstrings are those of modules, classes and functions. Names are repeated.
    """
    docstrings: list[str] = []
    names: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names += _bound(node)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstrings.append(ast.get_docstring(node) or "")
    return list(filter(None, docstrings)), names


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case (
            ast.Name(id=str(name), ctx=ast.Store())
            | ast.arg(arg=str(name))
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.alias(asname=str(name))
        ):
            yield name
