"""Array versions of games, which play many matches at once; they need the ``[report]`` extra."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
