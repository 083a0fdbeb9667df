"""Packages whose public names are loaded when they are first used."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import lazy_loader

from cheaptalk.rules.arguments import checked


def attach(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the attributes ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Names are loaded from the modules in the package's stub. Functions check their arguments.
    """
    load, names, public = lazy_loader.attach_stub(package, file)

    def loaded(name: str) -> Any:
        value = load(name)
        if name in public:
            value = checked(value, package)
            setattr(import_module(package), name, value)
        return value

    return loaded, names, public
