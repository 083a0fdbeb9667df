"""Modules of the extra ``[analysis]``, imported on first use."""

from importlib import import_module
from typing import Any

from cheaptalk.rules import CheaptalkError


class Deferred:
    """A module that is imported on the first use of one of its attributes.

    Python's ``LazyLoader`` doesn't work here: it puts an unfinished module into ``sys.modules``,
    and a later import of one of its submodules then loads that submodule twice (importing
    ``scipy.special`` after ``jax`` failed inside NumPy).
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # inspection does not use the module
            raise AttributeError(attribute)
        try:
            module = import_module(self._name)
        except ModuleNotFoundError as error:
            raise CheaptalkError(
                f'this needs {error.name}: pip install "cheaptalk[analysis]"'
            ) from None
        value = getattr(module, attribute)
        setattr(self, attribute, value)
        return value


def needed(name: str) -> Any:
    """Return a module that is imported on first use.

    Raises:
        CheaptalkError: on first use, if the module is not installed; the message names the extra.
    """
    return Deferred(name)
