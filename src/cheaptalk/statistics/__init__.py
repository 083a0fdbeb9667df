"""Statistics of studies: means, regressions, tests and rankings; requires ``[analysis]``."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
