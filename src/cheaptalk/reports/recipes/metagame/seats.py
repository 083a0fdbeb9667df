"""Matches of item bargaining as each of their players saw them."""

from itertools import permutations

import polars as pl

from cheaptalk.games.item_bargaining.rules import PLACES
from cheaptalk.reports.metagame.naming import NAME, with_names
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Lacking

GAME = "item_bargaining"
OWN = (
    "own_mistakes", "bad_acceptance", "bad_acceptance_by_turn", "bad_offer_accepted",
    "utility_given", "concession", "false_holdings_stated",
)  # fmt: skip
"""Measures that there are of each player."""
SHARED = ("rounds", "agreement", "ef1")
"""Measures of the whole match."""


def scored(evidence: Evidence) -> pl.DataFrame:
    """The matches of item bargaining that count, with the names of their configurations.

    Raises:
        Lacking: there are none.
    """
    frame = evidence.scored(GAME)
    if frame.is_empty():
        raise Lacking(
            "no match of item bargaining has finished; the preset item-bargaining-heuristics "
            "plays some in seconds"
        )
    return with_names(GAME, frame)


def seats(evidence: Evidence) -> pl.DataFrame:
    """One row a match and place: ``player``, ``opponent``, what the player did and ``own`` payoff.

    Raises:
        Lacking: no match has finished.
    """
    frame = scored(evidence)
    return pl.concat(
        frame.select(
            "match", "configuration", "deal", NAME,
            pl.lit(place).alias("place"),
            pl.col(f"player.{place}").alias("player"),
            pl.col(f"player.{other}").alias("opponent"),
            pl.col(f"payoff.{place}").alias("own"),
            *SHARED,
            *(pl.col(f"{name}_{place}").alias(name) for name in OWN),
        )
        for place, other in permutations(PLACES)
    ).with_columns(
        rounds_agreed=pl.when(pl.col("agreement") == 1).then(pl.col("rounds")),
        rounds_walked=pl.when(pl.col("agreement") == 0).then(pl.col("rounds")),
    )  # fmt: skip
