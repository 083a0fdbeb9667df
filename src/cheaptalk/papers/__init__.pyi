from . import chips, gama, glee, metagame, self_play
from .gama.importer.importer import read_gama
from .glee.importer import read_glee
from .reproductions import models_of, paper_names, paper_studies, redirected, replaced_labels
from .self_play.importer import read_dond

__all__ = [
    "chips",
    "gama",
    "glee",
    "metagame",
    "models_of",
    "paper_names",
    "paper_studies",
    "read_dond",
    "read_gama",
    "read_glee",
    "redirected",
    "replaced_labels",
    "self_play",
]
