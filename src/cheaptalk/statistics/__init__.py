"""Statistics of studies: matches as frames, means with their intervals."""

from cheaptalk.statistics.frames import MeasureError, match_frames
from cheaptalk.statistics.intervals import DEALS, STRATA, mean_intervals

__all__ = ["DEALS", "STRATA", "MeasureError", "match_frames", "mean_intervals"]
