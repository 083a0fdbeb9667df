from .answers import Answerer, answer
from .batches import Batches
from .server import make_mock_server, mock_server, serve, serving

__all__ = [
    "Answerer",
    "Batches",
    "answer",
    "make_mock_server",
    "mock_server",
    "serve",
    "serving",
]
