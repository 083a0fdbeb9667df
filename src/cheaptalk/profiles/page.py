"""The HTML page of a profile: findings, gates, metrics, weaknesses and a section per theme."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.profiles.comparisons import TIMES, VERDICTS, Change, FindingChange
from cheaptalk.profiles.gates import CHANGE, Decision, Verdict
from cheaptalk.profiles.highlights import highlight, shown_match
from cheaptalk.profiles.metrics.definitions import ATTAINABLE, SPENT, THEMES
from cheaptalk.profiles.profiles import DECIMALS, Number, Profile
from cheaptalk.profiles.summaries import interval_text, main_numbers, summary
from cheaptalk.records import Store
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.reports import Findings, write_findings
from cheaptalk.reports.charts.chart import Axis, Chart, Lead, Mark, Points, Rule, Shape
from cheaptalk.reports.pages import VIEWER
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, Recipe, RecipePart, Shown, Text
from cheaptalk.reports.recipes.tables import Estimate, Header, ReportTable, estimated
from cheaptalk.rules import counted, game_title
from cheaptalk.studies import money
from cheaptalk.text import capital, fixed, readable


class Gated(NamedTuple):
    """The pass/fail decisions and changes to show on a profile's page.

    Attributes:
        since: the player of the earlier profile; empty without an earlier profile.
        findings: the findings that only one of the two profiles has.
    """

    decisions: Sequence[Decision] = ()
    since: str = ""
    changes: Sequence[Change] = ()
    findings: Sequence[FindingChange] = ()


NOTHING = Gated()
DETECTABLE = "The smallest effect that this size detects with 80 % power, at the corrected level."
COUNTS = ("match", "instance")
"""The units of observations and clusters."""


def number(key: str, title: str, **options: Any) -> Header:
    """Return the header of a column of estimates."""
    return Header(key, title, decimals=DECIMALS, **options)


def profile_recipe(profile: Profile, held: Gated = NOTHING) -> Recipe:
    """Return the recipe for a profile's page, which lists its sections."""
    has = {number.of.theme for number in profile.numbers.values()}
    parts = (
        RecipePart(FINDINGS, "", partial(_findings, profile)),
        *held_parts(profile, held),
        RecipePart("Metrics", "", partial(_metrics, profile)),
        RecipePart("Weaknesses", "", partial(_weaknesses, profile)),
        *(
            RecipePart(title, "", partial(_theme, profile, theme), folded=True)
            for theme, title in THEMES.items()
            if theme in has
        ),
        RecipePart("Highlights", "", partial(_matches, profile), folded=True),
        RecipePart("All metrics", "", partial(_numbers, profile), folded=True),
    )
    title, heading = f"The profile of {profile.player}", profile.title
    return Recipe("profile", title, "", parts, metrics=(), heading=heading, outline=False)


@reads
def profile_findings(store: StoreLike, profile: Profile, held: Gated = NOTHING) -> Findings:
    """Return the content of a profile's page: sentences, charts and tables."""
    assert isinstance(store, Store)
    recipe, evidence = profile_recipe(profile, held), Evidence(store, profile.study, metrics=())
    tones = {name: tone for tone, name in enumerate(_panel(profile))}
    return Findings(recipe, evidence, tuple(part.made(evidence, tones) for part in recipe.parts))


@reads
def write_profile(
    store: StoreLike,
    profile: Profile,
    out: Path | str,
    *,
    held: Gated = NOTHING,
    sample: int = 1,
    viewer: str = VIEWER,
) -> Findings:
    """Write a profile as an HTML page that works offline, and return the content of the page.

    Args:
        held: gates, and the comparison with an earlier profile.
        sample: number of transcripts in the page, per pairing.
        viewer: the address of a viewer, for links to all other transcripts.

    Raises:
        CheaptalkError: the file cannot be written.
    """
    assert isinstance(store, Store)
    content = profile_findings(store, profile, held)
    write_findings(content, out, sample=sample, viewer=viewer)
    return content


DOTS = (
    "Filled dots with whiskers show the player; rings show the baselines in the same seats on the "
    "same instances. Baselines that can't fill all of these seats have no ring and no rank. Rank 1 "
    "is the best."
)
PERMUTED = (
    "Probability of at least this effect by chance, from a permutation test that flips the signs "
    "of the differences, with Holm's correction for multiple tests."
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
    if profile.mostly_forfeited:
        player = profile.player
        yield Answer(f"{player} forfeited most of its matches; all numbers describe the others.")
    for sentence in summary(profile).sentences:
        yield Answer(sentence)
    for finding in profile.examination.findings:
        if finding.match is not None:
            played = profile.seats.filter(player=profile.player, match_id=finding.match)
            row, title = played.row(0, named=True), capital(finding.title)
            yield shown_match(evidence.store, profile, title, row, finding.twin)


def held_parts(profile: Profile, held: Gated) -> Iterator[RecipePart]:
    """Yield the first sections of a profile's page: gates, changes and failed matches."""
    if held.decisions:
        yield RecipePart("Gates", "", partial(_gates, held))
    if held.changes:
        yield RecipePart("Changes", "", partial(_changes, profile, held))
    if profile.failed:
        yield RecipePart("Matches without a result", "", partial(_failures, profile))


def _failures(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """Matches that failed for a technical reason or that an interrupted run did not play.
    A technical reason is, for example, a server error. These matches are not forfeits, and no
    metric includes them. To play them, run the same command again."""
    yield Answer(f"{profile.failed}.")


def _gates(held: Gated, _: Evidence) -> Iterator[Shown]:
    """The less favourable bound of the confidence interval decides a gate, not the mean."""
    verdicts = [decision.verdict for decision in held.decisions]
    failed, open_ = verdicts.count(Verdict.FAIL), verdicts.count(Verdict.OPEN)
    sentence = f"{verdicts.count(Verdict.PASS)} of {len(verdicts)} pass"
    sentence += f", {failed} fail" if failed else ""
    yield Answer(f"{sentence}, {open_} open." if open_ else f"{sentence}.")
    rows = []
    for decision in held.decisions:
        name = ", ".join(filter(None, (str(decision.gate), decision.scope)))
        row = {"gate": name, "verdict": decision.verdict.value, "cure": decision.cure}
        held_number = estimated("number", decision.held or Estimate(None))
        rows.append(row | {"decimals": decision.gate.decimals} | held_number)
    headers = (
        Header("gate", "Gate"),
        Header("verdict", "Verdict"),
        Header("number", "Value", decimals="decimals"),
        Header("cure", "Remarks"),
    )
    yield ReportTable.of("profile-gates", "Gates", rows, headers, counts=COUNTS)


def _changes(profile: Profile, held: Gated, _: Evidence) -> Iterator[Shown]:
    """Differences between this profile and the earlier one, computed from paired matches.
    Pairs share the instance, seat and opponent. Filled dots are significant changes, by a test
    corrected for all metrics; rings are other changes. Whiskers are 95 % intervals of single
    metrics, some of which exclude 0 by chance. A finding is new or disappears if only one profile
    reports it. Times are compared without a verdict, because they depend on the machine."""
    for finding in held.findings:
        status = "new finding" if finding.new else "no longer found"
        yield Answer(capital(f"{finding}."), capital(f"{status}: {finding.title}."))
    significant = [change for change in held.changes if change.significant]
    tested = sum(change.key not in TIMES for change in held.changes)
    share = f"{len(significant)} of {counted(tested, 'metric')}"
    sentence = f"Since {held.since}, {share} changed significantly"
    short = f"{sentence}."
    for better, word in ((True, "better"), (False, "worse")):
        changed = (change for change in significant if change.better is better)
        if selected := [
            f"{change.title} {fixed(change.change.value or 0, DECIMALS)}"
            f"{change.change.within(DECIMALS, '') if change.change.error else ''}"
            for change in changed
        ]:
            sentence += f"; {word}: {', '.join(selected)}"
    yield Answer(f"{sentence}.", short)
    themes = [change for change in held.changes if "." not in change.key]
    payoffs = [change for change in themes if profile.numbers[change.key].of.unit == ATTAINABLE]
    if payoffs:
        lines = Axis(names=tuple(change.title for change in payoffs))
        shapes: tuple[tuple[str, Shape], ...] = (("changed", "dot"), ("not significant", "ring"))
        layers = []
        for name, shape in shapes:
            marks = [
                _changed_mark(item) for item in payoffs if item.significant == (shape == "dot")
            ]
            layers += [Points(marks, name, "ink", shape)] if marks else []
        chart = Chart("", ATTAINABLE, layers, Axis(), lines)
        yield Charts("profile-changes", "Changes", [chart], wide=True)
    headers = (
        Header("what", "Metric"),
        number("before", held.since),
        number("after", profile.player),
        number("change", "Change"),
        Header("told", "Verdict"),
        number("detectable", "Detectable", about=DETECTABLE),
        Header("key", "In gates"),
    )
    rows = [_changed_row(change) for change in held.changes]
    yield ReportTable.of(
        "profile-changes-numbers", "Changes by metric", rows, headers, counts=COUNTS
    )


def _changed_mark(change: Change) -> Mark:
    estimate = change.change
    return Mark(estimate.value, change.title, str(change), x_ends=estimate.ends, size=6)


def _changed_row(change: Change) -> dict[str, Any]:
    verdict = VERDICTS[change.better].removeprefix(", ") or "changed"
    row = {name: getattr(change, name) for name in ("before", "after", "detectable")}
    row |= {"what": change.label, "key": f"{CHANGE}{change.key}"}
    row["told"] = verdict if change.significant else ""
    return row | estimated("change", change.change)


def _metrics(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """The main metric of each theme, compared with the baselines on the same instances."""
    rows = []
    for item in main_numbers(profile):
        values = [(its.value, name) for name, its in item.panel.items() if its.value is not None]
        low, high = (min(values), max(values)) if values else ((None, ""), (None, ""))
        names = f"{low[1]} to {high[1]}" if values else ""
        row = {"what": item.of.label, "unit": _unit(item), "low": low[0], "high": high[0]}
        rows.append(row | {"names": names} | estimated(profile.player, item.own))
    headers = (
        Header("what", "Metric"),
        number(profile.player, profile.player),
        number("low", "Lowest baseline"),
        number("high", "Highest baseline"),
        Header("names", "From, to"),
        Header("unit", "Unit"),
    )
    yield ReportTable.of("profile-metrics", "Metrics and baselines", rows, headers, counts=COUNTS)


def _weaknesses(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """All tested weaknesses, and the number of times that each trigger fired."""
    rows: list[dict[str, Any]] = []
    for weakness in profile.examination.weaknesses:
        fired = f"{weakness.tested:,} {weakness.unit}" if weakness.tested else "not tested"
        row: dict[str, Any] = {"what": capital(weakness.title), "fired": fired}
        row |= {name: getattr(weakness, name) for name in ("verdict", "p", "key")}
        row |= estimated("effect", weakness.effect if weakness.tested else Estimate(None))
        for kind in ("changed", "size", "signed"):
            row |= estimated(kind, getattr(weakness, kind) or Estimate(None))
        rows.append(row)
    headers = (
        Header("what", "The player ..."),
        Header("verdict", "Verdict"),
        Header("fired", "Trigger fired"),
        number("effect", "Effect", about=EFFECT),
        number("changed", "Course changed"),
        number("size", "Absolute change"),
        number("signed", "Signed change"),
        Header("p", "p", decimals=3, about="Not corrected for multiple tests."),
    )
    yield ReportTable.of(
        "profile-weaknesses", "Weaknesses tested", rows, headers, stacked=True, counts=COUNTS
    )


EFFECT = (
    "The share of opportunities, or the change of the moves, the earnings or the first demand. "
    "Findings are ordered by their effects."
)


def _theme(profile: Profile, theme: str, _: Evidence) -> Iterator[Shown]:
    numbers = [number for number in profile.numbers.values() if number.of.theme == theme]
    yield Answer(_sentence(profile, theme, numbers), f"{_first(profile, theme, numbers)}.")
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
    yield from highlight(evidence.store, profile)


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


def _first(profile: Profile, theme: str, numbers: list[Number]) -> str:
    if theme == "words":
        findings = profile.examination.findings
        titles = [finding.title for finding in findings if finding.key in profile.numbers]
        effects = ", ".join(titles) or "no effect was found"
        return f"Messages and {profile.player}: {effects}"
    scope = f", {numbers[0].of.scope}" if numbers[0].of.scope else ""
    value = fixed(numbers[0].own.value or 0, DECIMALS)
    sentence = f"{numbers[0].of.sentence.format(value)}{scope}"
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
    by_unit: dict[str, list[Number]] = {}
    for item in numbers:
        theme, _, variant = item.of.key.partition(".")
        if theme not in SPENT and (item.own.value or not (variant and theme == "failed")):
            by_unit.setdefault(_unit(item), []).append(item)
    return [_chart(profile, unit, charted) for unit, charted in by_unit.items()]


def _unit(number: Number) -> str:
    """Return a metric's unit and, if it has one, the better direction."""
    return f"{number.of.unit}; {number.of.good} is better" if number.of.good else number.of.unit


def _panel(profile: Profile) -> list[str]:
    return [name for name in profile.battery.panel if name != profile.player]


def _chart(profile: Profile, unit: str, numbers: list[Number]) -> Chart:
    layers: list[Points | Rule] = []
    for name in _panel(profile):
        marks = []
        for item in numbers:
            value = item.panel[name].value if name in item.panel else None
            text = f"{name}\n{item.of.title}: {fixed(value or 0, DECIMALS)}"
            marks += [] if value is None else [Mark(value, _line(item), text)]
        if marks:
            layers.append(Points(marks, name, shape="ring"))
    layers.append(Points([_mark(profile, number) for number in numbers], profile.player, "ink"))
    return Chart("", unit, layers, Axis(), Axis(names=tuple(map(_line, numbers))))


def _mark(profile: Profile, number: Number) -> Mark:
    estimate = number.own
    sentence = f"{number.of.title}: {fixed(estimate.value or 0, DECIMALS)}{_compared(number)}"
    text, lead = f"{profile.player}\n{sentence}", _lead(profile, number)
    return Mark(estimate.value, _line(number), text, lead, x_ends=estimate.ends, size=6)


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
    for item in numbers:
        row: dict[str, Any] = {name: getattr(item.of, name) for name in ("key", "unit", "about")}
        row |= {name: getattr(item, name) for name in ("rank", "p", "detectable")}
        row["what"] = _line(item)
        for name, its in {profile.player: item.own, **item.panel}.items():
            row |= estimated(name, its)
        rows.append(row)
    tested = any(item.p is not None for item in numbers)
    headers = (
        Header("what", "Metric"),
        number(profile.player, profile.player),
        *([Header("p", "p", decimals=3, about=PERMUTED)] if tested else []),
        number("detectable", "Detectable", about=DETECTABLE),
        Header("rank", "Rank", decimals=0),
        *(number(name, name, group="Baselines", spread=False) for name in members),
        Header("key", "In gates"),
    )
    return ReportTable.of(
        f"profile-{theme}-numbers",
        THEMES[theme],
        rows,
        headers,
        caption=f"{'. '.join(capital(unit) for unit in dict.fromkeys(map(_unit, numbers)))}.",
        leads=lambda row: _lead(profile, profile.numbers[row["key"]]),
        notes=tuple(_notes(numbers)),
        cure=_cure(profile, numbers),
        counts=COUNTS,
    )


def _cure(profile: Profile, numbers: list[Number]) -> str:
    """Return a note on the smallest size with enough instances for all of the given metrics."""
    estimates = [item.own for item in numbers]
    times = [own.wanted / own.clusters for own in estimates if own.wanted and own.clusters]
    larger = profile.battery.enough(profile.size, max(times)) if times else None
    return f"--size {larger} has enough." if larger else "No size has enough." if times else ""


def _notes(numbers: list[Number]) -> Iterator[str]:
    for about in dict.fromkeys(item.of.about for item in numbers):
        lines = [_line(item) for item in numbers if item.of.about == about]
        more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
        yield f"{lines[0]}{more}: {about}"
