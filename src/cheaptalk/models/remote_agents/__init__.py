"""Remote agents, which connect over HTTP or are Python functions in this process."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
