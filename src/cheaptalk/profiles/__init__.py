"""Profiles: measurements of an agent's strengths and weaknesses with a battery of matches."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
