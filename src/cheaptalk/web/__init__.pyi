from .bots.bots import Crowd, Tally
from .rooms.house import open_house
from .rooms.links import Links, key_beside
from .rooms.server import demo, make_rooms, serve_rooms
from .viewer.viewer import listen, make_viewer, serve

__all__ = [
    "Crowd",
    "Links",
    "Tally",
    "demo",
    "key_beside",
    "listen",
    "make_rooms",
    "make_viewer",
    "open_house",
    "serve",
    "serve_rooms",
]
