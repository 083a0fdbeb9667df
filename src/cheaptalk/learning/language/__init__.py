"""Language models as learners: chats in tokens, small models made here, self-play.

Loaded when first used; needs ``[tune]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
