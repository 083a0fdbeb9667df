"""Compute statistics of studies: means, regressions, resampling, tests and rankings.

Loaded when first used; needs ``[analysis]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
