"""Stores of studies and matches, the ledger of model calls, exports and imports."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
