"""cheaptalk: a laboratory for strategic communication.

Language models, people, scripted strategies and recorded players bargain, negotiate and persuade
under one set of rules. All names in this package are loaded when first used.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
