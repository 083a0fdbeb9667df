"""The games: one folder each, loaded when first used."""

from pkgutil import iter_modules

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, [one.name for one in iter_modules(__path__)]
)
