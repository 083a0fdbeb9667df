"""Clients for language models: they send chat messages and return text and token usage.

>>> ct.models.load_prices().of("openai/gpt-4o").input  # dollars per million tokens
2.5
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
