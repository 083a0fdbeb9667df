"""Adapters that make games, runs and records available in other projects' formats.

Adapters are imported on first use; each adapter needs its own extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
