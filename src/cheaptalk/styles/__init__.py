"""Prompt styles: rendering of observations and parsing of answers for all games."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
