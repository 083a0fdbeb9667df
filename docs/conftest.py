"""Fixtures for the doctests of the documentation."""

from collections.abc import Iterator

import pytest

from cheaptalk.rules import Registry


@pytest.fixture(autouse=True)
def as_installed() -> Iterator[None]:
    """Remove the registrations of a page after its doctests."""
    yield
    for registry in Registry.known:
        for name in registry.here:
            registry.remove(name)
