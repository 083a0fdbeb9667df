"""Lazy imports of optional dependencies, which the extra ``[analysis]`` installs."""

from importlib import import_module
from typing import Any

from cheaptalk.rules import CheaptalkError


class Deferred:
    """A module that is imported on the first use of one of its attributes.

    Python's ``LazyLoader`` puts an unfinished module into ``sys.modules``, so that submodules can
    be loaded twice: importing ``scipy.special`` after ``jax`` then failed inside NumPy.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # inspection must not import the module
            raise AttributeError(attribute)
        try:
            module = import_module(self._name)
        except ModuleNotFoundError as error:
            message = f'this function requires {error.name}: pip install "cheaptalk[analysis]"'
            raise CheaptalkError(message) from None
        value = getattr(module, attribute)
        setattr(self, attribute, value)
        return value


def needed(name: str) -> Any:
    """Return a lazily imported module; using it raises an error if it is not installed."""
    return Deferred(name)
