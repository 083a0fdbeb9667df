"""Profiles: an agent's strengths and weaknesses, measured with a battery of matches and compared
with baselines on the same instances."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
