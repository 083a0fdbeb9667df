"""Judges: models that apply rubrics to matches and survey answers; requires ``[analysis]``.

>>> ct.judges.find_rubric("honesty").labels
['honest', 'overstates', 'understates']
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
