from .bots.bots import Crowd, Tally
from .console.server import make_laboratory, set_up_code
from .laboratory.database import LaboratoryDatabase
from .laboratory.laboratory import Laboratory
from .participants.server import identities_path, make_experiment, open_experiment
from .previews.preview import open_preview
from .previews.settings import PreviewSettings
from .rooms.addresses import Address, access_note, own_address, public_address
from .rooms.demo import demo
from .rooms.links import Links, load_link_key
from .rooms.room_manager import open_room_manager
from .rooms.server import make_rooms, serve_app
from .sites import Site, open_laboratory, open_site
from .viewer.viewer import listen, make_viewer, serve

__all__ = [
    "Address",
    "Crowd",
    "Laboratory",
    "LaboratoryDatabase",
    "Links",
    "PreviewSettings",
    "Site",
    "Tally",
    "access_note",
    "demo",
    "identities_path",
    "listen",
    "load_link_key",
    "make_experiment",
    "make_laboratory",
    "make_rooms",
    "make_viewer",
    "open_experiment",
    "open_laboratory",
    "open_preview",
    "open_room_manager",
    "open_site",
    "own_address",
    "public_address",
    "serve",
    "serve_app",
    "set_up_code",
]
