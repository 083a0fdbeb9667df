"""Errors for optional dependencies that are not installed."""

from collections.abc import Iterator
from contextlib import contextmanager

import cheaptalk as ct  # loads errors only when they are raised


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Convert an error about a missing module to an error that advises how to install it.

    Raises:
        CheaptalkError: a package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ct.CheaptalkError(
            f'{error.name} is not installed; install it with: pip install "cheaptalk[{extra}]"'
        ) from None
