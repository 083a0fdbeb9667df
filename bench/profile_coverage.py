"""Coverage of a profile's intervals: ``python -m bench.profile_coverage [PROFILES [SIZE [SEED]]]``.

A player that draws much of what it does is profiled on other instances again and again. The mean of
a number over all profiles is its truth, up to a twentieth of what one profile is off by; of 95 %
intervals 93 to 97 % are to hold it. What hardly ever varies, such as a share of nearly 1, is left
out: its intervals may only be too wide.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.models import ModelCall, Reply
from cheaptalk.models.scripted import legal
from cheaptalk.reports.recipes.tables import Estimate

PROFILES = 500
PAIRS = 40
LEAST, MOST = 93, 97
"""Percent of intervals that are to hold the truth."""
KNOWN: Mapping[str, Any] = {
    "bargaining": {"strategy": "random", "acceptance": 0.4},
    "negotiation": {"strategy": "zero_intelligence", "reach": 0.3},
    "persuasion": "random",
    "deal_or_no_deal": {"strategy": "noisy", "impossible": 0.2, "lying": 0.2},
    "item_bargaining": {"strategy": "random", "acceptance": 0.3},
}
"""The player."""


def simulated(profiles: int, size: str, seed: int) -> Iterator[Mapping[str, Estimate]]:
    """The player's numbers by key, of so many profiles on instances of their own."""
    standard = ct.profiles.battery()
    entry = ct.players.RosterEntry.model_validate({"strategies": KNOWN})
    for number in range(profiles):
        battery = standard.model_copy(update={"seed": seed + number})
        study = battery.study("known", entry, size)
        with (
            TemporaryDirectory() as folder,
            ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
        ):
            ct.run(study, store, workers=1)
            made = ct.profiles.profile_of(store, study.name, "known", entry, battery, size)
        yield {key: one.own for key, one in made.numbers.items()}


def coverage(profiles: int, size: str, seed: int = 0) -> dict[str, tuple[float, float, float]]:
    """Percent of intervals that hold the truth, the truth, and percent with an interval, by key."""
    found: dict[str, list[Estimate]] = defaultdict(list)
    for one in simulated(profiles, size, seed):
        for key, estimate in one.items():
            found[key].append(estimate)
    covered = {}
    for key, estimates in found.items():
        truth = float(np.mean([one.value for one in estimates if one.value is not None]))
        told = [(one.low, one.high) for one in estimates
                if one.low is not None and one.high is not None and one.error]  # fmt: skip
        if told:
            held = 100 * float(np.mean([low <= truth <= high for low, high in told]))
            covered[key] = held, truth, 100 * len(told) / profiles
    return covered


class Undecided:
    """A model that answers at random, and flips coins of its own where it accepts or rejects."""

    def __init__(self, seed: int) -> None:
        self.luck = Random(seed)  # noqa: S311 - of a simulation

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Reply at once."""
        answer = json.loads(legal(call))
        schema = call.form.json_schema if call.form is not None else {}
        decision = schema.get("properties", {}).get("decision", {}).get("enum")
        if decision:
            answer["decision"] = self.luck.choice(decision)
        return Reply(text=json.dumps(answer), model="undecided", finish="stop")


def twice(profiles: int, seed: int = 0) -> list[float]:
    """Percent of numbers by which two profiles of one player on the same instances are told
    apart."""
    battery = ct.profiles.battery()
    entry = ct.players.RosterEntry.model_validate({"model": "script/legal"})
    found = []
    for number in range(profiles):
        both = []
        for turn in range(2):
            study = battery.study("undecided", entry, "small")
            models = Undecided(2 * (seed + number) + turn)
            with (
                TemporaryDirectory() as folder,
                ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
            ):
                ct.run(study, store, workers=1, models=models)
                both.append(
                    ct.profiles.profile_of(store, study.name, "undecided", entry, battery, "small")
                )
        before = json.loads(json.dumps(both[0].as_json()))
        changed = ct.profiles.changes(both[1], before)
        found.append(100 * sum(one.significant for one in changed) / len(changed))
    return found


def rows() -> Iterator[Row]:
    """The worst coverage of the numbers of a theme as a whole, and the mean over all numbers."""
    found = coverage(PROFILES, "small")
    held = [one for one, _, told in found.values() if told > MOST]
    note = f"{len(held)} numbers of {PROFILES} small profiles of a known player"
    mean = float(np.mean(held))
    yield Row("mean coverage of a profile's intervals", mean, "%", (">=", LEAST), note)
    yield Row("mean coverage of a profile's intervals", mean, "%", ("<=", MOST), note)
    yield Row("least coverage of a profile's interval", min(held), "%", (">=", LEAST - 3), note)
    told = float(np.mean(twice(PAIRS)))
    note = f"mean of {PAIRS} pairs of small profiles of a player with luck of its own"
    yield Row("numbers by which a player is told from itself", told, "%", ("<=", 5), note)


if __name__ == "__main__":
    profiles, size, seed = (*sys.argv[1:], *("500", "small", "0")[len(sys.argv) - 1 :])
    for key, (held, truth, told) in coverage(int(profiles), size, int(seed)).items():
        print(
            f"{key:28} {held:6.1f} %  truth {truth:7.3f}  {told:5.0f} % with an interval",
            flush=True,
        )
