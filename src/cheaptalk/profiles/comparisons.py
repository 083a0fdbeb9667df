"""Two profiles of one battery, compared number by number over pairs of twin matches."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.metrics.detection import detectable_effect, permits
from cheaptalk.profiles.metrics.means import CLUSTER, mean_differences
from cheaptalk.profiles.metrics.quantities import ANYTHING
from cheaptalk.profiles.profiles import FORMAT, LEVEL, PAIR, PAIRED, SAME, Profile
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.bounds import SLACK, Bounds
from cheaptalk.rules.errors import first_line
from cheaptalk.statistics import holm, mean_intervals, permutation_test
from cheaptalk.text import fixed

OLD_FORMATS = (1,)
"""Formats of profiles' files that were written once and cannot be compared."""
VERDICTS = {True: ", better", False: ", worse", None: ""}
TIMES = ("seconds", "seconds.answer")
"""Metrics that depend on the machine and its load, so that their change has no verdict."""
UNCHANGED = 0.0005
"""Changes up to this are 0 in the three decimals that are shown."""


class Values(Struct):
    """What stands behind the numbers of a profile in its file, with the columns of ``PAIRED``."""

    rows: dict[str, list[tuple[str, str, str, str, str, int, float]]]


class EarlierWeakness(Struct):
    """A weakness as the file of a profile has it."""

    key: str
    title: str
    verdict: str
    evidence: str


class Earlier(Struct):
    """What is compared with, of the file of a profile."""

    format: int
    player: str
    battery: str
    size: str = ""
    draws: bool = True
    values: Values | None = None
    weaknesses: list[EarlierWeakness] = []


class FindingChange(NamedTuple):
    """A weakness that only one of two profiles names.

    Attributes:
        key, title: which weakness.
        new: whether the later profile names it; otherwise the earlier one did.
        before, after: the evidence of each profile, after the verdict if it is not "found".
    """

    key: str
    title: str
    new: bool
    before: str
    after: str

    def __str__(self) -> str:
        found = "new finding" if self.new else "no longer found"
        return f"{found}: {self.title} ({self.key}); now: {self.after}; before: {self.before}"


class Change(NamedTuple):
    """A number of one profile less that of an earlier one.

    Attributes:
        key, title: which number.
        good: whether more of it is better, or less; empty where it depends.
        before, after: the means over what both played.
        change: their difference, match by match.
        told: whether it changed beyond chance: ``p`` is at most 0.05, or the interval between
            scripts leaves out 0. Never of :data:`TIMES`.
        p: how often chance alone would change it as much, corrected by Holm's rule for all numbers
            of the comparison; None between scripts, of which the interval decides.
        detectable: the smallest change that the two profiles detect with 80 % power, at the level
            of the first step of Holm's rule; None if they detect none.
    """

    key: str
    title: str
    good: str
    before: float
    after: float
    change: Estimate
    told: bool
    p: float | None = None
    detectable: float | None = None

    @property
    def label(self) -> str:
        """The title; of times, with their unit."""
        return f"{self.title} (seconds)" if self.key in TIMES else self.title

    @property
    def better(self) -> bool | None:
        """Whether it is better now; None if that depends, or if nothing changed beyond chance."""
        value = self.change.value or 0
        if not self.told or not self.good or abs(value) < UNCHANGED:
            return None
        return (value > 0) == (self.good == "more")

    def __str__(self) -> str:
        within = self.change.within(3, "change ") if self.change.error else ""
        return (
            f"{self.label}: {fixed(self.before, 3)} before, {fixed(self.after, 3)} now"
            f"{within}{VERDICTS[self.better]}"
        )


def read_profile(path: Path | str, battery: Battery, size: str) -> Mapping[str, Any]:
    """A profile's file, to compare with.

    Args:
        battery: by which the profile is made that is compared with it.
        size: of that profile.

    Raises:
        CheaptalkError: it cannot be read, is no profile, or is one of another battery or size.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or first_line(error)
        raise CheaptalkError(f"{path}: no profile can be read: {why}") from None
    try:
        _checked(found, battery, size)
    except CheaptalkError as error:
        raise CheaptalkError(f"{path}: {error}") from None
    return cast(Mapping[str, Any], found)


def _checked(earlier: object, battery: Battery, size: str) -> Earlier:
    """An earlier profile whose numbers can be compared.

    Raises:
        CheaptalkError: it is no profile, has another format, or is by another battery or size.
    """
    data = earlier if isinstance(earlier, Mapping) else {}
    if data.get("format") in OLD_FORMATS and data.get("battery") == battery.name:
        raise CheaptalkError(
            f"this profile has format {data['format']}, whose pairs are ambiguous; make the "
            "profile again from its store, which asks the player nothing"
        )
    try:
        found = msgspec.convert(earlier, Earlier)
    except msgspec.ValidationError:
        found = None
    if found is not None and found.battery != battery.name:
        raise CheaptalkError(
            f"{found.player} has a profile by {found.battery}, and this one is by {battery.name}: "
            "only profiles of one battery compare"
        )
    if found is None or found.format != FORMAT or found.values is None:
        raise CheaptalkError("what is compared with is no profile; take a file of --data")
    if found.size != size:  # what leans on the panel is of other deals
        raise CheaptalkError(
            f"{found.player} has a profile of the size {found.size}, and this one is {size}: only "
            "profiles of one size compare"
        )
    return found


def finding_changes(profile: Profile, earlier: Mapping[str, Any]) -> list[FindingChange]:
    """Return the weaknesses that one of two profiles names and the other does not, new ones first.

    Args:
        earlier: as :meth:`.Profile.as_json` gives it.

    Raises:
        CheaptalkError: it is no profile, or one of another battery, size or format.
    """
    read = _checked(earlier, profile.battery, profile.size).weaknesses
    untested = EarlierWeakness("", "", "not tested", "")
    before = {one.key: one for one in read}
    changed = [
        FindingChange(
            now.key, now.title if now.found else was.title, now.found,
            _evidence(was.verdict, was.evidence), _evidence(now.verdict, now.sentence),
        )
        for now in profile.examination.weaknesses
        if read and now.found != ((was := before.get(now.key, untested)).verdict == "found")
    ]  # fmt: skip
    return sorted(changed, key=lambda one: not one.new)


def _evidence(verdict: str, sentence: str) -> str:
    parts = [part for part in (verdict, sentence) if part and part != "found"]
    return ", ".join(parts)


def changes(profile: Profile, earlier: Mapping[str, Any]) -> list[Change]:
    """Return what has changed since an earlier profile, for each number that both have.

    A match of one profile is compared with its twin in the other: the same instance, seat, other
    player, way of asking and repetition. Matches without a twin are left out.

    The test of a change depends on whether chance can tell two equal players apart. If a model or
    an agent plays, it can: the test flips the sign of each cluster's summed difference, since
    either sign is then equally likely, whatever the distribution (:func:`.permutation_test`), and
    Holm's rule holds the chance of any false change in the whole comparison at 5 %. Two equal
    scripts play identical twins, so that no change between scripts is chance; the 95 % interval
    over instances then decides whether the change is one-sided, number by number.

    The metrics in :data:`TIMES` are compared, but neither tested nor part of Holm's rule, because
    they depend on the machine.

    Args:
        earlier: as :meth:`.Profile.as_json` gives it.

    Raises:
        CheaptalkError: it is no profile, or one of another battery, size or format.
    """
    before = _checked(earlier, profile.battery, profile.size)
    rows = {} if before.values is None else before.values.rows
    pairs = {
        key: pairs for key in profile.numbers
        if (pairs := _pairs(profile, key, rows.get(key))) is not None
    }  # fmt: skip
    own = profile.seats.filter(player=profile.player)["draws"].any()
    draws = before.draws or bool(own)
    tested = [key for key in pairs if key not in TIMES] if draws else []
    level = LEVEL / max(1, len(tested)) if draws else LEVEL
    p_values = dict(zip(tested, map(float, holm([_p(pairs[key]) for key in tested])), strict=True))
    return [
        _change(profile, key, one, p_values.get(key), level, chance=draws)
        for key, one in pairs.items()
    ]


def _pairs(profile: Profile, key: str, rows: Sequence[Sequence[Any]] | None) -> pl.DataFrame | None:
    """A number's pairs of twin matches with their ``change``; None if there are none.

    Raises:
        CheaptalkError: the earlier profile has two values for one match.
    """
    if not rows:
        return None
    before = pl.DataFrame(rows, schema=list(PAIRED), orient="row").rename({"value": "before"})
    now = profile.numbers[key].of.values.filter(player=profile.player)
    try:
        pairs = now.join(before, PAIR, validate="1:1", maintain_order="left")
    except pl.exceptions.ComputeError:
        raise CheaptalkError(f"{key}: the earlier profile has several values of a match") from None
    return (
        None if pairs.is_empty() else pairs.with_columns(change=pl.col("value") - pl.col("before"))
    )


def _change(
    profile: Profile, key: str, pairs: pl.DataFrame, p: float | None, level: float, *, chance: bool
) -> Change:
    of = profile.numbers[key].of
    least, most = of.bounds
    change, freedom = _mean(pairs, (least - most, most - least), chance=chance)
    was, now = pairs.select(pl.col("before", "value").mean()).row(0)
    told = _is_one_sided(pairs) if p is None else p <= LEVEL
    told = told and key not in TIMES
    effect = None
    if p is None or permits(change.clusters, level):
        reach = most - least + abs(change.value or 0.0)
        largest = of.range[1] - of.range[0]
        effect = detectable_effect(change.error, freedom, change.clusters, reach, level, largest)
    return Change(key, of.title, of.good, was, now, change, told, p, effect)


def _mean(pairs: pl.DataFrame, bounds: Bounds, *, chance: bool) -> tuple[Estimate, float]:
    """The mean change with its interval, and its degrees of freedom.

    Args:
        chance: whether equal players can differ; scripts replay identical matches.
    """
    means = mean_differences(pairs, "change", bounds=bounds) if chance else mean_intervals(
        pairs, ["change"], cluster=CLUSTER, strata=CLUSTER[:1], bounds={"change": bounds}
    )  # fmt: skip
    row = means.row(0, named=True)
    mean = Estimate(row["mean"], row["low"], row["high"], row["error"], row["n"], row["clusters"],
                    row["wanted"])  # fmt: skip
    return mean, row["freedom"]


def _is_one_sided(pairs: pl.DataFrame) -> bool:
    """Whether a change between scripts leaves out 0, or is the same in all of several instances.

    Equal scripts would not differ in any.
    """
    change, _ = _mean(pairs, ANYTHING, chance=False)
    if abs(change.value or 0) <= SAME:
        return False
    if change.low is None or change.high is None:
        return (change.clusters or 0) > 1
    return not change.low <= 0 <= change.high


def _p(pairs: pl.DataFrame) -> float:
    """How often flipping the signs of the clusters' changes moves the mean as much."""
    clusters = pairs.group_by("stratum", "cluster", maintain_order=True).agg(pl.col("change").sum())
    sums = clusters["change"].sort().to_numpy()
    moved = sums[np.abs(sums) > SLACK]
    return permutation_test(moved, np.zeros(len(moved)), paired=True).p if len(moved) else 1.0
