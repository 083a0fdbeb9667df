from . import consoles as consoles
from . import layout as layout
