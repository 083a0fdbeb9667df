"""The games: packages of rules, prompts, strategies and metrics, loaded on first use.

>>> ct.games.Bargaining(money=100, discounts=(0.9, 0.8)).payoff_bounds()
{'alice': (0.0, 100.0), 'bob': (0.0, 100.0)}
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
