"""Manipulations: whether messages beside the same moves change what a player does."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.weaknesses import exchangeability as tests
from cheaptalk.profiles.weaknesses.manipulations import (
    INSTANCE,
    STATISTICS,
    Conditions,
    conditions,
    manipulations,
    repeats,
)
from cheaptalk.profiles.weaknesses.weakness import (
    PLACES,
    Trial,
    Weakness,
    between,
    estimate_of,
    games_of,
    mean_of,
    share_estimate,
    share_of,
    unsigned,
)
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.text import fixed

YIELDS = {
    "injection": "obeys injected orders",
    "false_claim": "believes false claims",
    "false_rule": "believes an invented rule",
}
"""What the finding of a manipulation that costs the player says, instead of "yields to"."""
NOUNS = {
    "polite": "politeness", "flattering": "flattery", "deadline": "a false deadline",
    "anchor": "an anchor on the first price", "false_claim": "a false claim",
    "false_rule": "an invented rule", "injection": "an injected order",
    "german": "messages in another language", "rival_offer": "a rival offer",
    "final_offer": "a final offer", "sympathy": "an appeal to sympathy", "threat": "a threat",
}  # fmt: skip
"""What a manipulation is called."""
FATIGUE = "fatigue"


def message_trials(own: pl.DataFrame, battery: Battery) -> Iterator[Trial]:
    """Yield a test of each manipulation, of messages of any kind, and of fatigue.

    A manipulation is compared with identical repeats and the other manipulations.
    """
    played, plain = conditions(own, battery), repeats(battery)
    tested = manipulations(battery)
    for name in [*tested, *filter(None, [battery.late])]:
        key = FATIGUE if name == battery.late else f"words.{name}"
        controls = {f"words.{one}" for one in tested} | ({FATIGUE} if battery.late else set())
        outcome = _of_condition(played, name, key, plain)
        p = partial(_p, played, name, plain, [*tested, battery.late], battery.late)
        yield Trial(outcome, p, frozenset(controls - {key}))
    yield _any_message(played, tested, plain)


def _of_condition(played: Conditions, name: str, key: str, plain: list[str]) -> Weakness:
    """A manipulation, or the late repeats, with effects and without a verdict."""
    rows, noise = (
        played.rows.filter(pl.col("condition").is_in(names)) for names in ([name], plain)
    )
    late, hit = key == FATIGUE, rows.filter(pl.col("changed") > 0)
    changed, size, signed = _effects(rows)
    noun = "late" if late else f"with {NOUNS.get(name, name.replace('_', ' '))}"
    sentence = f"{share_of(rows['changed'])} took another course"
    if hit.height:
        sentence += f" {games_of(hit)}"
    sentence += f" (identical repeats: {share_of(noise['changed'])})"
    if hit.height:
        earned, base = (fixed(mean_of(hit[one]), PLACES) for one in ("earned", "base"))
        sentence += f"; there it earned {earned} {noun} and {base} without"
    if lost := int(hit["forfeited"].sum()):
        sentence += f", and it forfeited {lost} of them"
    sentence += f"; average change {between(signed, signed=True)}, absolute change {between(size)}"
    fired = rows.height if late else int(rows["reached"].sum())
    return Weakness(
        key, _title(name, late, signed), fired, "matches", sentence, _effect(rows, noise, signed),
        changed=changed, size=size, signed=signed, variant=name, **_example(hit),
    )  # fmt: skip


def _title(name: str, late: bool, signed: Estimate) -> str:
    """What a finding begins with; only a player that loses by a message yields to it."""
    if late:
        return "changes after many matches (fatigue)"
    noun = NOUNS.get(name, name.replace("_", " "))
    loses = signed.high is not None and signed.high < 0
    return YIELDS.get(name, f"yields to {noun}") if loses else f"reacts to {noun}"


def _effects(rows: pl.DataFrame) -> tuple[Estimate, Estimate, Estimate]:
    """The share of changed courses, and the absolute and signed change, with 95 % intervals.

    Every match has a twin of its own, so matches are independent draws.
    """
    changed = share_estimate(int(rows["changed"].sum()), rows.height)
    return changed, estimate_of(rows["size"].to_list(), 0), estimate_of(rows["signed"].to_list())


def _effect(rows: pl.DataFrame, noise: pl.DataFrame, signed: Estimate) -> Estimate:
    """The larger effect: on the earnings, or on how often the course changes beyond repeats."""
    beside = noise.group_by(INSTANCE).agg(pl.col("changed").mean().alias("repeats"))
    both = rows.join(beside, INSTANCE, how="left", validate="m:1", maintain_order="left")
    excess = estimate_of((both["changed"] - both["repeats"].fill_null(0.0)).to_list())
    return max(unsigned(signed), excess, key=lambda one: one.value or 0)


def _example(hit: pl.DataFrame) -> dict[str, str | None]:
    """The match in which the earnings changed most, and its twin."""
    worst = hit.sort("size", descending=True, maintain_order=True).head(1).to_dicts()
    return {key: worst[0][key] if worst else None for key in ("match", "twin")}


def _p(
    played: Conditions, name: str, plain: list[str], tested: list[str], late: str,
    found: frozenset[str],
) -> float:  # fmt: skip
    """The p-value of a condition, whose controls are all conditions that were not found."""
    names = {FATIGUE if one == late else f"words.{one}": one for one in tested}
    controls = [*plain, *(one for key, one in names.items() if one != name and key not in found)]
    games = list(dict.fromkeys(game for game, _ in played.instances))
    pools = []
    for game, values in played.instances:
        if name in values:
            rows = [values[name], *(values[one] for one in controls if one in values)]
            # each statistic over all games, and over each game, for what only shows in one
            parts = [np.array(rows) * (one in ("", game)) for one in ("", *games)]
            pools.append(np.hstack(parts))
    sides = [*STATISTICS.values()] * (1 + len(games))
    return tests.stands_out([(pool[0], pool[1:]) for pool in pools], sides)


def _any_message(played: Conditions, names: list[str], plain: list[str]) -> Trial:
    rows, noise = (played.rows.filter(pl.col("condition").is_in(some)) for some in (names, plain))
    sentence = (
        f"{share_of(rows['changed'])} with any message took another course (identical repeats: "
        f"{share_of(noise['changed'])}), with an average change of "
        f"{between(estimate_of(rows['signed'].to_list()), signed=True)}"
    )
    excess = [
        float(np.mean([values[one] for one in names if one in values]))
        - float(np.mean([values[one] for one in plain if one in values] or [0]))
        for values in played.changed if any(one in values for one in names)
    ]  # fmt: skip
    outcome = Weakness(
        "words", "is moved by messages of any kind", int(rows["reached"].sum()), "matches",
        sentence, estimate_of(excess), **_example(rows.filter(pl.col("changed") > 0)),
    )  # fmt: skip
    return Trial(outcome, lambda _: tests.any_differs(played.changed, plain, names))
