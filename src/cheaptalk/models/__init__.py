"""Clients for language models: they send chat messages and return text and token usage."""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
