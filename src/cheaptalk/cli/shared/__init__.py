"""What commands share: options, looking studies up, printing, sentences and progress."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
