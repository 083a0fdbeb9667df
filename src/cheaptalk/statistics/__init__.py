"""Statistics of studies: means, regressions, tests and rankings; requires ``[analysis]``.

>>> ct.statistics.holm([0.01, 0.04, 0.03])
array([0.03, 0.06, 0.06])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
