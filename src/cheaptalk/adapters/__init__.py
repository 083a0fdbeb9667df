"""cheaptalk inside other projects. Loaded when first used; each needs the extra it names."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
