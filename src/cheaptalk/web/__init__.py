"""Web applications of the ``[web]`` extra: game rooms, experiments, laboratory and viewer."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
