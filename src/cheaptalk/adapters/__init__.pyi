from .hugging_face import push_dataset, write_dataset
from .telemetry import Telemetry, open_telemetry
from .trackers import TRACKERS, Follower, Tracker, tracker

__all__ = [
    "TRACKERS", "Follower", "Telemetry", "Tracker", "open_telemetry", "push_dataset", "tracker",
    "write_dataset",
]  # fmt: skip
