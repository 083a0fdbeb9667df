"""Stores of studies and matches, the ledger of model calls, exports and imports."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
