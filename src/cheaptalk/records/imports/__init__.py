"""Imports of games that other systems published.

Each system has an :class:`Importer`, which reads its files into a :class:`GameCollection`;
:func:`import_matches` stores any collection.
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
