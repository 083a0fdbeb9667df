"""cheaptalk inside other projects: games, runs and records in the forms that these know.

Loaded when first used; each needs the extra that its page names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
