"""Replications of papers with presets, rosters and recipes (which require ``[analysis]``).

>>> sorted(ct.papers.glee.PRESETS)
['glee', 'glee-human', 'glee-small']
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
