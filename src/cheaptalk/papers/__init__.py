"""Replications of published systems: one package per paper, with recipe, presets and rosters.

Packages are loaded on first use. Recipes need ``[analysis]``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, ["chips", "gama", "glee", "metagame", "self_play"]
)
