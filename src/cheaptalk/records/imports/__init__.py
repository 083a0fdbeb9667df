"""Imports of games that other systems published.

Each system has an :class:`Importer`, which reads its files into a :class:`GameCollection`;
:func:`import_matches` stores any collection.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
