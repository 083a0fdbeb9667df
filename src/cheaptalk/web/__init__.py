"""Web applications: rooms, experiments, laboratory and viewer; they need the ``[web]`` extra."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
