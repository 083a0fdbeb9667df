"""Replications of papers with presets, rosters and recipes (which require ``[analysis]``)."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
