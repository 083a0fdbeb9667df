"""Errors for optional dependencies that are not installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import cheaptalk as ct  # loads errors only when they are raised

ANALYSIS = ("polars", "scipy")
"""The modules of the extra ``analysis`` that every report needs."""

TUNE = ("torch", "transformers", "peft", "accelerate")
"""The modules of the extra ``tune`` that every fine-tuning needs."""


@contextmanager
def needing(extra: str, *modules: str) -> Iterator[None]:
    """Convert an error about a missing module to an error that advises how to install it.

    Args:
        extra: the extra that contains the module.
        modules: modules that must be installed from the beginning, because they are used late.

    Raises:
        CheaptalkError: a package of the extra is not installed.
    """
    try:
        for module in modules:
            if find_spec(module) is None:
                raise ModuleNotFoundError(name=module)
        yield
    except ModuleNotFoundError as error:
        raise ct.CheaptalkError(
            f'{error.name} is not installed; install it with: pip install "cheaptalk[{extra}]"'
        ) from None
