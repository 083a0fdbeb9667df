"""Presentation: a difference that the other player makes is not the player's."""

import polars as pl

from cheaptalk.profiles.batteries import battery
from cheaptalk.profiles.weaknesses.presentation import presentation_trials


def matches(asked: dict[str, float], offered: dict[str, float]) -> pl.DataFrame:
    """Matches of the division that is listed in another order, by way."""
    rows = [
        {"part": "division-anew", "number": number, "seat": place, "other": "hard",
         "instance": str(instance), "way": way, "match_id": f"{number}{place}{instance}{way}",
         "reads": True,
         "asked": asked[way], "offered": offered[way], "earned": 0.7 if way else 0.1}
        for number in range(2) for place in ("player_1", "player_2") for instance in range(4)
        for way in asked
    ]  # fmt: skip
    return pl.DataFrame(rows)


def p_of_order(rows: pl.DataFrame) -> float:
    """The p-value that the order of the options matters."""
    trials = {one.outcome.key: one for one in presentation_trials(rows, battery())}
    return trials["steady.order"].p(frozenset())


def test_another_order_matters_if_the_player_asks_for_something_else() -> None:
    same = {"": 0.0, "order": 0.0}
    assert p_of_order(matches({"": 0.5, "order": 0.8}, same)) < 0.001
    assert p_of_order(matches({"": 0.5, "order": 0.5}, same)) == 1


def test_what_the_other_player_offers_in_another_order_is_not_blamed_on_the_player() -> None:
    offered = {"": 0.0, "order": 0.4}
    assert p_of_order(matches({"": 0.5, "order": 0.8}, offered)) == 1
