"""Judges: models that apply rubrics to matches and survey answers; requires ``[analysis]``."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
