"""Learning algorithms for array games, imported on first use; requires the extra ``[report]``."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
