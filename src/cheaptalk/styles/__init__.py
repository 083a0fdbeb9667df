"""Words: what all games share in telling players what happened and reading what they answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
