"""The published systems, a room each: recipe, importer, presets and rosters of a paper.

Loaded when first used; recipes need ``[analysis]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, ["chips", "gama", "glee", "metagame", "self_play"]
)
