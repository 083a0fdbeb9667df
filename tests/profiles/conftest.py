"""Fixtures of the profile tests."""

from collections.abc import Iterator

import pytest

from cheaptalk.rules.registry import STRATEGIES


@pytest.fixture(autouse=True)
def _unregister_functions() -> Iterator[None]:
    """Unregister functions that a test used as strategies, which affects other tests."""
    before = STRATEGIES.here
    yield
    for name in STRATEGIES.here - before:
        STRATEGIES.remove(name)
