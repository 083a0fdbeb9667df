"""Taking in games that other systems published.

Each system has a function that reads its files into a :class:`Collection`; :func:`take_in` stores
any collection.
"""

from cheaptalk.records.imports.intake import (
    Collection,
    ForeignGame,
    Intake,
    Skipped,
    Unfit,
    take_in,
    with_a_game,
)

__all__ = [
    "Collection", "ForeignGame", "Intake", "Skipped", "Unfit", "take_in", "with_a_game",
]  # fmt: skip
