from .answers import Answerer, answer
from .batches import Batches
from .server import make_mock_server, serve

__all__ = ["Answerer", "Batches", "answer", "make_mock_server", "serve"]
