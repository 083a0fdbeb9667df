from .rooms.links import Links, key_at
from .rooms.server import demo, make_rooms, open_rooms, serve_rooms
from .viewer.viewer import listen, make_viewer, serve

__all__ = [
    "Links",
    "demo",
    "key_at",
    "listen",
    "make_rooms",
    "make_viewer",
    "open_rooms",
    "serve",
    "serve_rooms",
]
