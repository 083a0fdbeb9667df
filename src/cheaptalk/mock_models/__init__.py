"""A mock model server that answers over real HTTP, without API key or cost.

``cheaptalk model mock-server`` and :func:`mock_server` start it for examples, rehearsals and tests.
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
