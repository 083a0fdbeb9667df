"""Frames: a store's data for statistics. Loaded when first used; needs ``[analysis]``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
