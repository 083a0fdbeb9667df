"""Gates: pass or fail criteria on metrics, decided by confidence intervals."""

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.comparisons import Change
from cheaptalk.profiles.metrics.definitions import known_keys
from cheaptalk.profiles.profiles import Number, Profile
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.statistics.limits import t_quantile, unseen_share
from cheaptalk.text import fixed

CHANGE = "change."
"""The prefix of keys of changes since an earlier profile."""
FINDINGS = "findings"
"""The key of the number of findings, which a gate decides without an interval."""
WRITTEN = re.compile(r"\s*([\w.-]+?)\s*(<=|>=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*")


class Verdict(StrEnum):
    """The possible verdicts on a pass/fail criterion: passed, failed or open."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    OPEN = "open"


class Gate(NamedTuple):
    """A pass/fail criterion on a metric.

    Attributes:
        key: the key of a metric; with the prefix ``change.``, the change since an earlier profile.
        sign: ``>=`` for a minimum, ``<=`` for a maximum.
    """

    key: str
    sign: Literal["<=", ">="]
    limit: float

    def __str__(self) -> str:
        return f"{self.key} {self.sign} {self.limit:g}"

    @property
    def number(self) -> str:
        """The metric's key, without the prefix that marks criteria on a change."""
        return self.key.removeprefix(CHANGE)

    @property
    def decimals(self) -> int:
        """Number of decimals of the printed value."""
        return 0 if self.key == FINDINGS else 3

    def holds(self, value: float) -> bool:
        """Return whether a value satisfies the criterion."""
        return value >= self.limit if self.sign == ">=" else value <= self.limit

    @property
    def of_change(self) -> bool:
        """Whether the criterion applies to the metric's change since an earlier profile."""
        return self.key.startswith(CHANGE)


class Decision(NamedTuple):
    """The verdict on a pass/fail criterion for one profile.

    Attributes:
        verdict: passed or failed if the whole interval is on one side of the limit; otherwise open.
        held: the estimate of the metric; None if no match has the metric.
        size: for an open gate, the smallest size that decides the gate if the mean stays the same,
            or the next larger size if there are too few instances to estimate this; otherwise None.
        why: for an open gate, a reason other than the number of matches; otherwise a caution.
        scope: the matches that the metric covers, such as "against the baselines"; empty for all.
    """

    gate: Gate
    verdict: Verdict
    held: Estimate | None
    size: str | None = None
    why: str = ""
    scope: str = ""

    def __str__(self) -> str:
        sentence = f"{self.gate}: {self.verdict.value}"
        if self.held is not None:
            decimals = self.gate.decimals
            sentence += f": {fixed(self.held.value or 0, decimals)}{self.held.within(decimals)}"
            sentence += f", {self.scope}" if self.scope else ""
        return f"{sentence}; {self.cure}" if self.cure else sentence

    @property
    def cure(self) -> str:
        """An explanation of an undecided criterion, or a caution about a decided one."""
        if self.verdict is not Verdict.OPEN or self.why:
            return self.why
        if self.size is None:
            return "if the mean stays the same, no size of the battery can decide this gate"
        return f"if the mean stays the same, --size {self.size} can decide this gate"


def gate(text: str, battery: Battery | None = None) -> Gate:
    """Parse a pass/fail criterion, such as ``earned >= 0.45``.

    Raises:
        CheaptalkError: the text is not a gate, or the battery has no such metric.
    """
    match = WRITTEN.fullmatch(text)
    if match is None:
        raise CheaptalkError(f'"{text}" is not a gate; write METRIC >= LIMIT or METRIC <= LIMIT')
    sign: Literal["<=", ">="] = "<=" if match[2] == "<=" else ">="
    read = Gate(match[1], sign, float(match[3]))
    keys = [] if battery is None else known_keys(battery)
    keys += [] if read.of_change else [FINDINGS]
    if battery is not None and read.number not in keys:
        raise CheaptalkError(
            f"a profile by {battery.name} has no metric {suggest(read.number, keys)}"
        )
    if read.key == FINDINGS and read.holds(0) == read.holds(math.inf):
        result = "pass" if read.holds(0) else "fail"
        raise CheaptalkError(
            f'the gate "{text}" would always {result}, because findings are 0 or more; write '
            f"{FINDINGS} <= 0"
        )
    return read


def decide(profile: Profile, criterion: Gate, changed: Sequence[Change] = ()) -> Decision:
    """Decide whether a profile passes a gate.

    The confidence interval of the metric decides, or the value if it has no uncertainty. If the
    player forfeited most of its matches, only gates on metrics of reliability are decided, because
    other metrics cover only the remaining matches.

    Args:
        changed: the changes since an earlier profile, for gates on changes.

    Raises:
        CheaptalkError: the battery has no such metric.
    """
    if criterion.key == FINDINGS:
        return _on_findings(profile, criterion)
    if criterion.number not in profile.numbers and criterion.number in known_keys(profile.battery):
        return Decision(criterion, Verdict.OPEN, None, why="no finished match has this metric")
    number = profile.number(criterion.number)
    decision = _on_number(profile, criterion, number, changed)
    return decision._replace(scope=number.of.scope)


def _on_number(
    profile: Profile, criterion: Gate, number: Number, changed: Sequence[Change]
) -> Decision:
    """Decide whether a metric or its change passes a gate."""
    estimate = number.own
    if criterion.of_change:
        since = {change.key: change.change for change in changed}
        if criterion.number not in since:
            why = "the two profiles have no matches in common for this metric"
            return Decision(criterion, Verdict.OPEN, None, why=why)
        estimate = since[criterion.number]
        if estimate.value == 0 and estimate.low is None and (estimate.clusters or 0) > 1:
            estimate = estimate._replace(low=0.0, high=0.0)  # no difference in any pair
    if number.of.theme != "reliable" and profile.mostly_forfeited:
        why = "most matches were forfeited, and the metric covers only the others"
        return Decision(criterion, Verdict.OPEN, estimate, why=why)
    freedom = number.freedom if estimate is number.own else None
    return _held(profile, criterion, estimate, freedom or max(1, (estimate.clusters or 0) - 1))


def _on_findings(profile: Profile, criterion: Gate) -> Decision:
    """Decide a gate on the number of findings, whose tests already limit false findings."""
    names = [finding.title for finding in profile.examination.findings]
    passes = criterion.holds(len(names))
    verdict = Verdict.PASS if passes else Verdict.FAIL
    why = ", ".join(names)
    unsure = profile.mostly_forfeited or profile.unplayed or not profile.examination.tested
    if passes and unsure:
        verdict, why = Verdict.OPEN, "some matches are not finished"
    return Decision(criterion, verdict, Estimate(float(len(names))), why=why)


def _held(profile: Profile, criterion: Gate, estimate: Estimate, freedom: float) -> Decision:
    low, high = estimate.low, estimate.high
    if estimate.error == 0 and low is None:
        low = high = math.nan if estimate.value is None else estimate.value
    up = criterion.sign == ">="
    if low is None or high is None:
        return Decision(criterion, Verdict.OPEN, estimate, why=_no_interval(profile, estimate))
    if (low >= criterion.limit) if up else (high <= criterion.limit):
        return Decision(criterion, Verdict.PASS, estimate, why=_few(profile, estimate))
    if (high < criterion.limit) if up else (low > criterion.limit):
        return Decision(criterion, Verdict.FAIL, estimate, why=_few(profile, estimate))
    return _open(profile, criterion, estimate, freedom)


def _no_interval(profile: Profile, estimate: Estimate) -> str:
    """Return the reason why an estimate has no confidence interval."""
    clusters = estimate.clusters or 0
    if clusters > 1 and not estimate.error:
        return "the metric never varied within a configuration, so its variation is unknown"
    more = profile.battery.enough(profile.size, 2)
    few = "one instance gives" if clusters == 1 else f"{clusters} instances give"
    few = f"{few} no interval" if clusters else "equal values give no interval"
    return few + (f"; --size {more} has more" if more else "")


def _open(profile: Profile, criterion: Gate, estimate: Estimate, freedom: float) -> Decision:
    """Return an undecided gate, with the size that would decide it if this can be estimated."""
    sizes = profile.battery.larger(profile.size)
    varied_in_few = bool(estimate.error) and (estimate.wanted is not None or freedom < ENOUGH - 1)
    if not varied_in_few:
        for name, times in sizes.items():
            if _decides(criterion, estimate, freedom, times):
                return Decision(criterion, Verdict.OPEN, estimate, name)
        if (estimate.clusters or 0) >= ENOUGH:
            return Decision(criterion, Verdict.OPEN, estimate)
    following = next(iter(sizes), None)
    why = f"{profile.size} has too few instances to estimate which size can decide this gate"
    why += f"; try --size {following}" if following else ", and no size has more"
    return Decision(criterion, Verdict.OPEN, estimate, following, why=why)


def _decides(criterion: Gate, estimate: Estimate, freedom: float, times: float) -> bool:
    """Return whether ``times`` as many instances would decide a gate if the mean stayed the same.

    The distance from the mean to a bound is a quantile of Student's t times the standard error. If
    all values are equal, it is the largest probability of an event that no instance showed.
    """
    value, low, high = estimate.value or 0.0, estimate.low or 0.0, estimate.high or 0.0
    reach = value - low if value >= criterion.limit else high - value
    if estimate.error:
        narrower = t_quantile(times * freedom) / t_quantile(freedom) / times**0.5
    else:
        clusters = estimate.clusters or 1
        narrower = unseen_share(times * clusters) / unseen_share(clusters)
    return bool(reach * narrower < abs(value - criterion.limit))


def _few(profile: Profile, estimate: Estimate) -> str:
    """Return a caution if an interval is based on too few instances; otherwise an empty text."""
    if not estimate.wanted or not estimate.clusters:
        return ""
    larger = profile.battery.enough(profile.size, estimate.wanted / estimate.clusters)
    more = f"; --size {larger} has enough" if larger else ""
    return f"based on few instances, so the interval may be too narrow{more}"


def exit_status(decisions: Sequence[Decision]) -> int:
    """Return the exit status of several gates: 1 if one failed, else 3 if one is open, else 0."""
    verdicts = {decision.verdict for decision in decisions}
    return 1 if Verdict.FAIL in verdicts else 3 if Verdict.OPEN in verdicts else 0


def junit(player: str, decisions: Sequence[Decision]) -> str:
    """Return the outcomes of gates as JUnit XML, with open gates as errors."""
    verdicts = [decision.verdict for decision in decisions]
    counts = {"tests": len(verdicts), "failures": verdicts.count(Verdict.FAIL)}
    counts["errors"] = verdicts.count(Verdict.OPEN)
    attributes = {"name": f"profile of {player}"} | {key: str(n) for key, n in counts.items()}
    suite = ElementTree.Element("testsuite", attributes)
    for item in decisions:
        case = ElementTree.SubElement(suite, "testcase", name=str(item.gate), classname=player)
        if item.verdict is not Verdict.PASS:
            kind = "failure" if item.verdict is Verdict.FAIL else "error"
            ElementTree.SubElement(case, kind, message=str(item))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
