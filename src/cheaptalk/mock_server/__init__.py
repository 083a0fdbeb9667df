"""A mock model server: answers over real HTTP, without a key or cost.

``cheaptalk model mock-server`` starts it. It serves examples, rehearsals and tests.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
