"""Sections of a profile's page: pass/fail gates, and changes since an earlier profile."""

from collections.abc import Iterator, Sequence
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
    rows = [
        {
            "gate": ", ".join(filter(None, (str(decision.gate), decision.scope))),
            "verdict": decision.verdict.value,
            "cure": decision.cure,
            "decimals": decision.gate.decimals,
        }
        | estimated("number", decision.held or Estimate(None))
        for decision in held.decisions
    ]
    yield ReportTable(
        "profile-gates", "Gates", pl.DataFrame(rows, infer_schema_length=None),
        (Header("gate", "Gate"), Header("verdict", "Verdict"),
         Header("number", "Value", decimals="decimals"), Header("cure", "Remarks")),
        counts=COUNTS,
    )  # fmt: skip


def _changes(profile: Profile, held: Gated, _: Evidence) -> Iterator[Shown]:
    """Differences between this profile and the earlier one, computed from paired matches.
    Pairs share the instance, seat and opponent. Filled dots are significant changes, by a test
    corrected for all metrics; rings are other changes. Whiskers are 95 % intervals of single
    metrics, some of which exclude 0 by chance. A finding is new or disappears if only one profile
    reports it. Times are compared without a verdict, because they depend on the machine."""
    yield from (Answer(capital(f"{finding}."), _finding(finding)) for finding in held.findings)
    significant = [change for change in held.changes if change.significant]
    tested = sum(change.key not in TIMES for change in held.changes)
    share = f"{len(significant)} of {counted(tested, 'metric')}"
    sentence = f"Since {held.since}, {share} changed significantly"
    short = f"{sentence}."
    for better, word in ((True, "better"), (False, "worse")):
        if selected := [_changed(change) for change in significant if change.better is better]:
            sentence += f"; {word}: {', '.join(selected)}"
    yield Answer(f"{sentence}.", short)
    themes = [change for change in held.changes if "." not in change.key]
    payoffs = [change for change in themes if profile.numbers[change.key].of.unit == ATTAINABLE]
    if payoffs:
        lines = Axis(names=tuple(change.title for change in payoffs))
        layers = [
            Points([_mark(mark) for mark in marks], name, "ink", shape)
            for name, shape, marks in _by_verdict(payoffs) if marks
        ]  # fmt: skip
        chart = Chart("", ATTAINABLE, layers, Axis(), lines)
        yield Charts("profile-changes", "Changes", [chart], wide=True)
    yield ReportTable(
        "profile-changes-numbers", "Changes by metric",
        pl.DataFrame([_row(change) for change in held.changes], infer_schema_length=None),
        (Header("what", "Metric"), Header("before", held.since, decimals=DECIMALS),
         Header("after", profile.player, decimals=DECIMALS),
         Header("change", "Change", decimals=DECIMALS), Header("told", "Verdict"),
         Header("detectable", "Detectable", decimals=DECIMALS, about=DETECTABLE),
         Header("key", "In gates")),
        counts=COUNTS,
    )  # fmt: skip


def _by_verdict(changes: Sequence[Change]) -> Iterator[tuple[str, Shape, list[Change]]]:
    """Yield the significant and the other changes, with a label and marker for the chart."""
    yield "changed", "dot", [change for change in changes if change.significant]
    yield "not significant", "ring", [change for change in changes if not change.significant]


def _mark(change: Change) -> Mark:
    low, high = change.change.low, change.change.high
    ends = None if low is None or high is None else (low, high)
    return Mark(change.change.value, change.title, str(change), x_ends=ends, size=6)


def _row(change: Change) -> dict[str, Any]:
    verdict = VERDICTS[change.better].removeprefix(", ") or "changed"
    return {
        "what": change.label, "key": f"{CHANGE}{change.key}", "before": change.before,
        "after": change.after,
        "told": verdict if change.significant else "", "detectable": change.detectable,
    } | estimated("change", change.change)  # fmt: skip


def _finding(finding: FindingChange) -> str:
    return capital(f"{'new finding' if finding.new else 'no longer found'}: {finding.title}.")


def _changed(change: Change) -> str:
    within = change.change.within(DECIMALS, "") if change.change.error else ""
    return f"{change.title} {fixed(change.change.value or 0, DECIMALS)}{within}"
