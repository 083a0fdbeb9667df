from .language import corpus_measures
from .matches import match_frames
from .reader import MeasureError
from .rounds import round_frames

__all__ = [
    "MeasureError",
    "corpus_measures",
    "match_frames",
    "round_frames",
]
