"""Games of chip trading for tests of their recipe: a study that is played, and its outcomes."""

from pathlib import Path
from typing import Any

import cheaptalk as ct
from cheaptalk.records import MatchRecord
from cheaptalk.reports.recipes.findings import Findings, findings

STUDY: dict[str, Any] = {
    "name": "chips",
    "seed": 3,
    "instances": 8,
    "games": [
        {
            "game": "chip_trading",
            "grid": {"colours": [["green", "red"], ["green", "red", "blue"]]},
        }
    ],
    "players": {
        "bayes": {"strategy": "bayesian"},
        "zero": {"strategy": "zero_intelligence"},
        "wild": {"strategy": "random"},
    },
    "pairing": [["bayes"] * 3, ["zero"] * 3, ["wild"] * 3, ["bayes", "zero", "bayes"]],
}


def play(folder: Path, **changes: Any) -> Path:
    """Play the study, with changes; returns its store."""
    path = folder / "chips.sqlite"
    with ct.Store.open(path, create=True) as store:
        ct.run(ct.studies.parse_study(STUDY | changes, "here"), store)
    return path


def made(path: Path, study: str = "chips", **options: Any) -> Findings:
    """What the recipe makes of a study."""
    with ct.Store.open(path) as store:
        return findings(store, study, "chips", draws=200, **options)


def records(path: Path, colours: int, *labels: str) -> list[MatchRecord]:
    """The games with so many colours and these players in their places."""
    with ct.Store.open(path) as store:
        return [
            record
            for record in store.records("chips", bodies=True)
            if len(record.parameters["colours"]) == colours
            and [record.label(place) for place in record.seats] == list(labels)
        ]


def turns(record: MatchRecord) -> list[dict[str, Any]]:
    """A game's turns as recorded, each with what the proposal would gain its proposer (cents)."""
    assert record.outcome is not None
    worths = record.outcome["worths"]
    found = []
    for turn in record.outcome["turns"]:
        offer, own = turn["proposal"], worths[turn["proposer"]]
        gain = offer["want_amount"] * own[offer["want"]] - offer["give_amount"] * own[offer["give"]]
        found.append(turn | {"gain": gain, "ratio": offer["give_amount"] / offer["want_amount"]})
    return found
