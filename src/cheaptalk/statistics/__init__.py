"""Statistics of studies: means, regressions, tests and rankings; requires ``[analysis]``.

>>> ct.statistics.holm([0.01, 0.04, 0.03])
array([0.03, 0.06, 0.06])
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
