"""The project's own invariants."""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest
from bench import driver
from hatch_build import for_an_index
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import cheaptalk
from cheaptalk.doctor import extras
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
    "open-spiel": "pyspiel",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "tensorboardx": "tensorboardX",
    "xgboost-cpu": "xgboost",
}
"""Modules that are not named as the packages that bring them."""
SEEDED = {"Random", "default_rng", "Generator", "SeedSequence"}
OWN = {*SEEDED, "SystemRandom"}
JOIN_OPTIONS = {"on", "left_on", "right_on", "how", "suffix", "validate", "nulls_equal", "coalesce"}
MATCHLESS = {"semi", "anti", "cross"}
"""Kinds of joins that have no cardinality: they repeat no row, or all rows by intention."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pinned(lock: str) -> dict[str, str]:
    """The versions that a lock file pins, by package."""
    text = (ROOT / "requirements" / lock).read_text()
    return dict(re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==([^\s;]+)", text, re.MULTILINE))


def needed(*extras: str, build: bool = True) -> Iterator[Requirement]:
    """What the project declares for itself with these extras, and to build it."""
    lists = [PROJECT["project"]["dependencies"], *(EXTRAS[extra] for extra in extras)]
    lists += [PROJECT["build-system"]["requires"]] if build else []
    for line in chain.from_iterable(lists):
        requirement = Requirement(line)
        if requirement.name == PROJECT["project"]["name"]:
            yield from needed(*requirement.extras, build=build)
        else:
            yield requirement


LONG_RULES = {"chip_trading", "deal_or_no_deal", "item_bargaining", "persuasion"}
"""Games whose rules may take more than 115 lines of code; the docs name them and say why."""


def test_rules_of_games_are_short() -> None:
    folder = ROOT / "src" / "cheaptalk" / "games"
    lines = {name: len(source_lines(folder / name / "rules.py")) for name in games()}
    limits = {name: 140 if name in LONG_RULES else 115 for name in games()}
    assert {name: count for name, count in lines.items() if count > limits[name]} == {}


def source_lines(path: Path) -> set[int]:
    """The lines of a module that hold code: no blank ones, comments, docstrings or imports."""
    text = path.read_text(encoding="utf-8")
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING):
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            held.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return held


@pytest.mark.parametrize(("paths", "limit"), [(SOURCES, 600), (TESTS, 600)], ids=["src", "tests"])
def test_files_are_short(paths: list[Path], limit: int) -> None:
    lines = {name_of(path): len(path.read_text().splitlines()) for path in paths}
    assert {name: length for name, length in lines.items() if length > limit} == {}


@pytest.mark.parametrize("lock", ["report.txt", "dev.txt", "lm.txt"])
def test_locks_name_no_index_and_hash_everything(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    assert not re.search(r"://|file:|^-", text, re.MULTILINE)
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize(("lock", "extra"), [("report", "report"), ("dev", "dev"), ("lm", "tune")])
def test_locks_pin_what_the_project_declares(lock: str, extra: str) -> None:
    versions = pinned(f"{lock}.txt")
    stale = [
        str(requirement)
        for requirement in needed(extra)
        if versions.get(canonicalize_name(requirement.name), "none") not in requirement.specifier
    ]
    assert stale == [], "run `make lock`"


def test_all_locks_pin_the_same_versions() -> None:
    models, versions = pinned("lm.txt"), pinned("dev.txt")
    assert pinned("report.txt").items() <= versions.items()
    assert [name for name in models.keys() & versions if models[name] != versions[name]] == []


def declared(*extras: str) -> set[str]:
    """The packages that a user gets with these extras, as they are imported."""
    names = {canonicalize_name(one.name) for one in needed(*extras, build=False)}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in names}


def test_what_is_declared_is_imported_and_what_is_imported_is_declared() -> None:
    offered = declared(*(extra for extra in EXTRAS if extra != "dev"))
    used, named = set[str](), set[str]()
    for path in SOURCES:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for node in nodes:
            if isinstance(node, ast.Import):
                used |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                used.add(node.module.partition(".")[0])
        if {"import_module", "load"} & {one.id for one in nodes if isinstance(one, ast.Name)}:
            texts = [one.value for one in nodes if isinstance(one, ast.Constant)]
            named |= {one.partition(".")[0] for one in texts if isinstance(one, str)}
    foreign = used - {*sys.stdlib_module_names, "cheaptalk"}
    assert foreign - offered == set()
    assert offered - foreign - named == set()


@pytest.mark.parametrize("extra", extras())
def test_the_doctor_looks_for_what_an_extra_brings(extra: str) -> None:
    others = {"predict": ["analysis"], "tune": ["lm"], "analysis": [], "web": []}
    sought = {module.partition(".")[0] for module in extras()[extra]}
    assert sought == declared(extra) - declared(*others.get(extra, ["report"]))


def test_each_extra_is_tried_in_an_environment_of_its_own() -> None:
    assert {*EXTRAS, installs.NONE} - {"dev"} == set(installs.USES)


def test_import_pulls_in_nothing_heavy() -> None:
    code = f"import sys, cheaptalk, cheaptalk.rules; print(*sys.modules.keys() & {set(HEAVY)})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_benchmark_plays_every_game() -> None:
    assert driver.covered() == set(games())
    played = [driver.rate(*driver.pairing(pair), 2) for pair in driver.PAIRS]
    assert all(answers >= 2 for _, answers in played)


def test_one_version_everywhere() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert cheaptalk.__version__ == PROJECT["project"]["version"] == citation[1]


def test_the_readme_of_the_package_leads_nowhere_but_to_sites() -> None:
    readme = for_an_index((ROOT / "README.md").read_text(encoding="utf-8"))
    ways = re.findall(r"\]\(([^)]*)\)", readme)
    assert [way for way in ways if not way.startswith("https://")] == []
    assert "- Your first study: a 30-minute tutorial\n" in readme
    assert for_an_index("![a](b.png)\n\n[c](https://d.org)") == "[c](https://d.org)"


def test_changelog_begins_with_what_comes_next_and_dates_each_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", one) for one in headings]
    released = [(Version(one[1]), one[2]) for one in found if one]
    assert len(released) == len(headings)
    assert released == sorted(released, reverse=True)
    assert all(version <= Version(cheaptalk.__version__) for version, _ in released)
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def global_draws(tree: ast.AST) -> list[int]:
    """Lines that draw from the generator that all of a process shares, or from an unseeded one.

    >>> global_draws(ast.parse("import random\\nrandom.seed(1)\\nrandom.Random(1)"))
    [2]
    >>> global_draws(ast.parse("import numpy as np\\nnp.random.normal()\\nrng.random()"))
    [2]
    >>> global_draws(ast.parse("from random import Random, choice\\nRandom()\\nRandom(1)"))
    [1, 2]
    """
    nodes = list(ast.walk(tree))
    imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules = {alias.asname or alias.name: alias.name for alias in imports}
    lines = set()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                shared = modules.get(module) == "random" and name not in OWN
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=module), attr="random")):
                shared = modules.get(module) == "numpy" and node.attr not in OWN
            case ast.ImportFrom(module="random" | "numpy.random", names=names):
                shared = any(alias.name not in OWN for alias in names)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[], keywords=[]):
                shared = name in SEEDED
            case _:
                continue
        if shared:
            lines.add(node.lineno)
    return sorted(lines)


def polars_calls(tree: ast.AST, *names: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Methods of these names in modules that import polars: line, call and constant keywords.

    Joins of texts and paths, and joins that only select rows, are left out.
    """
    nodes = list(ast.walk(tree))
    imports = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    if all(alias.name != "polars" for alias in imports):
        return
    for node in nodes:
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", None) not in names:
            continue
        given = {str(one.arg): getattr(one.value, "value", None) for one in node.keywords}
        of_frames = len(node.args) > 1 or not JOIN_OPTIONS.isdisjoint(given)
        joins_rows = of_frames and given.get("how") not in MATCHLESS
        if joins_rows or getattr(node.func, "attr", None) != "join":
            yield node.end_lineno or node.lineno, given


def undeclared_joins(tree: ast.AST) -> list[int]:
    """Lines with a join of data frames that does not declare its cardinality.

    >>> undeclared_joins(ast.parse("import polars\\na.join(b, 'k')\\na.join(b, on=k, how='left')"))
    [2, 3]
    >>> undeclared_joins(ast.parse("import polars\\na.join(b, 'k', validate='m:1')\\n''.join(b)"))
    []
    >>> undeclared_joins(ast.parse("import polars\\na.join(b, on='k', how='semi')"))
    []
    """
    return sorted(line for line, given in polars_calls(tree, "join") if "validate" not in given)


def unordered_calls(tree: ast.AST) -> list[int]:
    """Lines with a group_by or join whose result comes in another order in another process.

    >>> unordered_calls(ast.parse("import polars\\na.group_by('k').len()\\na.join(b, 'k')"))
    [2, 3]
    >>> unordered_calls(ast.parse("import polars\\na.group_by('k', maintain_order=True).len()"))
    []
    """
    calls = polars_calls(tree, "join", "group_by")
    return sorted(line for line, given in calls if not given.get("maintain_order"))


@pytest.mark.parametrize("faults", [undeclared_joins, unordered_calls])
def test_joins_and_groups_declare_their_cardinality_and_order(
    faults: Callable[[ast.AST], list[int]],
) -> None:
    """A key that is not unique multiplies rows; sums of floats depend on the order of rows."""
    trees = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: lines for name, tree in trees.items() if (lines := faults(tree))} == {}


def inner_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The imports inside functions: line and top-level module.

    >>> list(inner_imports(ast.parse("import os\\ndef f():\\n    from a.b import c")))
    [(3, 'a')]
    """
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in (node for node in ast.walk(tree) if isinstance(node, functions)):
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.lineno, (node.module or "").partition(".")[0]


def imported(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of this project that a file imports, for running or for its types."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            faces = offered(node.module)
            inner = {faces.get(one.name, f"{node.module}.{one.name}") for one in node.names}
            found |= inner & modules.keys()
            found |= {node.module} if inner - modules.keys() else set()
    return {name for name in found if modules.get(name, path) != path}


@cache
def offered(package: str) -> dict[str, str]:
    """What a package offers lazily: the module that each name is loaded from."""
    stub = ROOT / "src" / package.replace(".", "/") / "__init__.pyi"
    if not stub.exists():
        return {}
    lines = [one for one in ast.parse(stub.read_text()).body if isinstance(one, ast.ImportFrom)]
    return {
        alias.name: f"{package}.{line.module}"
        for line in lines if line.module for alias in line.names
    }  # fmt: skip


def test_no_imports_go_in_circles_for_types_either() -> None:
    src = ROOT / "src"
    names = [path.relative_to(src).with_suffix("").as_posix() for path in SOURCES]
    modules = {
        name.removesuffix("/__init__").replace("/", "."): path
        for name, path in zip(names, SOURCES, strict=True)
    }
    graph = {name: imported(path, modules) for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_what_a_package_offers_is_not_hidden_by_a_module() -> None:
    stubs = sorted((ROOT / "src").rglob("__init__.pyi"))
    packages = [".".join(stub.parent.relative_to(ROOT / "src").parts) for stub in stubs]
    hidden = [
        f"{package}.{name}"
        for package, stub in zip(packages, stubs, strict=True) for name in offered(package)
        if list(stub.parent.glob(f"{name}.py")) or (stub.parent / name).is_dir()
    ]  # fmt: skip
    assert len(stubs) > 5
    assert hidden == []


def attributes(path: Path, name: str) -> Iterator[list[str]]:
    """The chains of attributes that a module reads off a name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        chain: list[str] = []
        while isinstance(node, ast.Attribute):
            chain.insert(0, node.attr)
            node = node.value
        if chain and isinstance(node, ast.Name) and node.id == name:
            yield chain


def test_what_is_read_off_a_package_is_offered_by_it() -> None:
    """A submodule that nothing offers is there only if something else has imported it before."""
    found = []
    for path in SOURCES:
        for read in attributes(path, "ct"):
            package = "cheaptalk"
            for name in read:
                stub = ROOT / "src" / package.replace(".", "/") / "__init__.pyi"
                if not stub.exists() or name.startswith("__"):
                    break
                if not re.search(rf"\b{name}\b", stub.read_text(encoding="utf-8")):
                    found.append(f"{path.name}: ct.{'.'.join(read)}")
                package += f".{name}"
    assert found == []


def test_the_rules_of_every_game_have_a_typed_name() -> None:
    ours = [
        game_spec.rules
        for game_spec in games().values()
        if game_spec.rules.__module__.startswith("cheaptalk.")
    ]
    assert len(ours) > 10
    assert [one for one in ours if getattr(cheaptalk.games, one.__name__, None) is not one] == []
    listed = offered("cheaptalk.games")
    assert {one.__name__ for one in ours} <= listed.keys()
    folders = {path.parent.name for path in (ROOT / "src/cheaptalk/games").glob("*/__init__.py")}
    assert folders <= set(cheaptalk.games.__all__)


def test_source_keeps_the_house_rules() -> None:
    optional = {
        Requirement(line).name for extra in EXTRAS if extra != "dev" for line in EXTRAS[extra]
    }
    broken: list[tuple[str, object]] = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        found: list[object] = [*global_draws(tree)]
        found += [(line, module) for line, module in inner_imports(tree) if module not in optional]
        found += re.findall(r"^.*# noqa(?!: [A-Z0-9, ]+ - \w).*$", text, re.MULTILINE)
        broken += [(name_of(path), one) for one in found]
    assert broken == []


def test_the_tests_that_the_promises_name_are_there() -> None:
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


def test_the_rooms_that_the_architecture_names_are_there() -> None:
    page = (ROOT / "docs" / "extend" / "architecture.md").read_text(encoding="utf-8")
    named = {one for one in re.findall(r"`([\w/.]+)`", page) if "/" in one}
    package = ROOT / "src" / "cheaptalk"
    missing = [one for one in named if not list(package.glob(one.replace("NAME", "*")))]
    assert len(named) > 30
    assert missing == []
