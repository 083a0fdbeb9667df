"""Comparisons of two profiles by the same battery, over pairs of twin matches."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.metrics.definitions import ANYTHING
from cheaptalk.profiles.metrics.detection import detectable_effect, permits
from cheaptalk.profiles.metrics.means import CLUSTER, mean_differences
from cheaptalk.profiles.profiles import FORMAT, LEVEL, PAIR, PAIRED, SAME, Profile
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.bounds import SLACK, Bounds
from cheaptalk.rules.errors import first_line
from cheaptalk.statistics import holm, mean_intervals, permutation_test
from cheaptalk.text import fixed

OLD_FORMATS = (1,)
"""Formats of old profile files that cannot be compared."""
VERDICTS = {True: ", better", False: ", worse", None: ""}
TIMES = ("seconds", "seconds.answer")
"""Metrics that depend on the machine and its load, so that their change has no verdict."""
UNCHANGED = 0.0005
"""The largest change that the three displayed decimals show as 0."""


class Values(Struct):
    """The values behind the metrics of a profile's file, with the columns of ``PAIRED``."""

    rows: dict[str, list[tuple[str, str, str, str, str, int, float]]]


class EarlierWeakness(Struct):
    """A weakness in a profile's file."""

    key: str
    title: str
    verdict: str
    evidence: str


class Earlier(Struct):
    """The content of a profile's file that a comparison needs."""

    format: int
    player: str
    battery: str
    size: str = ""
    draws: bool = True
    values: Values | None = None
    weaknesses: list[EarlierWeakness] = []


class FindingChange(NamedTuple):
    """A weakness found by only one of two profiles.

    Attributes:
        key, title: key and title of the weakness.
        new: whether the later profile names it; otherwise the earlier one did.
        before, after: the evidence of each profile, after the verdict if it is not "found".
    """

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
        key, title: key and title of the metric.
        good: whether more or less is better; empty if it depends.
        before, after: the means over shared matches.
        change: their difference, match by match.
        significant: whether ``p`` is at most 0.05 or, between scripts, the interval excludes 0;
            never for :data:`TIMES`.
        p: the p-value of the change, with Holm's correction for all metrics of the comparison; None
            between scripts, for which the interval decides.
        detectable: the smallest change that the two profiles detect with 80 % power, at the level
            of the first step of Holm's rule; None if they detect none.
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
        """Return the title; for times, with their unit."""
        return f"{self.title} (seconds)" if self.key in TIMES else self.title

    @property
    def better(self) -> bool | None:
        """Return whether the metric improved; None if neither direction is better or if the change
        is not significant."""
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
    """Read a profile's file for a comparison.

    Args:
        battery: by which the profile is made that is compared with it.
        size: the size of that profile.

    Raises:
        CheaptalkError: it cannot be read, is no profile, or is one of another battery or size.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or first_line(error)
        raise CheaptalkError(f"{path}: can't read the profile: {why}") from None
    try:
        _checked(data, battery, size)
    except CheaptalkError as error:
        raise CheaptalkError(f"{path}: {error}") from None
    return cast(Mapping[str, Any], data)


def _checked(earlier: object, battery: Battery, size: str) -> Earlier:
    """Return an earlier profile if its metrics can be compared.

    Raises:
        CheaptalkError: it is not a profile, or has another battery, size or format.
    """
    data = earlier if isinstance(earlier, Mapping) else {}
    if data.get("format") in OLD_FORMATS and data.get("battery") == battery.name:
        raise CheaptalkError(
            f"this profile has the outdated format {data['format']}; run cheaptalk profile again "
            "with its store to convert it, without new requests to the player"
        )
    try:
        profile = msgspec.convert(earlier, Earlier)
    except msgspec.ValidationError:
        profile = None
    if profile is not None and profile.battery != battery.name:
        raise CheaptalkError(
            f"the profile of {profile.player} is by {profile.battery}, but this one is by "
            f"{battery.name}; only profiles by the same battery are comparable"
        )
    if profile is None or profile.format != FORMAT or profile.values is None:
        raise CheaptalkError(
            "the file to compare with is not a profile; use a file written by --json-file"
        )
    if profile.size != size:  # comparisons with baselines cover other instances
        raise CheaptalkError(
            f"the profile of {profile.player} has the size {profile.size}, but this one is {size}; "
            "only profiles of the same size are comparable"
        )
    return profile


def finding_changes(profile: Profile, earlier: Mapping[str, Any]) -> list[FindingChange]:
    """Return the weaknesses that only one of two profiles found, new ones first.

    Args:
        earlier: see :meth:`.Profile.as_json`.

    Raises:
        CheaptalkError: it is not a profile, or has another battery, size or format.
    """
    read = _checked(earlier, profile.battery, profile.size).weaknesses
    untested = EarlierWeakness("", "", "not tested", "")
    before = {weakness.key: weakness for weakness in read}
    changed = [
        FindingChange(
            weakness.key, weakness.title if weakness.found else was.title, weakness.found,
            _evidence(was.verdict, was.evidence), _evidence(weakness.verdict, weakness.sentence),
        )
        for weakness in profile.examination.weaknesses
        if read and weakness.found != ((was := before.get(weakness.key,
        untested)).verdict == "found")
    ]  # fmt: skip
    return sorted(changed, key=lambda change: not change.new)


def _evidence(verdict: str, sentence: str) -> str:
    parts = [part for part in (verdict, sentence) if part and part != "found"]
    return ", ".join(parts)


def changes(profile: Profile, earlier: Mapping[str, Any]) -> list[Change]:
    """Return the change of each metric that both profiles have.

    A match of one profile is paired with its twin in the other: the same instance, seat, opponent,
    presentation and repetition. Matches without a twin are excluded.

    If a model or an agent plays, equal players can differ by chance. The test then flips the sign
    of each cluster's summed difference, because both signs are equally likely without a change,
    whatever the distribution (:func:`.permutation_test`). Holm's procedure limits the probability
    of any false change in the comparison to 5 %. Two equal scripts play identical twins, so any
    change between scripts is real; the 95 % interval over instances then decides whether the change
    is one-sided, metric by metric.

    The metrics in :data:`TIMES` are compared but not tested, and not part of Holm's procedure,
    because they depend on the machine.

    Args:
        earlier: see :meth:`.Profile.as_json`.

    Raises:
        CheaptalkError: it is not a profile, or has another battery, size or format.
    """
    before = _checked(earlier, profile.battery, profile.size)
    rows = {} if before.values is None else before.values.rows
    pairs = {
        key: pairs for key in profile.numbers
        if (pairs := _pairs(profile, key, rows.get(key))) is not None
    }  # fmt: skip
    random = profile.seats.filter(player=profile.player)["draws"].any()
    draws = before.draws or bool(random)
    tested = [key for key in pairs if key not in TIMES] if draws else []
    level = LEVEL / max(1, len(tested)) if draws else LEVEL
    p_values = dict(zip(tested, map(float, holm([_p(pairs[key]) for key in tested])), strict=True))
    return [
        _change(profile, key, pair, p_values.get(key), level, chance=draws)
        for key, pair in pairs.items()
    ]


def _pairs(profile: Profile, key: str, rows: Sequence[Sequence[Any]] | None) -> pl.DataFrame | None:
    """Return a metric's pairs of twin matches with their ``change``; None if there are none.

    Raises:
        CheaptalkError: the earlier profile has two values for one match.
    """
    if not rows:
        return None
    before = pl.DataFrame(rows, schema=list(PAIRED), orient="row").rename({"value": "before"})
    values = profile.numbers[key].of.values.filter(player=profile.player)
    try:
        pairs = values.join(before, PAIR, validate="1:1", maintain_order="left")
    except pl.exceptions.ComputeError:
        raise CheaptalkError(
            f"{key}: the earlier profile has several values for one match"
        ) from None
    return (
        None if pairs.is_empty() else pairs.with_columns(change=pl.col("value") - pl.col("before"))
    )


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
    if p is None or permits(change.clusters, level):
        reach = maximum - minimum + abs(change.value or 0.0)
        largest = quantity.range[1] - quantity.range[0]
        effect = detectable_effect(change.error, freedom, change.clusters, reach, level, largest)
    return Change(key, quantity.title, quantity.good, before, after, change, significant, p, effect)


def _mean(pairs: pl.DataFrame, bounds: Bounds, *, chance: bool) -> tuple[Estimate, float]:
    """Return the mean change with its interval, and its degrees of freedom.

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
    """Return whether a change between scripts excludes 0, or is the same in several instances.

    Equal scripts would not differ in any.
    """
    change, _ = _mean(pairs, ANYTHING, chance=False)
    if abs(change.value or 0) <= SAME:
        return False
    if change.low is None or change.high is None:
        return (change.clusters or 0) > 1
    return not change.low <= 0 <= change.high


def _p(pairs: pl.DataFrame) -> float:
    """Return the p-value of a mean change, from random sign flips of the clusters' changes."""
    clusters = pairs.group_by("stratum", "cluster", maintain_order=True).agg(pl.col("change").sum())
    sums = clusters["change"].sort().to_numpy()
    moved = sums[np.abs(sums) > SLACK]
    return permutation_test(moved, np.zeros(len(moved)), paired=True).p if len(moved) else 1.0
