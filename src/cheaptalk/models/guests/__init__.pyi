from .callables import Agent, answered
from .door import Door, door_at
from .functions import Functions, as_guests
from .protocol import Guests

__all__ = ["Agent", "Door", "Functions", "Guests", "answered", "as_guests", "door_at"]
