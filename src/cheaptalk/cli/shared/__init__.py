"""Shared parts of commands: options, lookup of studies, printing and progress."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
