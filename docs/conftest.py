"""What an example registers is gone when its page ends."""

from collections.abc import Iterator

import pytest

from cheaptalk.rules import Registry


@pytest.fixture(autouse=True)
def as_installed() -> Iterator[None]:
    """Take back what a page registered."""
    yield
    for registry in Registry.known:
        for name in registry.here:
            registry.remove(name)
