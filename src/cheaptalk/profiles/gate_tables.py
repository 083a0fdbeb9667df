"""Sections of a profile's page: pass/fail gates, and changes since an earlier profile."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.profiles.comparisons import TIMES, VERDICTS, Change, FindingChange
from cheaptalk.profiles.gates import CHANGE, Decision, Verdict
from cheaptalk.profiles.metrics.definitions import ATTAINABLE
from cheaptalk.profiles.profiles import DECIMALS, Profile
from cheaptalk.reports.charts.chart import Axis, Chart, Mark, Points, Shape
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, RecipePart, Shown
from cheaptalk.reports.recipes.tables import Estimate, Header, ReportTable, estimated
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


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


def table(
    key: str,
    title: str,
    rows: Sequence[Mapping[str, Any]],
    headers: Sequence[Header],
    **options: Any,
) -> ReportTable:
    """Return a table of a profile's page."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return ReportTable(key, title, frame, tuple(headers), counts=COUNTS, **options)


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
    yield table("profile-gates", "Gates", rows, headers)


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
            marks = [_mark(item) for item in payoffs if item.significant == (shape == "dot")]
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
    rows = [_row(change) for change in held.changes]
    yield table("profile-changes-numbers", "Changes by metric", rows, headers)


def _mark(change: Change) -> Mark:
    low, high = change.change.low, change.change.high
    ends = None if low is None or high is None else (low, high)
    return Mark(change.change.value, change.title, str(change), x_ends=ends, size=6)


def _row(change: Change) -> dict[str, Any]:
    verdict = VERDICTS[change.better].removeprefix(", ") or "changed"
    row = {name: getattr(change, name) for name in ("before", "after", "detectable")}
    row |= {"what": change.label, "key": f"{CHANGE}{change.key}"}
    row["told"] = verdict if change.significant else ""
    return row | estimated("change", change.change)
