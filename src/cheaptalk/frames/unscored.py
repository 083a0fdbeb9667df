"""Counts of matches that are not scored, by reason."""

from collections.abc import Mapping

import polars as pl

from cheaptalk.frames.matches import KINDS, SCORED
from cheaptalk.records import Status
from cheaptalk.records.descriptions import VALID
from cheaptalk.text import plain

DROPPED = "dropped"
"""The reason of finished matches that the study's policy excludes."""
REASON = (
    pl.when(pl.col("status") == Status.FINISHED.value)
    .then(pl.lit(DROPPED))
    .otherwise(pl.col("status"))
)
"""The reason why a match is not scored, as an expression on a frame of matches."""
VERBS = {
    Status.FAILED.value: ("failed", "failed"),
    Status.FORFEITED.value: ("was forfeited", "were forfeited"),
    Status.LIVE.value: ("has not ended", "have not ended"),
    DROPPED: ("was dropped by the study's policy", "were dropped by the study's policy"),
}
"""Descriptions of unscored matches in singular and plural, in the order of listing."""


def unscored(frame: pl.DataFrame) -> dict[str, int]:
    """Count the unscored matches of a frame by reason."""
    ends = frame.filter(~SCORED).group_by(REASON.alias("reason"), maintain_order=True)
    counts = dict(ends.len().iter_rows())
    return {reason: counts[reason] for reason in VERBS if reason in counts}


def unscored_text(counts: Mapping[str, int], total: int) -> str:
    """Return the number of unscored matches and the reasons; empty if all are scored.

    >>> unscored_text({"failed": 19, "forfeited": 1}, 30)
    '19 of 30 matches failed, 1 was forfeited'
    """
    suffix = f" of {total:,} {'match' if total == 1 else 'matches'}"
    clauses = [f"{count:,}{{}} {VERBS[reason][count > 1]}" for reason, count in counts.items()]
    return ", ".join(clause.format("" if index else suffix) for index, clause in enumerate(clauses))


BY_OTHERS = "forfeited by others"
"""How a match ended for a player that did not cause the forfeit."""
ENDS = {Status.LIVE.value: "not ended", BY_OTHERS: BY_OTHERS}
"""Texts for ends of matches whose names are not adjectives."""


def own_end(role: str) -> pl.Expr:
    """Return a column expression ``end``: why a player's match is not scored, or null if it is.

    The reason is the kind of the player's own invalid answer, such as ``refused``, or
    :data:`BY_OTHERS`, or a key of :func:`unscored`. The frame has a row for each match and player
    of the role, with the columns ``answers_ROLE_KIND``.
    """
    faults = [
        pl.when(pl.col(f"answers_{role}_{kind}") > 0).then(pl.lit(plain(kind)))
        for kind in KINDS
        if kind not in VALID
    ]
    forfeited = pl.col("status") == Status.FORFEITED.value
    end = pl.when(forfeited).then(pl.coalesce(*faults, pl.lit(BY_OTHERS))).otherwise(REASON)
    return pl.when(~SCORED).then(end).alias("end")


def without_scored(rows: pl.DataFrame) -> dict[str, str]:
    """Return the players without a scored match, and how their matches ended.

    Args:
        rows: for each match, role and player the columns ``match``, ``player`` and ``end``; see
            :func:`own_end`.

    >>> rows = {"match_id": ["x", "y", "z"], "player": ["ann", "ann", "bob"],
    ...         "end": ["refused", "refused", None]}
    >>> without_scored(pl.DataFrame(rows))
    {'ann': '2 refused'}
    """
    own_ends = pl.col("end").filter(pl.col("end") != BY_OTHERS).first()
    ends = (
        rows.with_columns(scored=pl.col("end").is_null().any().over("player"))
        .filter(~pl.col("scored"))
        .group_by("player", "match_id", maintain_order=True)
        .agg(pl.coalesce(own_ends, pl.lit(BY_OTHERS)).alias("end"))
        .group_by("player", "end", maintain_order=True)
        .len()
        .sort("player", pl.col("len"), descending=[False, True], maintain_order=True)
    )
    counts: dict[str, list[str]] = {}
    for player, end, count in ends.iter_rows():
        counts.setdefault(player, []).append(f"{count:,} {ENDS.get(end, end)}")
    return {player: ", ".join(texts) for player, texts in counts.items()}
