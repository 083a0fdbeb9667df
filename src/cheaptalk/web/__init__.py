"""Web applications of the ``[web]`` extra: game rooms, experiments, laboratory and viewer.

>>> with ct.web.listen(port=0) as sock:
...     ct.web.own_address(sock).hosts
('127.0.0.1', 'localhost')
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
