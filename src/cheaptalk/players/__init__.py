"""Players: scripted strategies, language models, people, and replays of recorded matches."""

import lazy_loader

from cheaptalk.players import person, rosters  # noqa: F401 - registers media and rosters on import

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
