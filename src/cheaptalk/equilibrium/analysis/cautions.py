"""Describe the limitations of an empirical game's result.

The CLI, the JSON output and the page share these cautions.
"""

from collections.abc import Collection

import polars as pl

from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.empirical_games import Empirical
from cheaptalk.frames.reader import places_in
from cheaptalk.frames.unscored import unscored, unscored_text
from cheaptalk.rules import counted
from cheaptalk.statistics.ranks import ENOUGH_FREEDOM


def uncertain_because(game: Empirical, draws: int, no_draws_reason: str) -> str:
    """Return why bootstrap draws can't measure an estimate's uncertainty, or "" if they can."""
    if not draws:
        return no_draws_reason
    if game.constant:
        return "each pair had the same payoffs on all its instances, but others can differ"
    if game.freedom >= ENOUGH_FREEDOM:
        return ""
    needed = ENOUGH_FREEDOM + len(game.samples)
    played = counted(game.min_instances, "instance")
    return f"the pair with the fewest has {played}; at least {needed:,} are needed"


def unscored_matches(
    selected: Selected | None, rows: Collection[str], columns: Collection[str]
) -> tuple[dict[str, int], int]:
    """Return the number of unscored matches by status, and the number of all matches.

    Args:
        rows, columns: the strategies in the first and the second seat.
    """
    if selected is None:
        return {}, 0
    row_player, column_player = (f"player_{seat}" for seat in places_in(selected.frame))
    frame = selected.frame.filter(
        pl.col(row_player).is_in(rows), pl.col(column_player).is_in(columns)
    )
    return unscored(frame), frame.height


def cautions(game: Empirical, uncertain: str, missing: tuple[dict[str, int], int]) -> list[str]:
    """Return the limitations of an analysis, as sentences without a full stop.

    Args:
        uncertain: see :func:`uncertain_because`.
        missing: see :func:`unscored_matches`.
    """
    counts, total = missing
    finished = (
        "and only finished matches count; if a strategy fails on bad instances, its payoff is "
        "overestimated"
    )
    unfinished = f"{unscored_text(counts, total)}, {finished}" * bool(counts)
    sentences = (
        f"The uncertainty cannot be estimated: {uncertain}" * bool(uncertain),
        "" if uncertain else game.few_instances,
        unfinished,
    )
    return [sentence for sentence in sentences if sentence]
