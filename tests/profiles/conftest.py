"""What tests of profiles share."""

from collections.abc import Iterator

import pytest

from cheaptalk.rules.registry import STRATEGIES


@pytest.fixture(autouse=True)
def _functions_are_forgotten() -> Iterator[None]:
    """A function that sat down as a strategy is registered in this process, for others, too."""
    before = STRATEGIES.here
    yield
    for name in STRATEGIES.here - before:
        STRATEGIES.remove(name)
