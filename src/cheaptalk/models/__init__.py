"""Clients for language models: they send chat messages and return text and token usage.

>>> ct.models.load_prices().of("openai/gpt-4o").input  # dollars per million tokens
2.5
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
