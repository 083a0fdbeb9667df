"""The sentences that code composes from values, for the console's catalogues."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

MODULES = (
    "calls/budget.py",
    "players/cross.py",
    "players/seats.py",
    "records/descriptions.py",
    "rules/errors.py",
    "studies/estimates/*.py",
    "studies/factors.py",
    "studies/people/**/*.py",
    "studies/plans/*.py",
    "studies/study.py",
    "web/console/**/*.py",
    "web/laboratory/*.py",
    "web/participants/control.py",
    "web/participants/people.py",
    "web/participants/supervisor.py",
    "web/posted.py",
    "web/previews/*.py",
    "web/problems.py",
    "yaml_files.py",
)
"""Modules whose sentences the console shows, below the package's folder."""
GAP = "{}"
EDGES = " ,;.:"
PROSE = re.compile(r"(?=.*[^\W\d_]{2,}.* .*[^\W\d_]{2})[^<>%\n\\|=]+", re.DOTALL)
"""Text of at least two words."""
OTHERS = (
    "should {}, not {}", "be {}", "a whole number", "a number", "a list", "a mapping",
    "true or false", "be greater than {}", "be greater than or equal to {}", "be less than {}",
    "be less than or equal to {}", "be a finite number", "be {} or {}", "be {}, {} or {}",
    "be {}, {}, {} or {}", "have at least {} items", "have at least {} item",
    "have at most {} items", "have at least {} characters", "have at least {} character",
    "have at most {} characters", "match pattern {}", "or be {}", "or {}", "is missing",
    "unknown {} {}", "{} to {}", "{} to {} {}", "number {}", "integer {}", "> {} and < {}",
    "> {} and <= {}", ">= {} and < {}", ">= {} and <= {}", "list of {}", "{} times {}",
    "{}, {} of them forfeited", "{} {} of them forfeited", "{} failed", "{} of {} matches ended",
    "{} of {} match ended", "{} match ended", "{} matches ended", "text", "value", "integer",
    "number", "mapping", "rounds", "strategy", "policy", "model", "preset", "player", "game",
    "roster", "study", "recipe", "metric", "parameter", "setting", "halts", "may halt",
    "requested: report", "requested: export", "requested: comparison", "launched",
    "requested to start the run", "requested to pause the run", "requested to resume the run",
    "requested to stop the run", "set recruitment to open", "set recruitment to paused",
    "set recruitment to closed", "{} of up to {} games", "{} for {} places", "{} for {} place",
    "{} for each completed visit", "{} page", "{} pages", "{} question", "{} questions",
    "Edit %(name)s", "up", "down",
    "seat", "Player {}", "Step {}", "Report", "Report: {}", "forfeited by {}", "timed out",
    'call for "{}" in request {}: {}', "unparsable", "rounds, or {rounds: 99, hidden: true}",
    "{} is damaged ({}); list all damage with: {}; then restore a copy of the store",
    "{} is not one of {}", "match {}", "name", "role", "address", "payout", "version",
    "dollars", "people", "participant",
)  # fmt: skip
"""Sentences and parts of sentences that no single string contains."""
COUNTED = re.compile(r"""counted\([^()"']*(?:\([^()]*\)[^()"']*)*["']([\w -]+)["']""")
SKIPPED = (
    "Value error", "Value error,", "after validation", "Not Found", "Method Not Allowed", "{}{}",
    "but got '?'", "but found another document", "found unexpected end of stream", "or be",
    "{}: {SETTING: VALUE}", "{}list its players under players", "{}; frame-ancestors 'none'",
)  # fmt: skip
"""Parts of the messages of other packages."""
UNSEEN = ("brief", "compile", "info", "warning", "error", "exec_driver_sql", "execute", "text")
"""Functions whose arguments no page shows."""


def composed(package: Path) -> set[str]:
    """Return the sentences in the modules, with ``{}`` in place of values."""
    sources = (path.read_text(encoding="utf-8") for path in _paths(package))
    return {text for source in sources for text in _composed_in(source)} | {*OTHERS}


def counted_nouns(package: Path) -> set[str]:
    """Return the nouns that the modules count."""
    return {
        noun
        for path in _paths(package)
        for noun in COUNTED.findall(path.read_text(encoding="utf-8"))
    }


def _paths(package: Path) -> Iterator[Path]:
    for pattern in MODULES:
        yield from sorted(package.glob(pattern))


def _composed_in(source: str) -> Iterator[str]:
    code = ast.parse(source)
    hidden = set[int]()
    for item in ast.walk(code):
        if isinstance(item, ast.Expr | ast.JoinedStr | ast.FormattedValue | ast.Assert):
            children = [item.value] if isinstance(item, ast.Expr) else ast.iter_child_nodes(item)
            hidden |= {id(child) for child in children if not isinstance(child, ast.FormattedValue)}
        elif isinstance(item, ast.Call) and _name(item.func) in UNSEEN:
            hidden |= {id(part) for part in ast.walk(item)}
    for item in ast.walk(code):
        if id(item) not in hidden and (text := _template(item)):
            text = text.strip() if text[:1].isupper() else text.strip(EDGES).removesuffix(" (")
            if PROSE.fullmatch(text.replace(GAP, "0")) and text not in SKIPPED:
                yield text


def _template(item: ast.AST) -> str:
    """Return a string or f-string with gaps for its values; empty for other code."""
    match item:
        case ast.Constant(value=str(text)):
            return text if GAP not in text else ""
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else GAP for part in parts
            )
    return ""


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))
