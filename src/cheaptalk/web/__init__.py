"""Web applications of the ``[web]`` extra: game rooms, experiments, laboratory and viewer.

>>> with ct.web.listen(port=0) as sock:
...     ct.web.own_address(sock).hosts
('127.0.0.1', 'localhost')
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
