from .bots.bots import Crowd, Tally
from .rooms.addresses import Address, own_address, public_address, who_can_join
from .rooms.house import open_house
from .rooms.links import Links, key_beside
from .rooms.server import demo, make_rooms, serve_rooms
from .viewer.viewer import listen, make_viewer, serve

__all__ = [
    "Address",
    "Crowd",
    "Links",
    "Tally",
    "demo",
    "key_beside",
    "listen",
    "make_rooms",
    "make_viewer",
    "open_house",
    "own_address",
    "public_address",
    "serve",
    "serve_rooms",
    "who_can_join",
]
