"""Judges: models that judge matches and survey answers by a rubric, and their agreement.

Loaded on first use; needs ``[analysis]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
