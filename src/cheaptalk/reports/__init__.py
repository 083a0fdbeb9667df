"""Reports on studies as self-contained pages, which require the extra ``[analysis]``."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
