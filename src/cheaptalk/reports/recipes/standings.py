"""The main sentence of a leaderboard: the top player's lead and whether it is significant."""

from collections.abc import Sequence
from operator import attrgetter

import polars as pl

from cheaptalk.reports.recipes.margins import Margin, caution, planned_growth, tie_text
from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.text import fixed


def first_answer(
    board: pl.DataFrame, value: str, leads: Sequence[Margin], standing: str, decimals: int
) -> Answer:
    """Return a sentence about the top-ranked player, with the interval of the decisive lead.

    Args:
        board: at least two players by rank, with ``player``, ``rank``, ``sure`` and ``value``; see
            :func:`.with_ranges`.
        leads: the leads of the first player over each other player.
        standing: the mean of the first player, as text.
    """
    first, second, *_ = board.rows(named=True)
    who = first["player"]
    has_ranges = first["sure"] is not None
    if tie := tie_text(who, leads, decimals, reliable=has_ranges):
        head, shows = tie
        return Answer(f"{head}, {standing}, {shows}.", head)
    if not has_ranges:
        ahead = fixed(first[value] - second[value], decimals)
        return Answer(
            f"No player is clearly first: {who}, {standing}, is {ahead} ahead of "
            f"{second['player']}, but the uncertainty is unknown: a game had one instance, or "
            "payoffs of some players never varied in it.",
            "no player is clearly first",
        )
    closest = min(leads, key=attrgetter("certainty"))
    digits = closest.decimals(decimals)
    lead = f"{fixed(closest.size, digits)} ahead of {closest.behind}{closest.within(digits)}"
    if first["sure"] == "1 to 1":
        return Answer(
            f"{who}, {standing}, is first, {lead}; with 95 % confidence no other player is."
            f"{caution(closest)}",
            f"{who} is first",
        )
    return Answer(
        f"No player is clearly first yet: {who}, {standing}, is {lead}, and with 95 % confidence "
        f"its rank is {first['sure']}; {_advice(closest)}.",
        "no player is clearly first yet",
    )


def _advice(lead: Margin) -> str:
    growth = planned_growth(lead)
    if isinstance(growth, str):
        return growth
    return (
        f"about {growth:.1f} times as many instances would show it in 4 of 5 studies if the "
        "observed differences are the true ones. Test again only then, because each test adds a "
        "chance of a false winner"
    )
