"""The page of a profile: findings first, then each theme in a chart and a table, folded."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from cheaptalk.profiles.held import COUNTS, DETECTABLE, NOTHING, Held, held_parts
from cheaptalk.profiles.metrics.quantities import SPENT, THEMES, Theme
from cheaptalk.profiles.profiles import PLACES, Number, Profile
from cheaptalk.profiles.summaries import interval_text, main_numbers, summary
from cheaptalk.profiles.telling import shown_match, telling
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

SPENDING = {key for key, *_ in SPENT}
"""The numbers of what was spent, which sentences and tables tell."""


def profile_recipe(profile: Profile, held: Held = NOTHING) -> Recipe:
    """The page of a profile as a recipe: its gates and changes, if any, and a part for each theme
    that has a number."""
    has = {one.of.theme for one in profile.numbers.values()}
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
        RecipePart("Telling matches", "", partial(_matches, profile), folded=True),
        RecipePart("All numbers", "", partial(_numbers, profile), folded=True),
    )
    return Recipe(
        "profile", f"The profile of {profile.player}", "", parts, measures=(),
        heading=f"{profile.player} by {profile.battery.name}, {profile.size}", outline=False,
    )  # fmt: skip


def profile_findings(store: Store, profile: Profile, held: Held = NOTHING) -> Findings:
    """The sentences, charts and tables of a profile."""
    recipe, evidence = profile_recipe(profile, held), Evidence(store, profile.study, measures=())
    tones = {name: tone for tone, name in enumerate(_panel(profile))}
    made = (MadePart(one, tuple(painted(one.make(evidence), tones))) for one in recipe.parts)
    return Findings(recipe, evidence, tuple(made))


def write_profile(
    store: Store, profile: Profile, out: Path | str, *, held: Held = NOTHING, sample: int = 1,
    viewer: str = VIEWER,
) -> Findings:  # fmt: skip
    """Write a profile as a page that works offline.

    Args:
        out: the file to write.
        held: gates and an earlier profile that it is held against.
        sample: transcripts in the page, for each pairing.
        viewer: the address of a viewer, for links to all other transcripts.

    Returns:
        What stands in it.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    found = profile_findings(store, profile, held)
    write_findings(found, out, sample=sample, viewer=viewer)
    return found


DOTS = (
    "Filled dots with whiskers are the player's, rings those of the panel in its seats on the same "
    "deals; who does not fill all of these seats has no ring there, and no place. Place 1 is the "
    "best."
)


FINDINGS = "Findings"
"""The part of the page that opens it."""


def _findings(profile: Profile, evidence: Evidence) -> Iterator[Shown]:
    """Findings, the worst first, each with a match that shows it.

    A weakness is named if its p-value survives Holm's procedure over all weaknesses of the profile,
    at 5 % together. A manipulation is compared with identical repeats and with the other
    manipulations on the same instance, so that a player that randomises is its own control. It
    counts as robust only if the share of changed courses, the absolute and the signed change of
    what the player earns all stay below their limits (0.1, 0.05 and 0.05) at the upper ends of
    their 95 % intervals.
    """
    told = summary(profile)
    lost = _forfeited(profile)
    for sentence in (*filter(None, [lost]), *told.sentences):
        yield Answer(sentence)
    for found in told.examination.findings:
        yield from _transcript(profile, evidence, found)


def _metrics(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """The first metric of each theme, beside the baselines on the same instances."""
    yield _beside_baselines(profile)


def _weaknesses(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """Every weakness that was tested, found or not, with how often its trigger fired."""
    yield _tested(profile.examination)


def _forfeited(profile: Profile) -> str:
    """The warning that most matches were forfeited; empty otherwise."""
    if not profile.mostly_forfeited:
        return ""
    return f"{profile.player} forfeited most of its matches; all numbers are of the rest."


def _transcript(profile: Profile, evidence: Evidence, found: Weakness) -> Iterator[Match]:
    """A match that shows a weakness, beside its twin if it has one."""
    if found.match is None:
        return
    row = profile.seats.filter(player=profile.player, match=found.match).row(0, named=True)
    one = shown_match(evidence.store, profile, capital(found.title), row, found.twin)
    yield Match(one.title, one.about, one.record, one.decisive)


EFFECT = (
    "The share of opportunities, or the change of the course, the earnings or the first demand. "
    "Findings are ordered by it."
)


def _tested(examined: Examination) -> ReportTable:
    """Every weakness: how often its trigger fired, and what came of it."""
    rows: list[dict[str, Any]] = []
    for one in examined.weaknesses:
        row: dict[str, Any] = {
            "what": capital(one.title), "verdict": one.verdict, "p": one.p, "key": one.key,
            "fired": f"{one.tested:,} {one.unit}" if one.tested else "not tested",
        }  # fmt: skip
        row |= estimated("effect", one.effect if one.tested else Estimate(None))
        for kind in ("changed", "size", "signed"):
            row |= estimated(kind, getattr(one, kind) or Estimate(None))
        rows.append(row)
    return ReportTable(
        "profile-weaknesses", "Weaknesses tested",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("what", "The player ..."), Header("verdict", "Verdict"),
         Header("fired", "Trigger fired"),
         Header("effect", "Effect", places=PLACES, about=EFFECT),
         Header("changed", "Course changed", places=PLACES),
         Header("size", "Absolute change", places=PLACES),
         Header("signed", "Signed change", places=PLACES),
         Header("p", "p", places=3, about="Before the correction for all weaknesses.")),
        counts=COUNTS, stacked=True,
    )  # fmt: skip


def _beside_baselines(profile: Profile) -> ReportTable:
    """The first metric of each theme beside the range of the baselines."""
    rows = []
    for one in main_numbers(profile):
        theirs = [(its.value, name) for name, its in one.panel.items() if its.value is not None]
        low, high = (min(theirs), max(theirs)) if theirs else ((None, ""), (None, ""))
        rows.append(
            {"what": one.of.label, "unit": _unit(one), "low": low[0], "high": high[0],
             "names": f"{low[1]} to {high[1]}" if theirs else ""}
            | estimated(profile.player, one.own)
        )  # fmt: skip
    return ReportTable(
        "profile-metrics", "Metrics beside the baselines",
        pl.DataFrame(rows, infer_schema_length=None),
        (Header("what", "Metric"), Header(profile.player, profile.player, places=PLACES),
         Header("low", "Lowest baseline", places=PLACES),
         Header("high", "Highest baseline", places=PLACES), Header("names", "Which"),
         Header("unit", "Unit")),
        counts=COUNTS,
    )  # fmt: skip


def _theme(profile: Profile, theme: Theme, _: Evidence) -> Iterator[Shown]:
    numbers = [one for one in profile.numbers.values() if one.of.theme == theme]
    yield Answer(_sentence(profile, theme, numbers), _short(profile, theme, numbers))
    first = next(iter(profile.numbers.values())).of.theme == theme
    caption = f"{numbers[0].of.about} {DOTS if first else ''}".rstrip()
    yield Charts(f"profile-{theme}", THEMES[theme], _charts(profile, numbers), caption, wide=True)


def _matches(profile: Profile, evidence: Evidence) -> Iterator[Shown]:
    """The matches that tell most of the player, whole, with the turn marked that decided: the best
    offer that it turned down, the first product wrongly bought or left, the last answer before the
    end, the first answer that words changed, the first lie, the first secret told.

    The best is where it earned most, the worst where the best of the panel got most more in its
    seat on the same deals against the same other.
    """
    for one in telling(evidence.store, profile):
        yield Match(one.title, one.about, one.record, one.decisive)


def _numbers(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """Every number beside those of the panel in the player's seats, theme by theme; of those of the
    panel who fill all of these seats. *At most 0.5 (4 of 4)* says that all of 4 deals came out
    alike, which would be no wonder if up to 0.5 of all did otherwise. A larger ``--size`` has more
    deals.

    Every number is a mean over matches, with a 95 % interval clustered by deal, configurations
    being strata; where an agent plays and nothing is dealt, every match is a draw of its own.
    """
    yield Text(f"The parts of {profile.battery.name}", "\n\n".join(_parts(profile)))
    for theme in THEMES:
        numbers = [one for one in profile.numbers.values() if one.of.theme == theme]
        if numbers:
            yield _table(profile, theme, numbers)


SAID: dict[Theme, str] = {
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
"""The first number of a theme in words."""
OF_THE_REST = ", in the few matches that it did not forfeit"


def _sentence(profile: Profile, theme: Theme, numbers: list[Number]) -> str:
    """What a theme's first number says, and where its others are least and most."""
    said = _first(profile, theme, numbers)
    if theme == "reliable":
        return f"{said}{_took(numbers)}."
    again = next((one for one in numbers if one.of.key == "steady.again"), None)
    if again is not None:
        said += f"; in the same way again, for {fixed(again.own.value or 0, PLACES)}"
    within = f"{numbers[0].of.key}."
    others = [one for one in numbers if one.of.key.startswith(within) and one is not again]
    if len(others) > 1 and theme != "words":
        low, *_, high = sorted(others, key=lambda one: one.own.value or 0)
        if (high.own.value or 0) - (low.own.value or 0) > 0.5 * 10**-PLACES:
            said += f"; least: {_where(low)}; most: {_where(high)}"
    return f"{said}."


def _short(profile: Profile, theme: Theme, numbers: list[Number]) -> str:
    return f"{_first(profile, theme, numbers)}."


def _first(profile: Profile, theme: Theme, numbers: list[Number]) -> str:
    if theme == "words":
        moved = [one for one in summary(profile).examination.findings if one.key in profile.numbers]
        effects = ", ".join(one.title for one in moved) or "no effect was found"
        return f"Messages and {profile.player}: {effects}"
    scope = f", {numbers[0].of.scope}" if numbers[0].of.scope else ""
    said = f"{SAID[theme].format(fixed(numbers[0].own.value or 0, PLACES))}{scope}"
    rest = profile.mostly_forfeited and theme != "reliable"
    if rest:
        return f"{said}{interval_text(numbers[0])}{OF_THE_REST}"
    return f"{said}{_beside(numbers[0])}"


def _took(numbers: list[Number]) -> str:
    """What a match takes, for the end of a sentence; nothing where it takes no calls."""
    means = {one.of.key: one.own.value or 0.0 for one in numbers}
    if not means.get("calls"):
        return ""
    parts = [f"{fixed(means['calls'], 1)} calls", f"{fixed(means['seconds'], 1)} seconds"]
    if "tokens" in means:
        parts.append(f"{fixed(means['tokens'], 0)} tokens")
    if means.get("dollars"):
        parts.append(money(means["dollars"]))
    return f"; a match takes {', '.join(parts)}"


def _line(one: Number) -> str:
    """What a number is called within its theme."""
    within = one.of.title.partition(": ")[2]
    return capital(within) if within else one.of.label


def _where(one: Number) -> str:
    return f"{_line(one)} {fixed(one.own.value or 0, PLACES)}"


def _beside(one: Number) -> str:
    """A number's interval and its place within the panel."""
    within = interval_text(one)
    if one.rank is not None and one.panel:
        return f"{within}, place {one.rank} of {len(one.panel) + 1}"
    return within


def _charts(profile: Profile, numbers: list[Number]) -> list[Chart]:
    """A chart for each unit that numbers have; none of what was spent, and of no kind of failure
    that never came."""
    shown = [
        one for one in numbers if one.of.key.partition(".")[0] not in SPENDING
        and not (one.of.key.startswith("failed.") and not one.own.value)
    ]  # fmt: skip
    units = dict.fromkeys(map(_unit, shown))
    return [_chart(profile, unit, [one for one in shown if _unit(one) == unit]) for unit in units]


def _unit(one: Number) -> str:
    """What a number counts, and whether more of it is better."""
    return f"{one.of.unit}; {one.of.good} is better" if one.of.good else one.of.unit


def _panel(profile: Profile) -> list[str]:
    """The others of the panel."""
    return [name for name in profile.battery.panel if name != profile.player]


def _chart(profile: Profile, unit: str, numbers: list[Number]) -> Chart:
    """A line a number: the panel's rings behind the player's dot."""
    titles = [_line(one) for one in numbers]
    layers: list[Points | Rule] = []
    for name in _panel(profile):
        marks = [
            Mark(its.value, _line(one), f"{name}\n{one.of.title}: {fixed(its.value, PLACES)}")
            for one in numbers if (its := one.panel.get(name)) is not None and its.value is not None
        ]  # fmt: skip
        if marks:
            layers.append(Points(marks, name, shape="ring"))
    own = [_mark(profile, one) for one in numbers]
    layers.append(Points(own, profile.player, "ink"))
    return Chart("", unit, layers, Axis(), Axis(names=tuple(titles)))


def _mark(profile: Profile, one: Number) -> Mark:
    """The player's dot on the line of a number."""
    own = one.own
    ends = None if own.low is None or own.high is None else (own.low, own.high)
    told = f"{one.of.title}: {fixed(own.value or 0, PLACES)}{_beside(one)}"
    said = f"{profile.player}\n{told}"
    return Mark(own.value, _line(one), said, _lead(profile, one), x_ends=ends, size=6)


def _lead(profile: Profile, one: Number) -> Lead | None:
    """The player's matches behind a number, where they are of one game."""
    own = one.of.values.filter(player=profile.player)
    games, configurations = own["game"].unique(), sorted(set(own["configuration"]))
    if len(games) > 1:
        return None
    return Lead(games[0], {"player": profile.player, "configuration": ",".join(configurations)})


def _parts(profile: Profile) -> Iterator[str]:
    """What is played in each part, a paragraph each."""
    battery = profile.battery
    for name, part in {**battery.parts, **battery.words, **battery.anew}.items():
        settings = part.fixed | {key: list(values) for key, values in part.grid.items()}
        yield f"{part.title} (``{name}``): {game_title(part.game)}, {readable(settings)}."


def _table(profile: Profile, theme: Theme, numbers: list[Number]) -> ReportTable:
    members = [name for name in profile.battery.panel if any(name in one.panel for one in numbers)]
    rows = []
    for one in numbers:
        row: dict[str, Any] = {
            "key": one.of.key,
            "what": _line(one),
            "unit": one.of.unit,
            "rank": one.rank,
            "p": one.p,
            "detectable": one.detectable,
            "about": one.of.about,
        }
        for name, its in {profile.player: one.own, **one.panel}.items():
            row |= estimated(name, its)
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    panel = [Header(name, name, places=PLACES, group="Panel", spread=False) for name in members]
    return ReportTable(
        f"profile-{theme}-numbers", THEMES[theme], frame,
        (Header("what", "Number"), Header(profile.player, profile.player, places=PLACES),
         *_tests(numbers),
         Header("detectable", "Detectable", places=PLACES, about=DETECTABLE),
         Header("rank", "Place", places=0), *panel, Header("key", "In gates")),
        caption=f"{'. '.join(capital(unit) for unit in dict.fromkeys(map(_unit, numbers)))}.",
        leads=lambda row: _lead(profile, profile.numbers[row["key"]]),
        notes=tuple(_notes(numbers)), counts=COUNTS, cure=_cure(profile, numbers),
    )  # fmt: skip


def _cure(profile: Profile, numbers: list[Number]) -> str:
    """The size that has as many deals as the marked numbers want."""
    times = [one.own.wanted / one.own.clusters for one in numbers
             if one.own.wanted and one.own.clusters]  # fmt: skip
    larger = profile.battery.enough(profile.size, max(times)) if times else None
    return f"--size {larger} has as many." if larger else "No size has as many." if times else ""


def _tests(numbers: list[Number]) -> Iterator[Header]:
    """The column of what chance would do, where there is any."""
    if any(one.p is not None for one in numbers):
        about = (
            "How often chance alone would do as much or more: the signs of all differences flipped "
            "at random (a permutation test), corrected for their number by Holm's rule."
        )
        yield Header("p", "p", places=3, about=about)


def _notes(numbers: list[Number]) -> Iterator[str]:
    """What is counted, once for all numbers of which that is said alike."""
    for about in dict.fromkeys(one.of.about for one in numbers):
        alike = [_line(one) for one in numbers if one.of.about == about]
        more = f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        yield f"{alike[0]}{more}: {about}"
