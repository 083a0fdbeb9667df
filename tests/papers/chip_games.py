"""A chip-trading study and its outcomes, for tests of the recipe."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.games.chip_trading import SPEC
from cheaptalk.records import MatchRecord

STUDY: dict[str, Any] = {
    "name": "chips",
    "seed": 3,
    "instances": 8,
    "games": [
        {"game": "chip_trading", "grid": {"colours": [["green", "red"], ["green", "red", "blue"]]}}
    ],
    "players": {
        "bayes": {"strategy": "bayesian"},
        "zero": {"strategy": "zero_intelligence"},
        "wild": {"strategy": "random"},
    },
    "pairing": [["bayes"] * 3, ["zero"] * 3, ["wild"] * 3, ["bayes", "zero", "bayes"]],
}


@cache
def all_records(path: Path) -> Sequence[MatchRecord]:
    with ct.Store.open(path) as store:
        return list(store.records("chips", bodies=True))


def records(path: Path, colours: int, *labels: str) -> list[MatchRecord]:
    """Return the games with this number of colours and these players, in seat order."""
    return [
        record
        for record in all_records(path)
        if len(record.parameters["colours"]) == colours
        and [record.label(seat) for seat in record.seats] == list(labels)
    ]


def games_by_end(path: Path, colours: int) -> list[MatchRecord]:
    """Return the games of one population in the order in which they ended."""
    games = records(path, colours, *["zero"] * 3)
    return sorted(games, key=lambda record: (record.finished, record.id))


def ratio(record: MatchRecord) -> float:
    """Return a game's surplus over its bound."""
    value = SPEC.metrics["surplus_ratio"].of(record.result())
    assert value is not None
    return value


def turns(record: MatchRecord) -> list[dict[str, Any]]:
    """Return a game's turns, each with the proposal's ratio and the proposer's gain in cents."""
    assert record.outcome is not None
    worths = record.outcome["worths"]
    extended = []
    for turn in record.outcome["turns"]:
        offer, values = turn["proposal"], worths[turn["proposer"]]
        gain = (
            offer["want_amount"] * values[offer["want"]]
            - offer["give_amount"] * values[offer["give"]]
        )
        extended.append(turn | {"gain": gain, "ratio": offer["give_amount"] / offer["want_amount"]})
    return extended
