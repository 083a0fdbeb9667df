"""cheaptalk inside other projects: games and records in the forms that these know.

Loaded when first used; each adapter needs what its extra brings.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
