"""Optional parts of the installation: what to say where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

import cheaptalk as ct  # whose errors are loaded when one is raised


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Say how to install what is missing.

    Raises:
        CheaptalkError: a package of this extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ct.CheaptalkError(
            f'{error.name} is not installed; get it with: pip install "cheaptalk[{extra}]"'
        ) from None
