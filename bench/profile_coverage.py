"""Coverage of a profile's intervals: ``python -m bench.profile_coverage [PROFILES [SIZE [SEED]]]``.

The benchmark profiles a strongly randomized player many times, each time on new instances. The mean
of a metric over all profiles is taken as its true value; with 500 profiles, its standard error is
about 1/20 of that of a single profile. The 95 % intervals must contain the true value in 93 to 97 %
of profiles. Metrics that hardly vary, such as shares near 1, are excluded, because their intervals
can only be too wide.
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
"""Required coverage in percent: minimum and maximum."""
PLAYER: Mapping[str, Any] = {
    "bargaining": {"strategy": "random", "acceptance": 0.4},
    "negotiation": {"strategy": "zero_intelligence", "reach": 0.3},
    "persuasion": "random",
    "deal_or_no_deal": {"strategy": "noisy", "impossible": 0.2, "lying": 0.2},
    "item_bargaining": {"strategy": "random", "acceptance": 0.3},
}
"""The profiled player's strategy in each game."""


def simulated(profiles: int, size: str, seed: int) -> Iterator[Mapping[str, Estimate]]:
    """Yield the player's metrics by key for each profile; every profile has new instances."""
    standard = ct.profiles.battery()
    entry = ct.players.RosterEntry.model_validate({"strategies": PLAYER})
    for number in range(profiles):
        battery = standard.model_copy(update={"seed": seed + number})
        study = battery.study("known", entry, size)
        with (
            TemporaryDirectory() as folder,
            ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
        ):
            ct.run(study, store, workers=1)
            profile = ct.profiles.profile_of(store, study.name, "known", entry, battery, size)
        yield {key: number.own for key, number in profile.numbers.items()}


def coverage(profiles: int, size: str, seed: int = 0) -> dict[str, tuple[float, float, float]]:
    """Return by key: coverage in percent, true value, and percent of profiles with an interval."""
    by_key: dict[str, list[Estimate]] = defaultdict(list)
    for numbers in simulated(profiles, size, seed):
        for key, estimate in numbers.items():
            by_key[key].append(estimate)
    covered = {}
    for key, estimates in by_key.items():
        values = [estimate.value for estimate in estimates if estimate.value is not None]
        truth = float(np.mean(values))
        intervals = [
            (estimate.low, estimate.high)
            for estimate in estimates
            if estimate.low is not None and estimate.high is not None and estimate.error
        ]
        if intervals:
            held = 100 * float(np.mean([low <= truth <= high for low, high in intervals]))
            covered[key] = held, truth, 100 * len(intervals) / profiles
    return covered


class Undecided:
    """A model with legal answers that accepts or rejects at random, by its own random numbers."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)  # noqa: S311 - not for cryptography

    async def call(self, call: ModelCall, number: str, deadline: float) -> Reply:
        """Return a legal reply without delay."""
        answer = json.loads(legal(call))
        schema = call.form.json_schema if call.form is not None else {}
        decision = schema.get("properties", {}).get("decision", {}).get("enum")
        if decision:
            answer["decision"] = self.rng.choice(decision)
        return Reply(text=json.dumps(answer), model="undecided", finish="stop")


def twice(profiles: int, seed: int = 0) -> list[float]:
    """Profile the same player twice on the same instances, in ``profiles`` repetitions.

    Returns:
        The percentage of metrics with a significant change, for each repetition.
    """
    battery = ct.profiles.battery()
    entry = ct.players.RosterEntry.model_validate({"model": "script/legal"})
    percentages = []
    for number in range(profiles):
        pair = []
        for turn in range(2):
            study = battery.study("undecided", entry, "small")
            models = Undecided(2 * (seed + number) + turn)
            with (
                TemporaryDirectory() as folder,
                ct.Store.open(Path(folder) / "store.sqlite", create=True) as store,
            ):
                ct.run(study, store, workers=1, models=models)
                pair.append(
                    ct.profiles.profile_of(store, study.name, "undecided", entry, battery, "small")
                )
        before = json.loads(json.dumps(pair[0].as_json()))
        changes = ct.profiles.changes(pair[1], before)
        percentages.append(100 * sum(change.significant for change in changes) / len(changes))
    return percentages


def rows() -> Iterator[Row]:
    """Yield the mean and minimum coverage over all metrics, and the share of false changes."""
    covered = coverage(PROFILES, "small")
    held = [percent for percent, _, with_interval in covered.values() if with_interval > MOST]
    note = f"{len(held)} metrics of {PROFILES} small profiles of a scripted player"
    mean = float(np.mean(held))
    yield Row("mean coverage of a profile's intervals", mean, "%", (">=", LEAST), note)
    yield Row("mean coverage of a profile's intervals", mean, "%", ("<=", MOST), note)
    yield Row("minimum coverage of a profile's intervals", min(held), "%", (">=", LEAST - 3), note)
    changed = float(np.mean(twice(PAIRS)))
    note = f"mean of {PAIRS} pairs of small profiles of a randomized player"
    yield Row("significant changes between profiles of the same player", changed, "%",
              ("<=", 5), note)  # fmt: skip


if __name__ == "__main__":
    profiles, size, seed = (*sys.argv[1:], *("500", "small", "0")[len(sys.argv) - 1 :])
    for key, (held, truth, share) in coverage(int(profiles), size, int(seed)).items():
        print(
            f"{key:28} {held:6.1f} %  truth {truth:7.3f}  {share:5.0f} % with an interval",
            flush=True,
        )
