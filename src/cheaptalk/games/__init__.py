"""The games: packages of rules, prompts, strategies and metrics, loaded on first use."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
