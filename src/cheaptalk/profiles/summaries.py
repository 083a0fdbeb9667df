"""The summary of a profile, as it opens the page and is printed in a terminal."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from cheaptalk.profiles.profiles import PLACES, Number, Profile
from cheaptalk.profiles.weaknesses.examine import LEVEL
from cheaptalk.profiles.weaknesses.manipulations import (
    Conditions,
    conditions,
    manipulations,
    repeats,
)
from cheaptalk.profiles.weaknesses.messages import (
    Controls,
    controls_of,
    hidden_games,
    least_changes,
)
from cheaptalk.profiles.weaknesses.weakness import Examination
from cheaptalk.rules import counted, game_title
from cheaptalk.studies import money
from cheaptalk.text import FEW_MARK, fixed

MOST_PLACES = 5
"""The most decimals of a share that is close to 0 or 1."""


class Summary(NamedTuple):
    """The summary of a profile.

    Attributes:
        examination: every weakness that was tested.
        findings: a sentence per weakness found, the worst first.
        scope: how many weaknesses were tested, how many requests got no answer at first, and what
            this size could have found.
        next: what the next larger size would add and cost.
        metrics: the main metrics beside the range of the baselines, a line each.
    """

    examination: Examination
    findings: list[str]
    scope: list[str]
    next: str
    metrics: list[str]

    @property
    def sentences(self) -> list[str]:
        """Return all sentences in order."""
        return [*self.findings, *self.scope, *filter(None, [self.next])]


def summary(profile: Profile) -> Summary:
    """Return the summary of a profile."""
    examined = profile.examination
    findings = [f"{profile.player} {one.title}: {one.sentence}."
                for one in examined.findings]  # fmt: skip
    metrics = [
        f"{one.of.label}: {number_text(one)}{baselines(one)}" for one in main_numbers(profile)
    ]
    return Summary(
        examined, findings, [*_scope(profile, examined)], _next(profile, examined), metrics
    )


def main_numbers(profile: Profile) -> Iterator[Number]:
    """Return the first number of each theme, the effects of messages left out."""
    themes: set[str] = {"words"}
    for one in profile.numbers.values():
        if one.of.theme not in themes:
            themes.add(one.of.theme)
            yield one


def number_text(number: Number) -> str:
    """Return a number with its interval, and :data:`.FEW_MARK` if it rests on few instances.

    A share that is neither 0 nor 1 is not rounded to either.
    """
    value, places = number.own.value or 0.0, PLACES
    while value not in (0, 1) and float(fixed(value, places)) in (0, 1) and places < MOST_PLACES:
        places += 1
    mark = FEW_MARK if number.own.wanted is not None else ""
    return f"{fixed(value, places)}{mark}{interval_text(number, places)}"


def interval_text(number: Number, places: int = PLACES) -> str:
    """Return the interval of a number in brackets, or why there is none."""
    within = number.own.within(places)
    if within:
        return within
    clusters = number.own.clusters or 0
    few = "a single instance" if clusters < 2 else f"{clusters} instances"
    return f" (no interval: {few if clusters < 2 or number.own.error else 'it never varied'})"


def baselines(number: Number) -> str:
    """Return the range of the baselines of a number in words; empty without baselines."""
    values = [one.value for one in number.panel.values() if one.value is not None]
    if not values:
        return ""
    return f"; baselines {fixed(min(values), PLACES)} to {fixed(max(values), PLACES)}"


def _scope(profile: Profile, examined: Examination) -> Iterator[str]:
    tested = counted(len(examined.tested), "weakness")
    if not examined.findings:
        yield f"Found none of the {tested} tested in {profile.player}."
    else:
        yield (
            f"Found {len(examined.findings)} of {tested} tested; a player without any has a chance "
            f"of at most {100 * LEVEL:.0f} % that one is named."
        )
    if missing := [one.title for one in examined.weaknesses if one.p is None]:
        why = "the matches are not all played" if profile.unplayed else "no match could show it"
        yield f"Not tested, because {why}: {', '.join(missing)}."
    if profile.repeated:
        yield f"{profile.repeated}."
    if unread := sum(one.unread for one in examined.weaknesses):
        yield f"{counted(unread, 'statement')} could not be read; a judge can rate them."
    small = _smallest(profile, examined, 1)
    if small:
        yield f"The smallest effects that size {profile.size} can find: {small}."
    yield from _manipulations(profile, examined)


def _manipulations(profile: Profile, examined: Examination) -> Iterator[str]:
    """What this size cannot find, and the strongest manipulation that was not found."""
    level = _level(examined)
    hidden = hidden_games(_controls(profile, examined), level)
    if hidden:
        games = ", ".join(f"{game_title(game)} ({n} matches)" for game, n in hidden.items())
        yield f"A manipulation that works in one game only cannot be found at this size in {games}."
    tested = {f"words.{one}" for one in manipulations(profile.battery)}
    missed = [(one.p, one) for one in examined.weaknesses
              if one.key in tested and not one.found and one.p is not None]  # fmt: skip
    p, closest = min(missed, key=lambda pair: pair[0], default=(1.0, None))
    if closest is not None and closest.changed is not None and p < LEVEL:
        of = closest.changed.n or 0
        hits = round(of * (closest.changed.value or 0.0))
        yield (
            f"The closest manipulation that was not found: {profile.player} {closest.title} "
            f"({hits} of {counted(of, 'match')} took another course, p = {p:.3f} before the "
            "correction)."
        )


def _level(examined: Examination) -> float:
    """The level of the first step of Holm's procedure."""
    return LEVEL / max(1, len(examined.tested))


def _played(profile: Profile) -> Conditions:
    return conditions(profile.seats.filter(player=profile.player), profile.battery)


def _controls(profile: Profile, examined: Examination) -> Controls:
    found = {one.key for one in examined.findings}
    return controls_of(_played(profile), profile.battery, found)


def _least_manipulation(profile: Profile, examined: Examination, times: int) -> str:
    """The smallest manipulation that a size can find, given how often identical repeats change."""
    instances = _controls(profile, examined) * times
    if not instances:
        return ""
    rows = _played(profile).rows.filter(pl.col("condition").is_in(repeats(profile.battery)))
    changed = times * int(rows["changed"].sum())
    share = f"{changed} of {times * rows.height}" if changed else "none"
    again = f"identical repeats change {share}"
    least = least_changes(instances, _level(examined))
    if least is None:
        return (
            f"no manipulation by changed moves only, because {again} (one that changes earnings or "
            "early agreements can be found)"
        )
    return f"a manipulation that changes {least} of {len(instances)} matches, if {again}"


def _smallest(profile: Profile, examined: Examination, times: int) -> str:
    """The smallest effects that a size can find, so many times as large as this one."""
    level = _level(examined)
    parts = [one for one in [_least_manipulation(profile, examined, times)] if one]
    rates = [one for one in examined.tested if one.hits is not None]
    for one in sorted(rates, key=lambda rate: rate.tested)[:1] if rates else ():
        of = one.tested * times
        hits = one.least(of, level)
        if hits is not None:
            parts.append(f"a player that {one.title} ({hits} of {of} {one.unit})")
    return ", and ".join(parts)


def _next(profile: Profile, examined: Examination) -> str:
    """Return what the next larger size adds and costs; empty without one or with matches left."""
    size = next(iter(profile.battery.larger(profile.size)), None)
    if size is None or profile.unplayed:
        return ""
    times = max(1, round(profile.battery.size(size) / profile.battery.size(profile.size)))
    mine = profile.seats.filter(player=profile.player)
    answers, dollars = int(mine["answers"].sum()), float(mine["dollars"].sum())
    cost = f" and about {money((times - 1) * dollars)}" if dollars else ""
    said = f"--size {size} adds some {round((times - 1) * answers, -2):,.0f} answers{cost}"
    finds = _smallest(profile, examined, times)
    return f"{said}, and can find {finds}." if finds else f"{said}."
