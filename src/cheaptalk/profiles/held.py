"""What a profile is held against, gates and an earlier profile, as parts of its page."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.profiles.comparisons import TIMES, VERDICTS, Change, FindingChange
from cheaptalk.profiles.gates import CHANGE, Decision, Verdict
from cheaptalk.profiles.metrics.stakes import ATTAINABLE
from cheaptalk.profiles.profiles import PLACES, Profile
from cheaptalk.reports.charts.chart import Axis, Chart, Mark, Points, Shape
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts, RecipePart, Shown
from cheaptalk.reports.recipes.tables import (
    Estimate,
    Header,
    ReportTable,
    estimated,
)
from cheaptalk.rules import counted
from cheaptalk.text import capital, fixed


class Held(NamedTuple):
    """What a profile is held against.

    Attributes:
        decisions: what it says to each gate.
        since: whose earlier profile it is compared with; empty without.
        changes: what has changed since.
        findings: the findings that are new or vanished since.
    """

    decisions: Sequence[Decision] = ()
    since: str = ""
    changes: Sequence[Change] = ()
    findings: Sequence[FindingChange] = ()


NOTHING = Held()
DETECTABLE = (
    "The smallest effect that this size detects with 80 % power, at the level actually used."
)
COUNTS = ("match", "deal")
"""What the numbers of a profile are of, and what shares its luck."""


def held_parts(profile: Profile, held: Held) -> Iterator[RecipePart]:
    """The parts of a page that stand before its themes: gates, changes and failed matches."""
    if held.decisions:
        yield RecipePart("Gates", "", partial(_gates, held))
    if held.changes:
        yield RecipePart("Changes", "", partial(_changes, profile, held))
    if profile.failed:
        yield RecipePart("Matches without a result", "", partial(_failures, profile))


def _failures(profile: Profile, _: Evidence) -> Iterator[Shown]:
    """Matches that failed for another reason than play, such as a server that broke, or that a
    halted run left. They are neither forfeits nor in any number; the same command plays them.
    """
    yield Answer(f"{profile.failed}.")


def _gates(held: Held, _: Evidence) -> Iterator[Shown]:
    """The end of an interval that is the worse for a gate decides, not its mean."""
    verdicts = [one.verdict for one in held.decisions]
    failed, open_ = verdicts.count(Verdict.FAIL), verdicts.count(Verdict.CANNOT_TELL)
    said = f"{verdicts.count(Verdict.PASS)} of {len(verdicts)} pass"
    said += f", {failed} fail" if failed else ""
    yield Answer(f"{said}, {open_} cannot be told." if open_ else f"{said}.")
    rows = [
        {
            "gate": ", ".join(filter(None, (str(one.gate), one.scope))),
            "verdict": one.verdict.value,
            "cure": one.cure,
            "decimals": one.gate.places,
        }
        | estimated("number", one.held or Estimate(None))
        for one in held.decisions
    ]
    yield ReportTable(
        "profile-gates", "What each says", pl.DataFrame(rows, infer_schema_length=None),
        (Header("gate", "Gate"), Header("verdict", "Verdict"),
         Header("number", "Number", places="decimals"), Header("cure", "How sure")),
        counts=COUNTS,
    )  # fmt: skip


def _changes(profile: Profile, held: Held, _: Evidence) -> Iterator[Shown]:
    """Now less before, pair by pair: the same instance, seat and opponent. Filled dots mark
    changes beyond chance, by a test that is corrected for all numbers; the other changes have
    rings. Whiskers are 95 % intervals of single numbers: some exclude 0 by chance. A finding is new
    or vanishes if only one of the two profiles names it; times are compared without a verdict,
    because they depend on the machine.
    """
    yield from (Answer(capital(f"{one}."), _finding(one)) for one in held.findings)
    told = [one for one in held.changes if one.told]
    tested = sum(one.key not in TIMES for one in held.changes)
    said = f"Since {held.since} {len(told)} of {counted(tested, 'number')} changed"
    short = f"{said}."
    for better, what in ((True, "better"), (False, "worse")):
        if some := [_changed(one) for one in told if one.better is better]:
            said += f"; {what}: {', '.join(some)}"
    yield Answer(f"{said}.", short)
    themes = [one for one in held.changes if "." not in one.key]
    alike = [one for one in themes if profile.numbers[one.key].of.unit == ATTAINABLE]
    if alike:
        lines = Axis(names=tuple(one.title for one in alike))
        layers = [
            Points([_mark(one) for one in marks], name, "ink", shape)
            for name, shape, marks in _by_verdict(alike) if marks
        ]  # fmt: skip
        chart = Chart("", ATTAINABLE, layers, Axis(), lines)
        yield Charts("profile-changes", "Changes", [chart], wide=True)
    yield ReportTable(
        "profile-changes-numbers", "Number by number",
        pl.DataFrame([_row(one) for one in held.changes], infer_schema_length=None),
        (Header("what", "Number"), Header("before", held.since, places=PLACES),
         Header("after", profile.player, places=PLACES),
         Header("change", "Change", places=PLACES), Header("told", "Verdict"),
         Header("detectable", "Detectable", places=PLACES, about=DETECTABLE),
         Header("key", "In gates")),
        counts=COUNTS,
    )  # fmt: skip


def _by_verdict(changes: Sequence[Change]) -> Iterator[tuple[str, Shape, list[Change]]]:
    """Yield the changes beyond chance and the others, with how a chart calls and draws them."""
    yield "changed", "dot", [one for one in changes if one.told]
    yield "not beyond chance", "ring", [one for one in changes if not one.told]


def _mark(one: Change) -> Mark:
    low, high = one.change.low, one.change.high
    ends = None if low is None or high is None else (low, high)
    return Mark(one.change.value, one.title, str(one), x_ends=ends, size=6)


def _row(one: Change) -> dict[str, Any]:
    verdict = VERDICTS[one.better].removeprefix(", ") or "changed"
    return {
        "what": one.label, "key": f"{CHANGE}{one.key}", "before": one.before, "after": one.after,
        "told": verdict if one.told else "", "detectable": one.detectable,
    } | estimated("change", one.change)  # fmt: skip


def _finding(one: FindingChange) -> str:
    return capital(f"{'new finding' if one.new else 'no longer found'}: {one.title}.")


def _changed(one: Change) -> str:
    within = one.change.within(PLACES, "") if one.change.error else ""
    return f"{one.title} {fixed(one.change.value or 0, PLACES)}{within}"
