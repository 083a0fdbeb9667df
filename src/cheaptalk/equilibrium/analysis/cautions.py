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
    """Return why draws can't measure the uncertainty of a choice; empty if they can.

    Args:
        game: the cells that the draws resample.
        draws: the number of bootstrap draws.
        no_draws_reason: why there are no draws.
    """
    if not draws:
        return no_draws_reason
    if game.constant:
        return "payoffs did not vary within any cell, but other instances can differ"
    if game.freedom >= ENOUGH_FREEDOM:
        return ""
    needed = ENOUGH_FREEDOM + len(game.samples)
    played = counted(game.min_instances, "instance")
    return f"the smallest cell has {played}; at least {needed:,} are needed"


def unscored_matches(
    selected: Selected | None, rows: Collection[str], columns: Collection[str]
) -> tuple[dict[str, int], int]:
    """Count the matches between some strategies that are excluded from payoffs.

    Args:
        selected: the game's matches; None if it was made from payoffs.
        rows, columns: the strategies of the first and the second seat.

    Returns:
        Their number by status (see :func:`.unscored`), and the number of all matches.
    """
    if selected is None:
        return {}, 0
    row_player, column_player = (f"player_{seat}" for seat in places_in(selected.frame))
    frame = selected.frame.filter(
        pl.col(row_player).is_in(rows), pl.col(column_player).is_in(columns)
    )
    return unscored(frame), frame.height


def cautions(game: Empirical, uncertain: str, missing: tuple[dict[str, int], int]) -> list[str]:
    """Return the limitations of a game's result, as sentences without a full stop.

    Args:
        game: its cells.
        uncertain: why draws can't measure the uncertainty; see :func:`uncertain_because`.
        missing: the matches excluded from payoffs; see :func:`unscored_matches`.
    """
    counts, total = missing
    finished = (
        "and only finished matches count; if a strategy fails on bad instances, its payoff is "
        "overestimated"
    )
    unfinished = f"{unscored_text(counts, total)}, {finished}" * bool(counts)
    sentences = (f"The uncertainty cannot be estimated: {uncertain}" * bool(uncertain),
            "" if uncertain else game.few_instances, unfinished)  # fmt: skip
    return [sentence for sentence in sentences if sentence]
