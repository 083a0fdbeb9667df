"""Errors for optional dependencies that are not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

import cheaptalk as ct  # whose errors are loaded when one is raised


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Turn a missing module into an error that says how to install it.

    Raises:
        CheaptalkError: a package of this extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ct.CheaptalkError(
            f'{error.name} is not installed; install it with: pip install "cheaptalk[{extra}]"'
        ) from None
