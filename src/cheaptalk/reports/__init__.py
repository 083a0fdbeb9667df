"""Reports: a study as one self-contained page; loaded on first use, requires ``[analysis]``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
