"""Prompt styles: rendering of observations and parsing of answers for all games.

>>> codec = ct.styles.style("negotiation").codec
>>> codec.write(ct.games.negotiation.rules.Price(price=12))
'{"price":12.0}'
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
