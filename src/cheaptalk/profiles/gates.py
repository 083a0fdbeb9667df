"""Gates: what a number must be, decided by its interval and not by its mean."""

import math
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from scipy.special import stdtrit

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.comparisons import Change
from cheaptalk.profiles.metrics.quantities import known_keys
from cheaptalk.profiles.profiles import Profile
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.statistics.intervals import ENOUGH
from cheaptalk.text import fixed

CHANGE = "change."
"""Stands before the key of a number whose change since an earlier profile is meant."""
FINDINGS = "findings"
"""The key of the number of findings, which a gate decides without an interval."""
WRITTEN = re.compile(r"\s*([\w.-]+?)\s*(<=|>=)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*")


class Verdict(StrEnum):
    """What a gate decides."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    CANNOT_TELL = "cannot tell"


STATUS: Mapping[Verdict, int] = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.CANNOT_TELL: 3}
"""The exit status of each verdict; of several gates the first fail decides, then what is open."""


class Gate(NamedTuple):
    """What a number must be.

    Attributes:
        key: which number, or ``change.`` and which: what it is more than in an earlier profile.
        sign: ``>=`` where it must not be less, ``<=`` where it must not be more.
        limit: than this.
    """

    key: str
    sign: Literal["<=", ">="]
    limit: float

    def __str__(self) -> str:
        return f"{self.key} {self.sign} {self.limit:g}"

    @property
    def number(self) -> str:
        """The key of the number that it is about."""
        return self.key.removeprefix(CHANGE)

    @property
    def places(self) -> int:
        """Decimals with which its number is printed; findings are counted."""
        return 0 if self.key == FINDINGS else 3

    def holds(self, value: float) -> bool:
        """Whether a number that is known exactly passes."""
        return value >= self.limit if self.sign == ">=" else value <= self.limit

    @property
    def of_change(self) -> bool:
        """Whether it is about the change of the number."""
        return self.key.startswith(CHANGE)


class Decision(NamedTuple):
    """A gate with what a profile says to it.

    Attributes:
        gate: which one.
        verdict: passed, if the whole interval is on the right side; failed, if it is on the wrong
            one; else it cannot be told.
        held: what was held against it; None where nothing of it was played.
        size: of an open gate, the smallest size of the battery that would decide it if the mean
            stays, or the next larger size if the present one has too few instances to say that;
            None otherwise.
        why: why it cannot be told, where that is not for the number of matches; of what is told,
            what makes it less sure than it looks.
        scope: which matches the number covers, such as "against the baselines"; empty if all.
    """

    gate: Gate
    verdict: Verdict
    held: Estimate | None
    size: str | None = None
    why: str = ""
    scope: str = ""

    def __str__(self) -> str:
        """The decision in a sentence."""
        said = f"{self.gate}: {self.verdict.value}"
        if self.held is not None:
            places = self.gate.places
            said += f": {fixed(self.held.value or 0, places)}{self.held.within(places)}"
            said += f", {self.scope}" if self.scope else ""
        return f"{said}; {self.cure}" if self.cure else said

    @property
    def cure(self) -> str:
        """Why the gate is open and which size decides it; of a decided gate, why it is unsure."""
        if self.verdict is not Verdict.CANNOT_TELL or self.why:
            return self.why
        if self.size is None:
            return "no size of the battery would decide at this mean"
        return f"--size {self.size} would decide at this mean"


def gate(text: str, battery: Battery | None = None) -> Gate:
    """Read a gate, such as ``earned >= 0.45``.

    Args:
        battery: by which the profile is made that is to be held against it.

    Raises:
        CheaptalkError: it is none, or the battery yields no such number; the message names the
            nearest.
    """
    found = WRITTEN.fullmatch(text)
    if found is None:
        raise CheaptalkError(f'"{text}" is no gate; write NUMBER >= LIMIT or NUMBER <= LIMIT')
    sign: Literal["<=", ">="] = "<=" if found[2] == "<=" else ">="
    read = Gate(found[1], sign, float(found[3]))
    known = [] if battery is None else known_keys(battery)
    known += [] if read.of_change else [FINDINGS]
    if battery is not None and read.number not in known:
        raise CheaptalkError(
            f"a profile by {battery.name} has no number {suggest(read.number, known)}"
        )
    if read.key == FINDINGS and read.holds(0) == read.holds(math.inf):
        result = "pass" if read.holds(0) else "fail"
        raise CheaptalkError(
            f'the gate "{text}" would always {result}, because findings are 0 or more; write '
            f"{FINDINGS} <= 0"
        )
    return read


def decide(profile: Profile, wanted: Gate, changed: Sequence[Change] = ()) -> Decision:
    """Hold a gate against a profile.

    The interval decides; a number that can only be what it is decides by itself. Nothing
    but the numbers of reliability is told of a player that forfeited most of its matches, since all
    others are of the rest.

    Args:
        changed: what has changed since an earlier profile, for gates on changes.

    Raises:
        CheaptalkError: no profile by the battery has such a number; the message names the nearest.
    """
    if wanted.key == FINDINGS:
        return _on_findings(profile, wanted)
    known = profile.numbers.get(wanted.number)
    decision = _on_number(profile, wanted, changed)
    return decision if known is None else decision._replace(scope=known.of.scope)


def _on_number(profile: Profile, wanted: Gate, changed: Sequence[Change]) -> Decision:
    """Decide a gate on a number or its change."""
    if wanted.number not in profile.numbers and wanted.number in known_keys(profile.battery):
        return Decision(wanted, Verdict.CANNOT_TELL, None, why="nothing is known of it")
    number = profile.number(wanted.number)
    one = number.own
    if wanted.of_change:
        since = {change.key: change.change for change in changed}
        if wanted.number not in since:
            why = "nothing of it was played in both profiles"
            return Decision(wanted, Verdict.CANNOT_TELL, None, why=why)
        one = since[wanted.number]
        if one.value == 0 and one.low is None and (one.clusters or 0) > 1:
            one = one._replace(low=0.0, high=0.0)  # the same in every pair: nothing has changed
    if number.of.theme != "reliable" and profile.mostly_forfeited:
        why = "most matches were forfeited, and this is of the others"
        return Decision(wanted, Verdict.CANNOT_TELL, one, why=why)
    freedom = number.freedom if one is number.own else None
    return _held(profile, wanted, one, freedom or max(1, (one.clusters or 0) - 1))


def _on_findings(profile: Profile, wanted: Gate) -> Decision:
    """Decide a gate on the number of findings.

    It needs no interval: the tests behind the findings already limit the chance of a false one.
    """
    names = [one.title for one in profile.examination.findings]
    passes = wanted.holds(len(names))
    verdict = Verdict.PASS if passes else Verdict.FAIL
    why = ", ".join(names)
    unsure = profile.mostly_forfeited or profile.unplayed or not profile.examination.tested
    if passes and unsure:
        verdict, why = Verdict.CANNOT_TELL, "not all matches were finished"
    return Decision(wanted, verdict, Estimate(float(len(names))), why=why)


def _held(profile: Profile, wanted: Gate, one: Estimate, freedom: float) -> Decision:
    """What an estimate says to a gate."""
    value = one.value if one.value is not None else math.nan
    low, high = (value, value) if one.error == 0 and one.low is None else (one.low, one.high)
    up = wanted.sign == ">="
    if low is None or high is None:
        return Decision(wanted, Verdict.CANNOT_TELL, one, why=_no_interval(profile, one))
    if (low >= wanted.limit) if up else (high <= wanted.limit):
        return Decision(wanted, Verdict.PASS, one, why=_few(profile, one))
    if (high < wanted.limit) if up else (low > wanted.limit):
        return Decision(wanted, Verdict.FAIL, one, why=_few(profile, one))
    return _open(profile, wanted, one, freedom)


def _no_interval(profile: Profile, one: Estimate) -> str:
    """Return why an estimate has no interval."""
    clusters = one.clusters or 0
    if clusters > 1 and not one.error:
        return "it never varied within a configuration, so that nothing shows how much it can"
    more = profile.battery.enough(profile.size, 2)
    few = "one instance gives" if clusters == 1 else f"{clusters} instances give"
    few = f"{few} no interval" if clusters else "its values are equal by selection"
    return few + (f"; --size {more} has more" if more else "")


def _open(profile: Profile, wanted: Gate, one: Estimate, freedom: float) -> Decision:
    """Return an open gate with the size that decides it.

    An interval of few instances may be much wider or narrower than it should be, so that no size
    is extrapolated from it.

    Args:
        freedom: degrees of freedom of ``one.error``.
    """
    sizes = profile.battery.larger(profile.size)
    varied_in_few = bool(one.error) and (one.wanted is not None or freedom < ENOUGH - 1)
    deciding = [name for name, times in sizes.items()
                if not varied_in_few and _decides(wanted, one, freedom, times)]  # fmt: skip
    if deciding:
        return Decision(wanted, Verdict.CANNOT_TELL, one, deciding[0])
    if not varied_in_few and (one.clusters or 0) >= ENOUGH:
        return Decision(wanted, Verdict.CANNOT_TELL, one)
    following = next(iter(sizes), None)
    why = f"{profile.size} has too few instances to say which size would decide"
    why += f"; the next is --size {following}" if following else ", and no size has more"
    return Decision(wanted, Verdict.CANNOT_TELL, one, following, why=why)


def _decides(wanted: Gate, one: Estimate, freedom: float, times: float) -> bool:
    """Return whether an interval of so many times the instances excludes the limit, if the mean
    stays.

    The end of an interval is a quantile of Student's t times the standard error away from the mean,
    or, if nothing varied, as far as an event can be that none of the instances showed.
    """
    value, low, high = one.value or 0.0, one.low or 0.0, one.high or 0.0
    reach = value - low if value >= wanted.limit else high - value
    if one.error:
        narrower = stdtrit(times * freedom, 0.975) / stdtrit(freedom, 0.975) / times**0.5
    else:
        clusters = one.clusters or 1
        narrower = _unseen(times * clusters) / _unseen(clusters)
    return bool(reach * narrower < abs(value - wanted.limit))


def _unseen(clusters: float) -> float:
    """Return the probability of an event that so many clusters miss in 5 % of samples."""
    return float(1 - 0.05 ** (1 / clusters))


def _few(profile: Profile, one: Estimate) -> str:
    """What is said of an interval of so few deals that it may be too narrow, and of none; else
    nothing."""
    if not one.wanted or not one.clusters:
        return ""
    larger = profile.battery.enough(profile.size, one.wanted / one.clusters)
    more = f"; --size {larger} has enough" if larger else ""
    return f"of few deals, and may be less sure than that{more}"


def status(decisions: Sequence[Decision]) -> int:
    """The exit status of several gates together: 1 if one failed, else 3 if one cannot be told."""
    found = {one.verdict for one in decisions}
    worst = next((one for one in (Verdict.FAIL, Verdict.CANNOT_TELL) if one in found), Verdict.PASS)
    return STATUS[worst]


def junit(player: str, decisions: Sequence[Decision]) -> str:
    """Return gates as JUnit XML; an undecided gate is an error, so that no tool shows a pass."""
    verdicts = [decision.verdict for decision in decisions]
    suite = ElementTree.Element(
        "testsuite", name=f"profile of {player}", tests=str(len(verdicts)),
        failures=str(verdicts.count(Verdict.FAIL)),
        errors=str(verdicts.count(Verdict.CANNOT_TELL)),
    )  # fmt: skip
    for one in decisions:
        case = ElementTree.SubElement(suite, "testcase", name=str(one.gate), classname=player)
        if one.verdict is not Verdict.PASS:
            kind = "failure" if one.verdict is Verdict.FAIL else "error"
            ElementTree.SubElement(case, kind, message=str(one))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
