"""Presentation: differences made by the other player don't count."""

import polars as pl

from cheaptalk.profiles.batteries import battery
from cheaptalk.profiles.weaknesses.presentation import presentation_trials


def matches(demands: dict[str, float], offers: dict[str, float]) -> pl.DataFrame:
    """Return matches of a division, with demands and offers by order of the options."""
    rows = [
        {
            "part": "division-anew",
            "number": number,
            "seat": place,
            "other": "hard",
            "instance": str(instance),
            "way": way,
            "match_id": f"{number}{place}{instance}{way}",
            "reads": True,
            "asked": demands[way],
            "offered": offers[way],
            "earned": 0.7 if way else 0.1,
        }
        for number in range(2)
        for place in ("player_1", "player_2")
        for instance in range(4)
        for way in demands
    ]
    return pl.DataFrame(rows)


def p_of_order(rows: pl.DataFrame) -> float:
    """Return the p-value of the effect of the options' order."""
    trials = {trial.outcome.key: trial for trial in presentation_trials(rows, battery())}
    return trials["steady.order"].p(frozenset())


def test_order_matters_if_the_player_demands_something_else() -> None:
    same = {"": 0.0, "order": 0.0}
    assert p_of_order(matches({"": 0.5, "order": 0.8}, same)) < 0.001
    assert p_of_order(matches({"": 0.5, "order": 0.5}, same)) == 1


def test_different_offers_of_the_other_player_do_not_count() -> None:
    offered = {"": 0.0, "order": 0.4}
    assert p_of_order(matches({"": 0.5, "order": 0.8}, offered)) == 1
