"""The games as environments of other trainers: a seat is a chat, and what it gets is the reward.

Loaded when first used; those of other packages need what they are called by.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
