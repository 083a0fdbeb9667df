"""Players: scripted strategies, language models, people, and replays of recorded matches."""

from cheaptalk.players import person, rosters  # noqa: F401 - registers media and rosters on import
from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
