"""Profiles: measurements of an agent's strengths and weaknesses with a battery of matches.

>>> ct.profiles.battery(ct.profiles.LATEST).name
'standard-2'
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
