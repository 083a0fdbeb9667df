"""Adapters that make games, runs and records available in other projects' formats.

Adapters are imported on first use; each adapter needs its own extra.
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
