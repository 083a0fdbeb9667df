"""Matches that no score includes, counted by the reason."""

from collections.abc import Mapping

import polars as pl

from cheaptalk.frames.matches import SCORED
from cheaptalk.records import Status

DROPPED = "dropped"
"""A finished match that the study's policy excludes."""
REASON = pl.when(pl.col("status") == Status.FINISHED.value).then(pl.lit(DROPPED)).otherwise(
    pl.col("status")
)  # fmt: skip
"""Why a match that isn't scored is not."""
VERBS = {
    Status.FAILED.value: ("failed", "failed"),
    Status.FORFEITED.value: ("was forfeited", "were forfeited"),
    Status.LIVE.value: ("has not ended", "have not ended"),
    DROPPED: ("was dropped by the study's policy", "were dropped by the study's policy"),
}
"""What became of such a match and of several ones, in the order in which they are listed."""


def unscored(frame: pl.DataFrame) -> dict[str, int]:
    """Count the matches of a frame that no score includes, by status.

    A finished match that the study's policy excludes counts as :data:`DROPPED`.
    """
    counts = dict(frame.filter(~SCORED).group_by(REASON.alias("reason")).len().iter_rows())
    return {reason: counts[reason] for reason in VERBS if reason in counts}


def unscored_text(counts: Mapping[str, int], total: int) -> str:
    """Return how many of some matches are not scored, and why; empty if all are.

    >>> unscored_text({"failed": 19, "forfeited": 1}, 30)
    '19 of 30 matches failed, 1 was forfeited'
    """
    of = f" of {total:,} {'match' if total == 1 else 'matches'}"
    said = [f"{count:,}{{}} {VERBS[reason][count > 1]}" for reason, count in counts.items()]
    return ", ".join(one.format("" if at else of) for at, one in enumerate(said))
