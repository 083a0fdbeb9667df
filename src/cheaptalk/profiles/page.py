"""The HTML page of a profile: findings, metrics, weaknesses and a section per theme."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.profiles.gate_tables import COUNTS, DETECTABLE, NOTHING, Gated, held_parts
from cheaptalk.profiles.highlights import highlight, shown_match
from cheaptalk.profiles.metrics.definitions import SPENT, THEMES
from cheaptalk.profiles.profiles import DECIMALS, Number, Profile
from cheaptalk.profiles.summaries import interval_text, main_numbers, summary
from cheaptalk.profiles.weaknesses.weakness import Examination, Weakness
from cheaptalk.records import Store
from cheaptalk.reports import Findings, write_findings
from cheaptalk.reports.charts.chart import Axis, Chart, Lead, Mark, Points, Rule
from cheaptalk.reports.pages import VIEWER
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import (
    Answer,
    Charts,
    MadePart,
    Match,
    Recipe,
    RecipePart,
    Shown,
    Text,
    painted,
)
from cheaptalk.reports.recipes.tables import Estimate, Header, ReportTable, estimated
from cheaptalk.rules import game_title
from cheaptalk.studies import money
from cheaptalk.text import capital, fixed, readable


def profile_recipe(profile: Profile, held: Gated = NOTHING) -> Recipe:
    """Return the recipe for a profile's page, which lists its sections."""
    has = {number.of.theme for number in profile.numbers.values()}
    themes = [
        RecipePart(THEMES[theme], "", partial(_theme, profile, theme), folded=True)
        for theme in THEMES if theme in has
    ]  # fmt: skip
    parts = (
        RecipePart(FINDINGS, "", partial(_findings, profile)),
        *held_parts(profile, held),
        RecipePart("Metrics", "", partial(_metrics, profile)),
        RecipePart("Weaknesses", "", partial(_weaknesses, profile)),
        *themes,
        RecipePart("Highlights", "", partial(_matches, profile), folded=True),
        RecipePart("All metrics", "", partial(_numbers, profile), folded=True),
    )
    return Recipe(
        "profile", f"The profile of {profile.player}", "", parts, metrics=(),
        heading=f"{profile.player} by {profile.battery.name}, {profile.size}", outline=False,
    )  # fmt: skip


def profile_findings(store: Store, profile: Profile, held: Gated = NOTHING) -> Findings:
    """Return the content of a profile's page: sentences, charts and tables."""
    recipe, evidence = profile_recipe(profile, held), Evidence(store, profile.study, metrics=())
    tones = {name: tone for tone, name in enumerate(_panel(profile))}
    parts = (MadePart(part, tuple(painted(part.make(evidence), tones))) for part in recipe.parts)
    return Findings(recipe, evidence, tuple(parts))


def write_profile(
    store: Store, profile: Profile, out: Path | str, *, held: Gated = NOTHING, sample: int = 1,
    viewer: str = VIEWER,
) -> Findings:  # fmt: skip
    """Write a profile as an HTML page that works offline, and return the content of the page.

    Args:
        held: gates, and the comparison with an earlier profile.
        sample: number of transcripts in the page, per pairing.
        viewer: the address of a viewer, for links to all other transcripts.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    page = profile_findings(store, profile, held)
    write_findings(page, out, sample=sample, viewer=viewer)
    return page


DOTS = (
    "Filled dots with whiskers show the player; rings show the baselines in the same seats on the "
    "same instances. Baselines that can't fill all of these seats have no ring and no rank. Rank 1 "
    "is the best."
)
FINDINGS = "Findings"
"""The title of the page's first part."""


def _findings(profile: Profile, evidence: Evidence) -> Iterator[Shown]:
    """Findings, ordered by the size of their effects, each with a match as an illustration.

    A weakness is a finding if its p-value is significant at 5 % with Holm's correction for all
    weaknesses of the profile. Matches with a manipulation are compared with identical repeats and
    with other manipulations on the same instance, so the player's own random variation is the
    control. The player is robust to a manipulation if the 95 % intervals of three effects stay
    below limits: 0.1 for the share of changed courses, and 0.05 for the absolute and the signed
    change of earnings.
    """
    text = summary(profile)
    lost = _forfeited(profile)
    for sentence in (*filter(None, [lost]), *text.sentences):
        yield Answer(sentence)
    for finding in text.examination.findings:
        yield from _transcript(profile, evidence, finding)


def _metrics(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """The main metric of each theme, compared with the baselines on the same instances."""
    yield _beside_baselines(profile)


def _weaknesses(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """All tested weaknesses, and the number of times that each trigger fired."""
    yield _tested(profile.examination)


def _forfeited(profile: Profile) -> str:
    if not profile.mostly_forfeited:
        return ""
    return f"{profile.player} forfeited most of its matches; all numbers describe the others."


def _transcript(profile: Profile, evidence: Evidence, finding: Weakness) -> Iterator[Match]:
    if finding.match is None:
        return
    row = profile.seats.filter(player=profile.player, match_id=finding.match).row(0, named=True)
    match = shown_match(evidence.store, profile, capital(finding.title), row, finding.twin)
    yield Match(match.title, match.about, match.record, match.decisive)


EFFECT = (
    "The share of opportunities, or the change of the moves, the earnings or the first demand. "
    "Findings are ordered by their effects."
)


def _tested(examined: Examination) -> ReportTable:
    rows: list[dict[str, Any]] = []
    for weakness in examined.weaknesses:
        row: dict[str, Any] = {
            "what": capital(weakness.title), "verdict": weakness.verdict, "p": weakness.p,
            "key": weakness.key,
            "fired": f"{weakness.tested:,} {weakness.unit}" if weakness.tested else "not tested",
        }  # fmt: skip
        row |= estimated("effect", weakness.effect if weakness.tested else Estimate(None))
        for kind in ("changed", "size", "signed"):
            row |= estimated(kind, getattr(weakness, kind) or Estimate(None))
        rows.append(row)
    return ReportTable(
        "profile-weaknesses", "Weaknesses tested",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("what", "The player ..."), Header("verdict", "Verdict"),
         Header("fired", "Trigger fired"),
         Header("effect", "Effect", decimals=DECIMALS, about=EFFECT),
         Header("changed", "Course changed", decimals=DECIMALS),
         Header("size", "Absolute change", decimals=DECIMALS),
         Header("signed", "Signed change", decimals=DECIMALS),
         Header("p", "p", decimals=3, about="Not corrected for multiple tests.")),
        counts=COUNTS, stacked=True,
    )  # fmt: skip


def _beside_baselines(profile: Profile) -> ReportTable:
    """Return a table of each theme's main metric, with the range of the baselines."""
    rows = []
    for number in main_numbers(profile):
        values = [(its.value, name) for name, its in number.panel.items() if its.value is not None]
        low, high = (min(values), max(values)) if values else ((None, ""), (None, ""))
        rows.append(
            {"what": number.of.label, "unit": _unit(number), "low": low[0], "high": high[0],
             "names": f"{low[1]} to {high[1]}" if values else ""}
            | estimated(profile.player, number.own)
        )  # fmt: skip
    return ReportTable(
        "profile-metrics", "Metrics and baselines",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("what", "Metric"), Header(profile.player, profile.player, decimals=DECIMALS),
         Header("low", "Lowest baseline", decimals=DECIMALS),
         Header("high", "Highest baseline", decimals=DECIMALS), Header("names", "From, to"),
         Header("unit", "Unit")),
        counts=COUNTS,
    )  # fmt: skip


def _theme(profile: Profile, theme: str, _: Evidence) -> Iterator[Shown]:
    numbers = [number for number in profile.numbers.values() if number.of.theme == theme]
    yield Answer(_sentence(profile, theme, numbers), _short(profile, theme, numbers))
    first = next(iter(profile.numbers.values())).of.theme == theme
    caption = f"{numbers[0].of.about} {DOTS if first else ''}".rstrip()
    yield Charts(f"profile-{theme}", THEMES[theme], _charts(profile, numbers), caption, wide=True)


def _matches(profile: Profile, evidence: Evidence) -> Iterator[Shown]:
    """Instructive matches, with the decisive turn marked.
    This turn is the best offer that the player rejected, the first wrong purchase decision, the
    last answer, the first answer that a message changed, the first false statement, or the first
    leak.

    The player's earnings are highest in the best match. In the worst match, the difference to the
    best baseline in the same seat, on the same instances and against the same opponent is largest.
    """
    for match in highlight(evidence.store, profile):
        yield Match(match.title, match.about, match.record, match.decisive)


def _numbers(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """All metrics by theme, of the player and of the baselines that can fill the same seats.
    *At most 0.5 (4 of 4)* means that all 4 instances had the same result, so at most half of all
    instances differ. A larger ``--size`` has more instances.

    Every metric is a mean over matches, with a 95 % interval clustered by instance within
    configurations. If an agent plays and instances are not random, all matches are independent.
    """
    yield Text(f"The parts of {profile.battery.name}", "\n\n".join(_parts(profile)))
    for theme in THEMES:
        numbers = [number for number in profile.numbers.values() if number.of.theme == theme]
        if numbers:
            yield _table(profile, theme, numbers)


SENTENCES: dict[str, str] = {
    "earned": "It earns {} of the attainable payoff",
    "left": "It reaches an agreement in {} of the matches",
    "fair": "The other players earn {} of their attainable payoff",
    "regret": "The best baseline earns {} more in its seat",
    "mistakes": "It makes {} mistakes per match, against any opponent",
    "exploited": "The best response among the baselines gains {} over their equilibrium",
    "truthful": "A share of {} of its checkable statements is true",
    "discreet": "It names its secret in {} of the matches",
    "steady": "Its first demands in two presentations of a decision differ by {}",
    "reliable": "A share of {} of its answers is valid at the first try",
}
"""Sentences about the first metric of each theme."""
OF_THE_REST = ", in the few matches that it did not forfeit"


def _sentence(profile: Profile, theme: str, numbers: list[Number]) -> str:
    """Return a sentence on a theme's first metric, with the range of its other metrics."""
    sentence = _first(profile, theme, numbers)
    if theme == "reliable":
        return f"{sentence}{_took(numbers)}."
    repeated = next((number for number in numbers if number.of.key == "steady.again"), None)
    if repeated is not None:
        difference = fixed(repeated.own.value or 0, DECIMALS)
        sentence += f"; on a repeated request, it differs by {difference}"
    within = f"{numbers[0].of.key}."
    others = [item for item in numbers if item.of.key.startswith(within) and item is not repeated]
    if len(others) > 1 and theme != "words":
        low, *_, high = sorted(others, key=lambda value: value.own.value or 0)
        if (high.own.value or 0) - (low.own.value or 0) > 0.5 * 10**-DECIMALS:
            sentence += f"; lowest: {_line_text(low)}; highest: {_line_text(high)}"
    return f"{sentence}."


def _short(profile: Profile, theme: str, numbers: list[Number]) -> str:
    return f"{_first(profile, theme, numbers)}."


def _first(profile: Profile, theme: str, numbers: list[Number]) -> str:
    if theme == "words":
        findings = summary(profile).examination.findings
        titles = [finding.title for finding in findings if finding.key in profile.numbers]
        effects = ", ".join(titles) or "no effect was found"
        return f"Messages and {profile.player}: {effects}"
    scope = f", {numbers[0].of.scope}" if numbers[0].of.scope else ""
    sentence = f"{SENTENCES[theme].format(fixed(numbers[0].own.value or 0, DECIMALS))}{scope}"
    if profile.mostly_forfeited and theme != "reliable":
        return f"{sentence}{interval_text(numbers[0])}{OF_THE_REST}"
    return f"{sentence}{_compared(numbers[0])}"


def _took(numbers: list[Number]) -> str:
    """Return a clause on calls, time, tokens and cost per match; empty without model calls."""
    means = {number.of.key: number.own.value or 0.0 for number in numbers}
    if not means.get("calls"):
        return ""
    parts = [f"{fixed(means['calls'], 1)} calls", f"{fixed(means['seconds'], 1)} seconds"]
    if "tokens" in means:
        parts.append(f"{fixed(means['tokens'], 0)} tokens")
    if means.get("dollars"):
        parts.append(money(means["dollars"]))
    return f"; a match takes {', '.join(parts)}"


def _line(number: Number) -> str:
    """Return a metric's name without the name of its theme."""
    within = number.of.title.partition(": ")[2]
    return capital(within) if within else number.of.label


def _line_text(number: Number) -> str:
    return f"{_line(number)} {fixed(number.own.value or 0, DECIMALS)}"


def _compared(number: Number) -> str:
    """Return a metric's interval and its rank among the baselines."""
    within = interval_text(number)
    if number.rank is not None and number.panel:
        return f"{within}, rank {number.rank} of {len(number.panel) + 1}"
    return within


def _charts(profile: Profile, numbers: list[Number]) -> list[Chart]:
    """Return one chart per unit of the metrics, omitting usage and failures that did not occur."""
    charted = [
        number for number in numbers if number.of.key.partition(".")[0] not in SPENT
        and not (number.of.key.startswith("failed.") and not number.own.value)
    ]  # fmt: skip
    units = dict.fromkeys(map(_unit, charted))
    return [
        _chart(profile, unit, [item for item in charted if _unit(item) == unit]) for unit in units
    ]


def _unit(number: Number) -> str:
    """Return a metric's unit and, if it has one, the better direction."""
    return f"{number.of.unit}; {number.of.good} is better" if number.of.good else number.of.unit


def _panel(profile: Profile) -> list[str]:
    return [name for name in profile.battery.panel if name != profile.player]


def _chart(profile: Profile, unit: str, numbers: list[Number]) -> Chart:
    layers: list[Points | Rule] = []
    for name in _panel(profile):
        marks = [
            Mark(its.value, _line(number),
                 f"{name}\n{number.of.title}: {fixed(its.value, DECIMALS)}")
            for number in numbers
            if (its := number.panel.get(name)) is not None and its.value is not None
        ]  # fmt: skip
        if marks:
            layers.append(Points(marks, name, shape="ring"))
    layers.append(Points([_mark(profile, number) for number in numbers], profile.player, "ink"))
    return Chart("", unit, layers, Axis(), Axis(names=tuple(map(_line, numbers))))


def _mark(profile: Profile, number: Number) -> Mark:
    estimate = number.own
    ends = None if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)
    sentence = f"{number.of.title}: {fixed(estimate.value or 0, DECIMALS)}{_compared(number)}"
    text = f"{profile.player}\n{sentence}"
    return Mark(estimate.value, _line(number), text, _lead(profile, number), x_ends=ends, size=6)


def _lead(profile: Profile, number: Number) -> Lead | None:
    """Return a link to the matches behind a metric; None if they belong to several games."""
    values = number.of.values.filter(player=profile.player)
    games, configurations = values["game"].unique(), sorted(set(values["configuration"]))
    if len(games) > 1:
        return None
    return Lead(games[0], {"player": profile.player, "configuration": ",".join(configurations)})


def _parts(profile: Profile) -> Iterator[str]:
    battery = profile.battery
    for name, part in {**battery.parts, **battery.words, **battery.anew}.items():
        settings = part.fixed | {key: list(values) for key, values in part.grid.items()}
        yield f"{part.title} (``{name}``): {game_title(part.game)}, {readable(settings)}."


def _table(profile: Profile, theme: str, numbers: list[Number]) -> ReportTable:
    panel = profile.battery.panel
    members = [name for name in panel if any(name in number.panel for number in numbers)]
    rows = []
    for number in numbers:
        row: dict[str, Any] = {
            "key": number.of.key,
            "what": _line(number),
            "unit": number.of.unit,
            "rank": number.rank,
            "p": number.p,
            "detectable": number.detectable,
            "about": number.of.about,
        }
        for name, its in {profile.player: number.own, **number.panel}.items():
            row |= estimated(name, its)
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    headers = [
        Header(name, name, decimals=DECIMALS, group="Baselines", spread=False) for name in members
    ]
    return ReportTable(
        f"profile-{theme}-numbers", THEMES[theme], frame,
        (Header("what", "Metric"), Header(profile.player, profile.player, decimals=DECIMALS),
         *_tests(numbers),
         Header("detectable", "Detectable", decimals=DECIMALS, about=DETECTABLE),
         Header("rank", "Rank", decimals=0), *headers, Header("key", "In gates")),
        caption=f"{'. '.join(capital(unit) for unit in dict.fromkeys(map(_unit, numbers)))}.",
        leads=lambda row: _lead(profile, profile.numbers[row["key"]]),
        notes=tuple(_notes(numbers)), counts=COUNTS, cure=_cure(profile, numbers),
    )  # fmt: skip


def _cure(profile: Profile, numbers: list[Number]) -> str:
    """Return a note on the smallest size with enough instances for all of the given metrics."""
    times = [number.own.wanted / number.own.clusters for number in numbers
             if number.own.wanted and number.own.clusters]  # fmt: skip
    larger = profile.battery.enough(profile.size, max(times)) if times else None
    return f"--size {larger} has enough." if larger else "No size has enough." if times else ""


def _tests(numbers: list[Number]) -> Iterator[Header]:
    if any(number.p is not None for number in numbers):
        about = (
            "Probability of at least this effect by chance, from a permutation test that flips the "
            "signs of the differences, with Holm's correction for multiple tests."
        )
        yield Header("p", "p", decimals=3, about=about)


def _notes(numbers: list[Number]) -> Iterator[str]:
    for about in dict.fromkeys(number.of.about for number in numbers):
        lines = [_line(number) for number in numbers if number.of.about == about]
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        yield f"{lines[0]}{more}: {about}"
