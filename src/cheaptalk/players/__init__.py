"""Players: scripted strategies, language models, people, and replays of recorded matches.

>>> seat = ct.players.ModelSeat(model="openai/gpt-4o", persona="You are in a hurry.")
>>> game = ct.games.Negotiation()
>>> table = ct.Table(game, game.draw_instance(ct.Chance("1")), "1")
>>> [message.role for message in ct.players.messages(table, "alice", seat)]
['system', 'user']
"""

from cheaptalk.players import person, rosters  # noqa: F401 - registers media and rosters on import
from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
