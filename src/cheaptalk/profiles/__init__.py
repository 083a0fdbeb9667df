"""Profiles: how an agent bargains, by a battery of matches, beside a panel on the same deals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
