"""Reports on studies as self-contained pages, which require the extra ``[analysis]``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
