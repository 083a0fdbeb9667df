from .telemetry import Telemetry, open_telemetry
from .trackers import TRACKERS, Follower, Tracker, tracker

__all__ = ["TRACKERS", "Follower", "Telemetry", "Tracker", "open_telemetry", "tracker"]
