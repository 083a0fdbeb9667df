"""Tests that are collected, and fixtures for examples in documents."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import cheaptalk
from cheaptalk.rules import Registry

EXAMPLES = Path(__file__).with_name("examples")
SOURCE = Path(cheaptalk.__file__).parents[1]
NEEDED = {
    "inspect_ai": ("docs/models/inspect.md", "tests/typed/*"),
    "jax": (
        "docs/models/train-a-policy.md",
        "src/cheaptalk/learning/*.py",
        "tests/arrays/*",
        "tests/learning/*.py",
    ),
    "mkdocs": ("docs/*.py", "tests/language/*", "tests/test_docs.py"),
    "pettingzoo": (
        "docs/extend/game-libraries.md",
        "src/cheaptalk/adapters/pettingzoo.py",
        "tests/adapters/test_extras.py",
        "tests/adapters/test_pettingzoo.py",
    ),
    "pyspiel": ("src/cheaptalk/adapters/openspiel.py", "tests/adapters/test_openspiel.py"),
    "tensorboardX": ("docs/operations/observability.md", "tests/adapters/test_trackers.py"),
    "uv": ("tests/test_distribution.py",),
}
"""Files whose tests import a package of an extra; without the package, they are not collected."""
MISSING = [package for package in NEEDED if find_spec(package) is None]
collect_ignore_glob = [path for package in MISSING for path in NEEDED[package]]


def pytest_report_header() -> str | None:
    """Name the packages whose tests are not collected."""
    return f"tests not collected without: {', '.join(MISSING)}" if MISSING else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Remove examples of functions from packages, because their modules run them."""
    items[:] = [item for item in items if not _is_repeated(item)]


def _is_repeated(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.DoctestItem) or item.path.name != "__init__.py":
        return False
    package = ".".join(item.path.parent.relative_to(SOURCE).parts)
    return item.dtest is not None and item.dtest.name != package


@pytest.fixture(autouse=True)
def doctest_environment(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Run doctests in a temporary folder with ``examples``, and remove their registrations.

    In docstrings, ``ct`` is imported already.
    """
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    folder: Path = request.getfixturevalue("tmp_path")
    (folder / EXAMPLES.name).symlink_to(EXAMPLES)
    monkeypatch.chdir(folder)
    if request.path.suffix == ".py":
        assert request.node.dtest is not None
        request.node.dtest.globs["ct"] = cheaptalk
    yield
    for registry in Registry.known:
        for name in registry.here:
            registry.remove(name)
