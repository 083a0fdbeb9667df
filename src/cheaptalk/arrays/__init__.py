"""Array versions of games, which play many matches at once; they need the ``[report]`` extra.

>>> import numpy as np
>>> game = ct.arrays.array_game(ct.games.SealedBidAuction(players=2, rounds=1))
>>> random = np.random.default_rng(0).random
>>> state = game.draw_instance(random((1_000, game.uniforms)))
>>> game.observe(game.step(state, game.random_action(state, random(1_000))), 1).shape
(1000, 10)
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
