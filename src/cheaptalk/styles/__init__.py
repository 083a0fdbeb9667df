"""Prompt styles: rendering of observations and parsing of answers for all games.

>>> codec = ct.styles.style("negotiation").codec
>>> codec.write(ct.games.negotiation.rules.Price(price=12))
'{"price":12.0}'
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
