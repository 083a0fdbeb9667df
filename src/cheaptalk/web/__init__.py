"""Pages in a browser. Loaded when first used; needs ``[web]``."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
