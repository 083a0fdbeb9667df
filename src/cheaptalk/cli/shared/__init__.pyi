from . import consoles as consoles
