"""Replications of papers with presets, rosters and recipes (which require ``[analysis]``).

>>> sorted(ct.papers.glee.PRESETS)
['glee', 'glee-human', 'glee-small']
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
