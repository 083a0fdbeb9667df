"""Profiles: measurements of an agent's strengths and weaknesses with a battery of matches.

>>> ct.profiles.battery(ct.profiles.LATEST).name
'standard-2'
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
