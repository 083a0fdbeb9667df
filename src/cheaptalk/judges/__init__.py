"""Judges: models that apply rubrics to matches and survey answers; requires ``[analysis]``.

>>> ct.judges.find_rubric("honesty").labels
['honest', 'overstates', 'understates']
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
