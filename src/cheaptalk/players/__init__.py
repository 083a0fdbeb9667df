"""Players: scripted strategies, language models, people, recorded answers."""

import lazy_loader

from cheaptalk.players import person, rosters  # noqa: F401 - what they register is known at once

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
