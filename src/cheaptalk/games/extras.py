"""Modules of the extra ``[analysis]``, loaded when first used."""

import sys
from importlib.util import find_spec
from typing import Any

import lazy_loader

from cheaptalk.rules import CheaptalkError


class Missing:
    """Stands for a module that is not installed, and says so when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, _: str) -> Any:
        raise CheaptalkError(f'this needs {self._name}: pip install "cheaptalk[analysis]"')


def needed(name: str) -> Any:
    """A module that is loaded when first used, or what then says that it is missing."""
    here = sys.modules.get(name) is not None or find_spec(name) is not None
    return lazy_loader.load(name) if here else Missing(name)
