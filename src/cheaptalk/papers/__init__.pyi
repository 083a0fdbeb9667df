from . import chips, gama, glee, metagame, self_play
from .gama.importer.importer import read_gama
from .glee.importer import read_glee
from .self_play.importer import read_dond

__all__ = [
    "chips",
    "gama",
    "glee",
    "metagame",
    "read_dond",
    "read_gama",
    "read_glee",
    "self_play",
]
