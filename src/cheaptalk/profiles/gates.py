"""Gates: what a number must be, decided by its interval and not by its mean."""

import math
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.profiles import Number, Profile
from cheaptalk.profiles.quantities import known_keys
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.text import fixed

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
        key: which number.
        sign: ``>=`` where it must not be less, ``<=`` where it must not be more.
        limit: than this.
    """

    key: str
    sign: Literal["<=", ">="]
    limit: float

    def __str__(self) -> str:
        return f"{self.key} {self.sign} {self.limit:g}"


class Decision(NamedTuple):
    """A gate with what a profile says to it.

    Attributes:
        gate: which one.
        verdict: passed, if the whole interval is on the right side; failed, if it is on the wrong
            one; else it cannot be told.
        number: what was held against it; None where nothing of it was played.
        size: the smallest size of the battery that would tell, if the mean stays; None where it is
            told, or where no size would.
        why: why it cannot be told, where that is not for the number of matches.
    """

    gate: Gate
    verdict: Verdict
    number: Number | None
    size: str | None = None
    why: str = ""

    def __str__(self) -> str:
        """The decision in a sentence."""
        said = f"{self.gate}: {self.verdict.value}"
        if self.number is not None:
            one = self.number.own
            said += f": {fixed(one.value or 0, 3)}{one.within(3)}"
        if self.verdict is not Verdict.CANNOT_TELL:
            return said
        if self.why:
            return f"{said}; {self.why}"
        if self.size is None:
            return f"{said}; no size of the battery would tell at this mean"
        return f"{said}; --size {self.size} would tell at this mean"


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
    if battery is not None and found[1] not in (known := known_keys(battery)):
        raise CheaptalkError(
            f"a profile by {battery.name} has no number {suggest(found[1], known)}"
        )
    sign: Literal["<=", ">="] = "<=" if found[2] == "<=" else ">="
    return Gate(found[1], sign, float(found[3]))


def decide(profile: Profile, wanted: Gate) -> Decision:
    """Hold a gate against a profile.

    The interval decides: a number that did not vary and has no interval decides by itself. Nothing
    but the numbers of reliability is told of a player that forfeited most of its matches, since all
    others are of the rest.

    Raises:
        CheaptalkError: no profile by the battery has such a number; the message names the nearest.
    """
    if wanted.key not in profile.numbers and wanted.key in known_keys(profile.battery):
        why = "nothing is known of it"
        return Decision(wanted, Verdict.CANNOT_TELL, None, why=why)
    number = profile.number(wanted.key)
    if number.of.theme != "reliable" and profile.mostly_forfeited:
        why = "most matches were forfeited, and this is of the others"
        return Decision(wanted, Verdict.CANNOT_TELL, number, why=why)
    one = number.own
    value = one.value if one.value is not None else math.nan
    low = value if one.low is None and one.error == 0 else one.low
    high = value if one.high is None and one.error == 0 else one.high
    up = wanted.sign == ">="
    if low is None or high is None:
        return Decision(wanted, Verdict.CANNOT_TELL, number, _larger(profile, math.inf))
    if (low >= wanted.limit) if up else (high <= wanted.limit):
        return Decision(wanted, Verdict.PASS, number)
    if (high < wanted.limit) if up else (low > wanted.limit):
        return Decision(wanted, Verdict.FAIL, number)
    reach = value - low if value >= wanted.limit else high - value
    distance = abs(value - wanted.limit)
    times = (reach / distance) ** 2 if distance else math.inf
    return Decision(wanted, Verdict.CANNOT_TELL, number, _larger(profile, times))


def _larger(profile: Profile, times: float) -> str | None:
    """The smallest size with so many times the deals of a profile, as the ends of an interval come
    nearer to its mean with the root of their number; None where there is none."""
    sizes = profile.battery.sizes
    now = sizes[profile.size]
    enough = [name for name, deals in sizes.items() if deals > now and deals >= times * now]
    return min(enough, key=lambda name: sizes[name], default=None)


def status(decisions: list[Decision]) -> int:
    """The exit status of several gates together: 1 if one failed, else 3 if one cannot be told."""
    found = {one.verdict for one in decisions}
    worst = next((one for one in (Verdict.FAIL, Verdict.CANNOT_TELL) if one in found), Verdict.PASS)
    return STATUS[worst]


def junit(profile: Profile, decisions: list[Decision]) -> str:
    """Gates as JUnit XML: tests that passed, failed, or were skipped where nobody can tell."""
    found = [one.verdict for one in decisions]
    suite = ElementTree.Element(
        "testsuite", name=f"profile of {profile.player}", tests=str(len(found)),
        failures=str(found.count(Verdict.FAIL)), skipped=str(found.count(Verdict.CANNOT_TELL)),
    )  # fmt: skip
    for one in decisions:
        case = ElementTree.SubElement(
            suite, "testcase", name=str(one.gate), classname=profile.player
        )
        if one.verdict is not Verdict.PASS:
            kind = "failure" if one.verdict is Verdict.FAIL else "skipped"
            ElementTree.SubElement(case, kind, message=str(one))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
