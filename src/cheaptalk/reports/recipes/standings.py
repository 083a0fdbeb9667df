"""The sentence of a leaderboard: who is first, by how much, and whether that is sure."""

from collections.abc import Sequence
from operator import attrgetter

import polars as pl

from cheaptalk.reports.recipes.margins import Margin, caution, planned_growth, tie_text
from cheaptalk.reports.recipes.parts import Answer
from cheaptalk.text import fixed


def first_answer(
    board: pl.DataFrame, value: str, leads: Sequence[Margin], standing: str, places: int
) -> Answer:
    """Return who is first, with the interval of the lead on which the verdict rests.

    Args:
        board: two players or more, the first one first, with ``player``, ``rank``, ``sure`` and
            ``value``; see :func:`.with_told_ranges`.
        value: by what they are ranked.
        leads: of the first player over each other player.
        standing: the mean of the first player, in words.
        places: decimals of a lead.
    """
    first, second, *_ = board.rows(named=True)
    who = first["player"]
    known = first["sure"] is not None
    if tie := tie_text(who, leads, places, known=known):
        head, shows = tie
        return Answer(f"{head}, {standing}, {shows}.", head)
    if not known:
        ahead = fixed(first[value] - second[value], places)
        return Answer(
            f"Who is first cannot be told: {who}, {standing}, is {ahead} ahead of "
            f"{second['player']}, but a game had one deal, or some players never varied in it.",
            "it cannot be told who is first",
        )
    closest = min(leads, key=attrgetter("certainty"))
    shown = closest.places(places)
    lead = f"{fixed(closest.size, shown)} ahead of {closest.behind}{closest.within(shown)}"
    if first["sure"] == "1 to 1":
        return Answer(
            f"{who}, {standing}, is first, {lead}; with 95 % confidence no other player is."
            f"{caution(closest)}",
            f"{who} is first",
        )
    return Answer(
        f"Who is first cannot be told yet: {who}, {standing}, is {lead}, and with 95 % confidence "
        f"its rank is {first['sure']}; {_advice(closest)}.",
        "it cannot be told yet who is first",
    )


def _advice(lead: Margin) -> str:
    """How many more deals would tell, or why that cannot be said."""
    growth = planned_growth(lead)
    if isinstance(growth, str):
        return growth
    return (
        f"about {growth:.1f} times as many deals would tell in 4 of 5 studies if the differences "
        "are what they seem; look again only then, as every look adds false winners"
    )
