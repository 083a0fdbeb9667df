"""What limits the answer of an empirical game: few instances, skew, and unfinished matches.

The terminal, the JSON and the page take their cautions from here.
"""

from collections.abc import Collection

import polars as pl

from cheaptalk.equilibrium.analysis.selection import Selected
from cheaptalk.equilibrium.empirical.empirical_games import Empirical
from cheaptalk.frames.reader import places_in
from cheaptalk.frames.unscored import unscored, unscored_text
from cheaptalk.rules import counted
from cheaptalk.statistics.ranks import ENOUGH_FREEDOM


def uncertain_because(game: Empirical, draws: int, unsure: str) -> str:
    """Return why draws cannot show how sure a choice is; empty if they can.

    Args:
        game: the cells that the draws resample.
        draws: how many bootstrap games there are.
        unsure: why there are none.
    """
    if not draws:
        return unsure
    if game.constant:
        return "no payoff varied within a cell, and other deals can differ"
    if game.freedom >= ENOUGH_FREEDOM:
        return ""
    wanted = ENOUGH_FREEDOM + len(game.samples)
    played = counted(game.fewest, "instance")
    return f"the cell with the fewest matches has {played}, and it takes {wanted:,}"


def unscored_matches(
    selected: Selected | None, rows: Collection[str], columns: Collection[str]
) -> tuple[dict[str, int], int]:
    """Count the matches between some strategies that no payoff includes.

    Args:
        selected: the game's matches; None if its payoffs were given.
        rows, columns: the strategies of the first seat and of the second.

    Returns:
        Their number by status, see :func:`.unscored`, and the number of all matches.
    """
    if selected is None:
        return {}, 0
    first, second = (f"player.{place}" for place in places_in(selected.frame))
    frame = selected.frame.filter(pl.col(first).is_in(rows), pl.col(second).is_in(columns))
    return unscored(frame), frame.height


def cautions(game: Empirical, uncertain: str, missing: tuple[dict[str, int], int]) -> list[str]:
    """Return the cautions that go with a game's answer, as sentences without a full stop.

    Args:
        game: its cells.
        uncertain: why draws cannot show how sure a choice is; see :func:`uncertain_because`.
        missing: the matches that no payoff includes; see :func:`unscored_matches`.
    """
    counts, total = missing
    finished = "and only finished matches count: failures on poor deals make a strategy seem better"
    unfinished = f"{unscored_text(counts, total)}, {finished}" * bool(counts)
    sentences = (f"How sure that is cannot be told: {uncertain}" * bool(uncertain),
            "" if uncertain else game.few, unfinished)  # fmt: skip
    return [sentence for sentence in sentences if sentence]
