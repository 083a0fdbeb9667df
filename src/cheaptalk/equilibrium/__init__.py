"""Equilibria of empirical games, imported on first use; requires the extra ``[analysis]``.

>>> payoffs = [[3, 0], [5, 1]]  # a prisoner's dilemma
>>> print(ct.equilibrium.symmetric_equilibria(payoffs, labels=["cooperate", "defect"]))
1 symmetric equilibrium, and no others
  {defect: 1.0000}, payoff 1, entropy 0.0000, regret 0.0e+00
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
