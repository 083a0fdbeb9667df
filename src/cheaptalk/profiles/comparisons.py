"""Comparisons of two profiles from the same battery, based on pairs of equivalent matches."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import polars as pl
from msgspec import Struct

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.metrics import estimation
from cheaptalk.profiles.metrics.definitions import ANYTHING
from cheaptalk.profiles.profiles import FORMAT, LEVEL, PAIR, PAIRED, SAME, Profile
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.bounds import Bounds
from cheaptalk.rules.errors import first_line
from cheaptalk.statistics import mean_intervals
from cheaptalk.text import fixed

OLD_FORMATS = (1,)
"""Formats of old profile files that cannot be compared."""
VERDICTS = {True: ", better", False: ", worse", None: ""}
TIMES = ("seconds", "seconds.answer")
"""Metrics that depend on the machine and its load; changes have no verdict."""
UNCHANGED = 0.0005
"""The largest change that is displayed as 0 with three decimals."""


class Values(Struct):
    """Metric values in a profile's file, as rows with the columns in ``PAIRED``."""

    rows: dict[str, list[tuple[str, str, str, str, str, int, float]]]


class EarlierWeakness(Struct):
    """A weakness as recorded in a profile's file."""

    key: str
    title: str
    verdict: str
    evidence: str


class Earlier(Struct):
    """The part of a profile's file that a comparison reads."""

    format: int
    player: str
    battery: str
    size: str = ""
    draws: bool = True
    values: Values | None = None
    weaknesses: list[EarlierWeakness] = []


class FindingChange(NamedTuple):
    """A weakness that only one of two profiles found, with the evidence of both profiles."""

    key: str
    title: str
    new: bool
    before: str
    after: str

    def __str__(self) -> str:
        status = "new finding" if self.new else "no longer found"
        return f"{status}: {self.title} ({self.key}); now: {self.after}; before: {self.before}"


class Change(NamedTuple):
    """The change of a metric since an earlier profile.

    Attributes:
        good: "more" or "less", whichever is better; empty if it depends.
        before, after: the means over matches that both profiles have.
        change: the mean difference between paired matches.
        significant: whether ``p`` is at most 0.05 or, between scripts, the interval excludes 0;
            false for :data:`TIMES`.
        p: the p-value of the change, with Holm's correction for all metrics of the comparison; None
            between scripts.
        detectable: the smallest change that is detected with 80 % power at the level of the first
            step of Holm's procedure; None if no change can be detected.
    """

    key: str
    title: str
    good: str
    before: float
    after: float
    change: Estimate
    significant: bool
    p: float | None = None
    detectable: float | None = None

    @property
    def label(self) -> str:
        """The metric's title, with the unit if it measures time."""
        return f"{self.title} (seconds)" if self.key in TIMES else self.title

    @property
    def better(self) -> bool | None:
        """Whether the metric improved; None if not significant or if no direction is better."""
        value = self.change.value or 0
        if not self.significant or not self.good or abs(value) < UNCHANGED:
            return None
        return (value > 0) == (self.good == "more")

    def __str__(self) -> str:
        within = self.change.within(3, "change ") if self.change.error else ""
        return (
            f"{self.label}: {fixed(self.before, 3)} before, {fixed(self.after, 3)} now"
            f"{within}{VERDICTS[self.better]}"
        )


def read_profile(path: Path | str, battery: Battery, size: str) -> Mapping[str, Any]:
    """Read a profile's file to compare it with a profile of the same battery and size.

    Raises:
        CheaptalkError: the file cannot be read, is not a profile, or has another battery or size.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or first_line(error)
        raise CheaptalkError(f"{path}: cannot read the profile's JSON file: {why}") from None
    try:
        _checked(data, battery, size)
    except CheaptalkError as error:
        raise CheaptalkError(f"{path}: {error}") from None
    return cast(Mapping[str, Any], data)


def _checked(earlier: object, battery: Battery, size: str) -> Earlier:
    """Return an earlier profile after checking that its metrics are comparable."""
    data = earlier if isinstance(earlier, Mapping) else {}
    if data.get("format") in OLD_FORMATS and data.get("battery") == battery.name:
        raise CheaptalkError(
            f"the profile has the outdated format {data['format']}; to convert it, run cheaptalk "
            "profile again with the same store, which reuses the recorded matches"
        )
    try:
        profile = msgspec.convert(earlier, Earlier)
    except msgspec.ValidationError:
        profile = None
    if profile is not None and profile.battery != battery.name:
        raise CheaptalkError(
            f"the earlier profile of {profile.player} has the battery {profile.battery} instead of "
            f"{battery.name}; compare profiles by the same battery"
        )
    if profile is None or profile.format != FORMAT or profile.values is None:
        raise CheaptalkError(
            "the file is not a profile in JSON; write one with: cheaptalk profile --json-file"
        )
    if profile.size != size:  # comparisons with baselines cover other instances
        raise CheaptalkError(
            f"the earlier profile of {profile.player} has the size {profile.size} instead of "
            f"{size}; compare profiles of the same size"
        )
    return profile


def finding_changes(profile: Profile, earlier: Mapping[str, Any]) -> list[FindingChange]:
    """Return the weaknesses that only one of two profiles found, new ones first.

    Args:
        earlier: see :meth:`.Profile.as_json`.

    Raises:
        CheaptalkError: the earlier data are not a profile, or have another battery, size or format.
    """
    weaknesses = _checked(earlier, profile.battery, profile.size).weaknesses
    untested = EarlierWeakness("", "", "not tested", "")
    before = {weakness.key: weakness for weakness in weaknesses}
    changed = []
    for weakness in profile.examination.weaknesses if weaknesses else ():
        was = before.get(weakness.key, untested)
        if weakness.found != (was.verdict == "found"):
            title = weakness.title if weakness.found else was.title
            both = ((was.verdict, was.evidence), (weakness.verdict, weakness.sentence))
            evidence = [", ".join(p for p in pair if p not in ("", "found")) for pair in both]
            changed.append(FindingChange(weakness.key, title, weakness.found, *evidence))
    return sorted(changed, key=lambda change: not change.new)


def changes(profile: Profile, earlier: Mapping[str, Any]) -> list[Change]:
    """Return the change in each metric that both profiles contain.

    Matches of the two profiles are paired if they have the same instance, seat, opponent,
    presentation and repetition. Other matches are excluded.

    If a model or an agent plays, equal players can differ by chance. The test then flips the sign
    of each cluster's summed difference (:func:`.permutation_test`): without a change, both signs
    are equally likely for any distribution. Holm's procedure limits the probability of any false
    change in the comparison to 5 %. Equal scripts play identical matches, so every change between
    scripts is real. The 95 % interval over instances then decides, separately for each metric,
    whether the change is one-sided.

    Metrics in :data:`TIMES` are compared but not tested, because they depend on the machine.

    Args:
        earlier: see :meth:`.Profile.as_json`.

    Raises:
        CheaptalkError: the earlier data are not a profile, or have another battery, size or format.
    """
    before = _checked(earlier, profile.battery, profile.size)
    rows = {} if before.values is None else before.values.rows
    paired = {key: _pairs(profile, key, rows.get(key)) for key in profile.numbers}
    pairs = {key: frame for key, frame in paired.items() if frame is not None}
    draws = before.draws or bool(profile.seats.filter(player=profile.player)["draws"].any())
    tested = {key: frame for key, frame in pairs.items() if draws and key not in TIMES}
    p_values, level = estimation.corrected_ps(tested, "change"), LEVEL / max(1, len(tested))
    return [
        _change(profile, key, pair, p_values.get(key), level, chance=draws)
        for key, pair in pairs.items()
    ]


def _pairs(profile: Profile, key: str, rows: Sequence[Sequence[Any]] | None) -> pl.DataFrame | None:
    """Return the ``change`` of a metric in each pair of matches; None without pairs."""
    if not rows:
        return None
    before = pl.DataFrame(rows, schema=list(PAIRED), orient="row").rename({"value": "before"})
    values = profile.numbers[key].of.values.filter(player=profile.player)
    try:
        pairs = values.join(before, PAIR, validate="1:1", maintain_order="left")
    except pl.exceptions.ComputeError:
        raise CheaptalkError(
            f"{key}: the earlier profile has several values for a match; create it again"
        ) from None
    change = pl.col("value") - pl.col("before")
    return None if pairs.is_empty() else pairs.with_columns(change=change)


def _change(
    profile: Profile, key: str, pairs: pl.DataFrame, p: float | None, level: float, *, chance: bool
) -> Change:
    quantity = profile.numbers[key].of
    minimum, maximum = quantity.bounds
    change, freedom = _mean(pairs, (minimum - maximum, maximum - minimum), chance=chance)
    before, after = pairs.select(pl.col("before", "value").mean()).row(0)
    significant = _is_one_sided(pairs) if p is None else p <= LEVEL
    significant = significant and key not in TIMES
    effect = None
    if p is None or estimation.permits(change.clusters, level):
        reach = maximum - minimum + abs(change.value or 0.0)
        largest = quantity.range[1] - quantity.range[0]
        effect = estimation.detectable_effect(
            change.error, freedom, change.clusters, reach, level, largest
        )
    return Change(key, quantity.title, quantity.good, before, after, change, significant, p, effect)


def _mean(pairs: pl.DataFrame, bounds: Bounds, *, chance: bool) -> tuple[Estimate, float]:
    """Return the mean change and its degrees of freedom, with or without random decisions."""
    if chance:
        means = estimation.mean_differences(pairs, "change", bounds=bounds)
    else:
        cluster, limits = estimation.CLUSTER, {"change": bounds}
        means = mean_intervals(
            pairs, ["change"], cluster=cluster, strata=cluster[:1], bounds=limits
        )
    row = means.row(0, named=True)
    return Estimate.of_mean(row), row["freedom"]


def _is_one_sided(pairs: pl.DataFrame) -> bool:
    """Return whether an interval excludes 0 or, without one, several instances changed equally."""
    change, _ = _mean(pairs, ANYTHING, chance=False)
    if abs(change.value or 0) <= SAME:
        return False
    if change.ends is None:
        return (change.clusters or 0) > 1
    return not change.ends[0] <= 0 <= change.ends[1]
