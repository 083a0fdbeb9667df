"""The summary of a profile, for the start of the profile's page and for the terminal."""

from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

import polars as pl

from cheaptalk.profiles.profiles import DECIMALS, Number, Profile
from cheaptalk.profiles.weaknesses import messages
from cheaptalk.profiles.weaknesses.examine import LEVEL
from cheaptalk.rules import counted, game_title
from cheaptalk.studies import money
from cheaptalk.text import FEW_MARK, fixed

MAX_DECIMALS = 5
"""Maximum number of decimals of a share that is close to 0 or 1."""


class Summary(NamedTuple):
    """A summary of a profile in sentences and lines of text.

    Attributes:
        findings: a sentence per weakness found, starting with the largest effect.
        scope: sentences on the tests, failed requests and the smallest detectable effects.
        next: a sentence on the next larger size and its cost.
        metrics: a line per main metric, with the range of the baselines.
    """

    findings: list[str]
    scope: list[str]
    next: str
    metrics: list[str]

    @property
    def sentences(self) -> list[str]:
        """All sentences in order."""
        return [*self.findings, *self.scope, *filter(None, [self.next])]


def summary(profile: Profile) -> Summary:
    """Return the summary of a profile."""
    findings = [
        f"{profile.player} {finding.title}: {finding.sentence}."
        for finding in profile.examination.findings
    ]
    metrics = [
        f"{number.of.label}: {number_text(number)}{baselines(number)}"
        for number in main_numbers(profile)
    ]
    return Summary(findings, [*_scope(profile)], _next(profile), metrics)


def main_numbers(profile: Profile) -> Iterator[Number]:
    """Yield the first metric of each theme other than the effects of messages."""
    themes: set[str] = {"words"}
    for number in profile.numbers.values():
        if number.of.theme not in themes:
            themes.add(number.of.theme)
            yield number


def number_text(number: Number) -> str:
    """Return a metric and its interval, with enough decimals for shares close to 0 or 1."""
    value, decimals = number.own.value or 0.0, DECIMALS
    while (
        value not in (0, 1) and float(fixed(value, decimals)) in (0, 1) and decimals < MAX_DECIMALS
    ):
        decimals += 1
    mark = FEW_MARK if number.own.wanted is not None else ""
    return f"{fixed(value, decimals)}{mark}{interval_text(number, decimals)}"


def interval_text(number: Number, decimals: int = DECIMALS) -> str:
    """Return the interval of a metric in parentheses, or the reason for a missing interval."""
    within = number.own.within(decimals)
    if within:
        return within
    clusters = number.own.clusters or 0
    few = "a single instance" if clusters < 2 else f"{clusters} instances"
    return f" (no interval: {few if clusters < 2 or number.own.error else 'it never varied'})"


def baselines(number: Number) -> str:
    """Return the range of the baselines' means of a metric as text; empty without baselines."""
    values = [estimate.value for estimate in number.panel.values() if estimate.value is not None]
    if not values:
        return ""
    return f"; baselines {fixed(min(values), DECIMALS)} to {fixed(max(values), DECIMALS)}"


def _scope(profile: Profile) -> Iterator[str]:
    examined = profile.examination
    tested = counted(len(examined.tested), "weakness")
    if not examined.findings:
        yield f"None of the {tested} tested was found in {profile.player}."
    else:
        yield (
            f"Found {len(examined.findings)} of {tested} tested. The probability of any false "
            f"finding for a player without weaknesses is at most {100 * LEVEL:.0f} %."
        )
    if open_questions := [weakness.title for weakness in examined.tested if not weakness.found]:
        yield (
            f"Open: {counted(len(open_questions), 'weakness')} tested but not found, which does "
            f"not rule them out: {', '.join(open_questions)}."
        )
    if missing := [weakness.title for weakness in examined.weaknesses if weakness.p is None]:
        unplayed, no_trigger = "some matches are not played yet", "no match gave an opportunity"
        why = unplayed if profile.unplayed else no_trigger
        yield f"Not tested, because {why}: {', '.join(missing)}."
    if profile.repeated:
        yield f"{profile.repeated}."
    if unread := sum(weakness.unread for weakness in examined.weaknesses):
        yield f"{counted(unread, 'statement')} could not be read; a judge can rate them."
    if small := _smallest(profile, 1):
        yield f"The smallest effects that size {profile.size} can find: {small}."
    yield from _manipulations(profile)


def _manipulations(profile: Profile) -> Iterator[str]:
    """Yield sentences on manipulations that are undetectable or close to significance."""
    if hidden := messages.hidden_games(_controls(profile), _level(profile)):
        games = ", ".join(f"{game_title(game)} ({n} matches)" for game, n in hidden.items())
        limit = "This size cannot find a manipulation that works in only one of these games"
        yield f"{limit}: {games}."
    tested = {f"words.{name}" for name in messages.manipulations(profile.battery)}
    missed = [
        (weakness.p, weakness)
        for weakness in profile.examination.tested
        if weakness.key in tested and not weakness.found and weakness.p is not None
    ]
    p, closest = min(missed, key=itemgetter(0), default=(1.0, None))
    if closest is not None and closest.changed is not None and p < LEVEL:
        total = closest.changed.n or 0
        hits = round(total * (closest.changed.value or 0.0))
        yield (
            f"The closest manipulation that was not found: {profile.player} {closest.title} "
            f"({hits} of {counted(total, 'match')} had different moves, p = {p:.3f} "
            "uncorrected)."
        )


def _level(profile: Profile) -> float:
    """Return the significance level of the first step of Holm's procedure."""
    return LEVEL / max(1, len(profile.examination.tested))


def _played(profile: Profile) -> messages.Conditions:
    return messages.conditions(profile.seats.filter(player=profile.player), profile.battery)


def _controls(profile: Profile) -> messages.Controls:
    keys = {finding.key for finding in profile.examination.findings}
    return messages.controls_of(_played(profile), profile.battery, keys)


def _least_manipulation(profile: Profile, times: int) -> str:
    """Describe the smallest manipulation that tests with ``times`` as many instances detect."""
    instances = _controls(profile) * times
    if not instances:
        return ""
    rows = _played(profile).rows.filter(pl.col("condition").is_in(profile.battery.repeats))
    changed = times * int(rows["changed"].sum())
    share = f"{changed} of {times * rows.height}" if changed else "none"
    repeats_text = f"identical repeats change {share}"
    minimum = messages.least_changes(instances, _level(profile))
    if minimum is None:
        return (
            f"no manipulation that changes only moves, because {repeats_text} (manipulations that "
            "change earnings or early agreements can be found)"
        )
    return f"a manipulation that changes {minimum} of {len(instances)} matches, if {repeats_text}"


def _smallest(profile: Profile, times: int) -> str:
    """Describe the smallest effects that tests with ``times`` as many instances detect."""
    parts = [text for text in [_least_manipulation(profile, times)] if text]
    rates = [weakness for weakness in profile.examination.tested if weakness.hits is not None]
    for rarest in sorted(rates, key=lambda rate: rate.tested)[:1]:
        chances = rarest.tested * times
        if (hits := rarest.least(chances, _level(profile))) is not None:
            parts.append(f"a player that {rarest.title} ({hits} of {chances} {rarest.unit})")
    return ", and ".join(parts)


def _next(profile: Profile) -> str:
    """Return a sentence on the next larger size; empty if there is none or matches are unplayed."""
    size = next(iter(profile.battery.larger(profile.size)), None)
    if size is None or profile.unplayed:
        return ""
    times = max(1, round(profile.battery.size(size) / profile.battery.size(profile.size)))
    rows = profile.seats.filter(player=profile.player)
    answers, dollars = int(rows["answers"].sum()), float(rows["dollars"].sum())
    cost = f" and about {money((times - 1) * dollars)}" if dollars else ""
    sentence = f"--size {size} adds about {round((times - 1) * answers, -2):,.0f} answers{cost}"
    finds = _smallest(profile, times)
    return f"{sentence}, and can find {finds}." if finds else f"{sentence}."
