"""Data frames of a study's matches, rounds and participants. They require ``[analysis]``."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
