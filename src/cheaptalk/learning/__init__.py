"""Learning algorithms for array games, imported on first use; requires the extra ``[report]``.

>>> rules = ct.games.ItemBargaining(quantities=(1, 1), highest_value=2, rounds=1)
>>> tree = ct.learning.Tree(ct.arrays.array_game(rules))
>>> bool(tree.gains(ct.learning.solve(tree, iterations=40).policy).max() < 0.01)
True
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
