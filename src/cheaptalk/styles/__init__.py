"""Prompt styles: rendering of observations and parsing of answers for all games."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
