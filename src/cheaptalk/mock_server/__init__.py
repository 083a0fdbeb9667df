"""A mock model server that answers over real HTTP, without API key or cost.

``cheaptalk model mock-server`` starts it. It serves examples, rehearsals and tests.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
