"""The project's own invariants."""

import ast
import inspect
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import pytest
from bench import driver
from hatch_build import for_an_index
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import cheaptalk as ct
from cheaptalk.doctor import extras
from cheaptalk.gc_tuning import COMMAND, collecting
from cheaptalk.rules import games
from tests import installs

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
HEAVY = ("aiohttp", "jinja2", "numpy", "polars", "scipy", "sqlalchemy", "torch")
IMPORTED_AS = {
    "argon2-cffi": "argon2",
    "markdown-it-py": "markdown_it",
    "open-spiel": "pyspiel",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "tensorboardx": "tensorboardX",
    "xgboost-cpu": "xgboost",
}
"""Module names that differ from the name of their package."""
MAX_TOP_LEVEL = 60
"""Maximum number of names in ``cheaptalk``; others belong in its packages."""
JOIN_OPTIONS = {"on", "left_on", "right_on", "how", "suffix", "validate", "nulls_equal", "coalesce"}
MATCHLESS = {"semi", "anti", "cross"}
"""Kinds of joins without a cardinality: they repeat no rows, or all rows on purpose."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pinned_versions(lock: str) -> dict[str, str]:
    """Return the versions pinned by a lock file, by package."""
    text = (ROOT / "requirements" / lock).read_text()
    return dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;]+)", text, re.MULTILINE))


def requirements(*extras: str, build: bool = True) -> Iterator[Requirement]:
    """Yield the declared dependencies with these extras, and those of the build."""
    lists = [PROJECT["project"]["dependencies"], *(EXTRAS[extra] for extra in extras)]
    lists += [PROJECT["build-system"]["requires"]] if build else []
    for line in chain.from_iterable(lists):
        requirement = Requirement(line)
        if requirement.name == PROJECT["project"]["name"]:
            yield from requirements(*requirement.extras, build=build)
        else:
            yield requirement


LONG_RULES = {"chip_trading", "deal_or_no_deal", "item_bargaining", "persuasion"}
"""Games whose rules may exceed 115 lines of code, for reasons given in the docs."""


def test_rules_of_games_are_short() -> None:
    folder = ROOT / "src" / "cheaptalk" / "games"
    lines = {
        name: len(source_lines(folder / name / "rules.py", game_spec.rules.__name__))
        for name, game_spec in games().items()
    }
    limits = {name: 140 if name in LONG_RULES else 115 for name in games()}
    assert {name: count for name, count in lines.items() if count > limits[name]} == {}


def source_lines(path: Path, name: str) -> set[int]:
    """Return the lines of code of a class, without blanks, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING):
            lines.update(range(token.start[0], token.end[0] + 1))
    classes = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    rules = next(node for node in classes if node.name == name)
    lines &= {*range(rules.lineno, (rules.end_lineno or 0) + 1)}
    for node in ast.walk(rules):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


@pytest.mark.parametrize(("paths", "limit"), [(SOURCES, 600), (TESTS, 600)], ids=["src", "tests"])
def test_files_are_short(paths: list[Path], limit: int) -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in paths}
    assert {name: length for name, length in lines.items() if length > limit} == {}


@pytest.mark.parametrize("lock", ["report.txt", "test.txt", "dev.txt", "lm.txt"])
def test_lock_files_contain_hashes_and_no_index(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    assert not re.search(r"://|file:|^-", text, re.MULTILINE)
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize(
    ("lock", "extra"), [("report", "report"), ("test", "test"), ("dev", "dev"), ("lm", "tune")]
)
def test_lock_files_satisfy_declared_dependencies(lock: str, extra: str) -> None:
    versions = pinned_versions(f"{lock}.txt")
    stale = [
        str(requirement)
        for requirement in requirements(extra)
        if versions.get(canonicalize_name(requirement.name), "none") not in requirement.specifier
    ]
    assert stale == [], "run `make lock`"


def test_lock_files_pin_the_same_versions() -> None:
    models, versions = pinned_versions("lm.txt"), pinned_versions("dev.txt")
    assert pinned_versions("report.txt").items() <= pinned_versions("test.txt").items()
    assert pinned_versions("test.txt").items() <= versions.items()
    assert [name for name in models.keys() & versions if models[name] != versions[name]] == []


def declared_packages(*extras: str) -> set[str]:
    """Return the packages installed with these extras, by import name."""
    declared = requirements(*extras, build=False)
    names = {canonicalize_name(requirement.name) for requirement in declared}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


CONVERTERS = {"pandas", "pyarrow"}
"""Packages that polars imports to convert frames to and from pandas."""
Nodes: TypeAlias = list[ast.AST]


def parse(code: str) -> Nodes:
    """Return all nodes of the code's syntax tree."""
    return list(ast.walk(ast.parse(code)))


@pytest.fixture(scope="module")
def sources() -> dict[Path, Nodes]:
    """The nodes of each source file, parsed once."""
    with collecting(COMMAND):
        return {path: parse(path.read_text(encoding="utf-8")) for path in SOURCES}


PYTHONIC = re.compile(r"(?<![\w-])--[a-z]")
"""An option of a command line, which functions of Python don't have."""
COMPUTING = ("arrays", "equilibrium", "frames", "reports", "statistics")
"""Packages without parsers, whose functions raise no other errors than the package's."""


def test_errors_are_for_python_and_the_command_line(sources: dict[Path, Nodes]) -> None:
    for path, nodes in sources.items():
        package = path.relative_to(ROOT / "src" / "cheaptalk").parts[0]
        for node in nodes:
            if not isinstance(node, ast.Raise) or package in ("cli", "web"):
                continue
            texts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            message = "".join(text for text in texts if isinstance(text, str))
            is_advice = re.search("cheaptalk |ray start|in commands|in Python", message)
            assert is_advice or not PYTHONIC.search(message), (name_of(path), message)
            name = getattr(getattr(node.exc, "func", None), "id", "")
            bare = name in ("KeyError", "TypeError", "ValueError")
            assert package not in COMPUTING or not bare, (name_of(path), node.lineno)


def test_declared_and_imported_packages_agree(sources: dict[Path, Nodes]) -> None:
    offered = declared_packages(*(extra for extra in EXTRAS if extra not in ("dev", "test")))
    used, named = set[str](), set[str]()
    for nodes in sources.values():
        for node in nodes:
            if isinstance(node, ast.Import):
                used |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                used.add(node.module.partition(".")[0])
        if {"import_module", "load"} & {node.id for node in nodes if isinstance(node, ast.Name)}:
            texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
            named |= {text.partition(".")[0] for text in texts if isinstance(text, str)}
    foreign = used - {*sys.stdlib_module_names, "cheaptalk"}
    assert foreign - offered == set()
    assert offered - foreign - named == CONVERTERS


@pytest.mark.parametrize("extra", extras())
def test_doctor_checks_the_packages_of_each_extra(extra: str) -> None:
    others = {"predict": ["analysis"], "tune": ["lm"], "analysis": [], "web": []}
    sought = {module.partition(".")[0] for module in extras()[extra]}
    assert sought == declared_packages(extra) - declared_packages(*others.get(extra, ["report"]))


def test_every_extra_has_an_installation_test() -> None:
    assert {*EXTRAS, installs.NONE} - {"dev", "test"} == set(installs.USES)


def test_import_loads_no_heavy_packages() -> None:
    code = f"import sys, cheaptalk, cheaptalk.rules; print(*sys.modules.keys() & {set(HEAVY)})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_benchmark_plays_every_game() -> None:
    assert driver.covered() == set(games())
    played = [driver.rate(*driver.pairing(pair), 2) for pair in driver.PAIRS]
    assert all(answers >= 2 for _, answers in played)


def test_version_is_consistent() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert ct.__version__ == PROJECT["project"]["version"] == citation[1]


def test_package_readme_has_no_relative_links() -> None:
    readme = for_an_index((ROOT / "README.md").read_text(encoding="utf-8"))
    ways = re.findall(r"\]\(([^)]*)\)", readme)
    assert [way for way in ways if not way.startswith("https://")] == []
    assert "- Your first study: a tutorial with scripts and a real language model\n" in readme
    assert for_an_index("![a](b.png)\n\n[c](https://d.org)") == "[c](https://d.org)"


def test_changelog_is_well_formed() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    dates = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", line) for line in headings]
    released = [(Version(date[1]), date[2]) for date in dates if date]
    assert len(released) == len(headings)
    assert released == sorted(released, reverse=True)
    assert all(version <= Version(ct.__version__) for version, _ in released)
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def polars_calls(nodes: Nodes, *names: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield line and constant keywords of calls to these methods in modules that use polars.

    Joins of texts and paths, and joins that only select rows, are omitted.
    """
    imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    if all(alias.name != "polars" for alias in imports):
        return
    for node in nodes:
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", None) not in names:
            continue
        options = {str(arg.arg): getattr(arg.value, "value", None) for arg in node.keywords}
        of_frames = len(node.args) > 1 or not JOIN_OPTIONS.isdisjoint(options)
        joins_rows = of_frames and options.get("how") not in MATCHLESS
        if joins_rows or getattr(node.func, "attr", None) != "join":
            yield node.end_lineno or node.lineno, options


def undeclared_joins(nodes: Nodes) -> list[int]:
    """Return lines with a join of data frames that doesn't declare its cardinality.

    >>> undeclared_joins(parse("import polars\\na.join(b, 'k')\\na.join(b, on=k, how='left')"))
    [2, 3]
    >>> undeclared_joins(parse("import polars\\na.join(b, 'k', validate='m:1')\\n''.join(b)"))
    []
    >>> undeclared_joins(parse("import polars\\na.join(b, on='k', how='semi')"))
    []
    """
    return sorted(line for line, given in polars_calls(nodes, "join") if "validate" not in given)


def unordered_calls(nodes: Nodes) -> list[int]:
    """Return lines with a group_by or join whose row order varies between processes.

    >>> unordered_calls(parse("import polars\\na.group_by('k').len()\\na.join(b, 'k')"))
    [2, 3]
    >>> unordered_calls(parse("import polars\\na.group_by('k', maintain_order=True).len()"))
    []
    """
    calls = polars_calls(nodes, "join", "group_by")
    return sorted(line for line, given in calls if not given.get("maintain_order"))


def test_joins_and_groups_declare_their_cardinality_and_order(sources: dict[Path, Nodes]) -> None:
    """A key that is not unique multiplies rows; sums of floats depend on the order of rows."""
    for faults in (undeclared_joins, unordered_calls):
        lines = {name_of(path): faults(nodes) for path, nodes in sources.items()}
        assert {name: numbers for name, numbers in lines.items() if numbers} == {}


def imported_modules(path: Path, nodes: Nodes, modules: dict[str, Path]) -> set[str]:
    """Return the project's modules that a file imports, at run time or for types."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            faces = exported_names(node.module)
            inner = {faces.get(alias.name, f"{node.module}.{alias.name}") for alias in node.names}
            names |= inner & modules.keys()
            names |= {node.module} if inner - modules.keys() else set()
    return {name for name in names if modules.get(name, path) != path}


@cache
def exported_names(package: str) -> dict[str, str]:
    """Return a package's lazy exports: the module that each name is loaded from."""
    stub = ROOT / "src" / package.replace(".", "/") / "__init__.pyi"
    if not stub.exists():
        return {}
    imports = (
        node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)
    )
    return {
        alias.name: f"{package}.{line.module}"
        for line in imports
        if line.module
        for alias in line.names
    }


def test_imports_have_no_cycles(sources: dict[Path, Nodes]) -> None:
    src = ROOT / "src"
    names = [path.relative_to(src).with_suffix("").as_posix() for path in SOURCES]
    modules = {
        name.removesuffix("/__init__").replace("/", "."): path
        for name, path in zip(names, SOURCES, strict=True)
    }
    graph = {name: imported_modules(path, sources[path], modules) for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_exported_names_are_not_shadowed_by_modules() -> None:
    stubs = sorted((ROOT / "src").rglob("__init__.pyi"))
    packages = [".".join(stub.parent.relative_to(ROOT / "src").parts) for stub in stubs]
    hidden = [
        f"{package}.{name}"
        for package, stub in zip(packages, stubs, strict=True)
        for name in exported_names(package)
        if list(stub.parent.glob(f"{name}.py")) or (stub.parent / name).is_dir()
    ]
    assert len(stubs) > 5
    assert hidden == []


def attributes(nodes: Nodes, name: str) -> Iterator[list[str]]:
    """Yield the chains of attributes that a module reads from a name."""
    for node in nodes:
        chain: list[str] = []
        while isinstance(node, ast.Attribute):
            chain.insert(0, node.attr)
            node = node.value
        if chain and isinstance(node, ast.Name) and node.id == name:
            yield chain


def test_accessed_attributes_are_exported(sources: dict[Path, Nodes]) -> None:
    """A submodule that is not exported is available only if it was imported before."""
    missing = []
    for path, nodes in sources.items():
        for read in attributes(nodes, "ct"):
            package = "cheaptalk"
            for name in read:
                stub = ROOT / "src" / package.replace(".", "/") / "__init__.pyi"
                if not stub.exists() or name.startswith("__"):
                    break
                if not re.search(rf"\b{name}\b", stub.read_text(encoding="utf-8")):
                    missing.append(f"{path.name}: ct.{'.'.join(read)}")
                package += f".{name}"
    assert missing == []


def test_rules_of_every_game_are_exported() -> None:
    classes = [
        game_spec.rules
        for game_spec in games().values()
        if game_spec.rules.__module__.startswith("cheaptalk.")
    ]
    assert len(classes) > 10
    names = {game.__name__: game for game in classes}
    assert [n for n, game in names.items() if getattr(ct.games, n, None) is not game] == []
    listed = exported_names("cheaptalk.games")
    assert names.keys() <= listed.keys()
    folders = {path.parent.name for path in (ROOT / "src/cheaptalk/games").glob("*/__init__.py")}
    assert folders <= set(ct.games.__all__)


def test_top_level_is_small_and_documented() -> None:
    """Doctests run the examples."""
    assert len(ct.__all__) <= MAX_TOP_LEVEL
    names = set(ct.__all__)
    values = {name: getattr(ct, name) for name in names}
    documented = {
        name: inspect.getdoc(value) or ""
        for name, value in values.items()
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)
    }
    assert len(documented) > 40
    examples = {name: text.partition(">>> ")[2] for name, text in documented.items()}
    assert [name for name, example in examples.items() if name not in example] == []


FORBIDDEN = {
    "suppressed rule without a reason": r"noqa(?!: [A-Z0-9, ]+ - \w)",
    "inner import of a required package": r"noqa: PLC0415(?! - an optional extra)",
    "draw from a global generator": r"(?<![.\w])random\.(?!Random\b|SystemRandom\b)\w"
    r"|\b(?:np|numpy)\.random\.(?!default_rng|Generator|SeedSequence)\w"
    r"|from (?:numpy\.)?random import",
    "unseeded generator": r"\b(?:Random|default_rng|Generator|SeedSequence)\(\)",
}


@pytest.mark.parametrize("fault", FORBIDDEN)
def test_source_follows_the_code_conventions(fault: str) -> None:
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in SOURCES}
    line = re.compile(f"^.*(?:{FORBIDDEN[fault]}).*$", re.MULTILINE)
    assert {name: match[0] for name, text in texts.items() if (match := line.search(text))} == {}


def test_tests_named_in_the_docs_exist() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    missing = [
        (file, test)
        for file, test in named
        if f"def {test}(" not in (ROOT / "tests" / file).read_text(encoding="utf-8")
    ]
    assert len(named) > 20
    assert missing == []


def test_modules_named_in_the_architecture_exist() -> None:
    page = (ROOT / "docs" / "extend" / "architecture.md").read_text(encoding="utf-8")
    named = {path for path in re.findall(r"`([\w/.]+)`", page) if "/" in path}
    package = ROOT / "src" / "cheaptalk"
    missing = [path for path in named if not list(package.glob(path.replace("NAME", "*")))]
    assert len(named) > 30
    assert missing == []
