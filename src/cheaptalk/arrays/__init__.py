"""Array versions of games, which play many matches at once; they need the ``[report]`` extra."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
