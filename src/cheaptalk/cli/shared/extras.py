"""Packages that only some commands need: which there are, and how to get what is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

import cheaptalk as ct

EXTRAS = {
    "analysis": ("polars", "scipy", "plotly"),
    "predict": ("scikit-learn", "catboost"),
    "web": ("fastapi", "uvicorn"),
    "lm": ct.models.model_strings.IN_PROCESS_NEEDS,
}
"""The packages of each optional part of the installation."""


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    return [package for package in EXTRAS[extra] if not _installed(package)]


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


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
