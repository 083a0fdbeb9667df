"""Clients for language models: they send chat messages and return text and token usage."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
