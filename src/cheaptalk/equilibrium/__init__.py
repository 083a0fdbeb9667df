"""Equilibria of empirical games, imported on first use; requires the extra ``[analysis]``."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
