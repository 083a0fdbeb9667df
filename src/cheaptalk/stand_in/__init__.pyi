from .answers import Answerer, answer
from .batches import Batches
from .server import make_stand_in, serve

__all__ = ["Answerer", "Batches", "answer", "make_stand_in", "serve"]
