"""Two profiles of one battery, number by number, paired by deal, seat and other."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import polars as pl
from msgspec import Struct

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.profiles import FORMAT, PAIRED, SAME, Profile
from cheaptalk.profiles.quantities import ANYTHING
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.bounds import Bounds
from cheaptalk.rules.errors import first_line
from cheaptalk.statistics import mean_intervals
from cheaptalk.text import fixed

PAIR = PAIRED[:-1]
VERDICTS = {True: ", better", False: ", worse", None: ""}


class Values(Struct):
    """What stands behind the numbers of a profile in its file, with the columns of ``PAIRED``."""

    rows: dict[str, list[tuple[str, str, str, str, float]]]


class Earlier(Struct):
    """What is compared with, of the file of a profile."""

    format: int
    player: str
    battery: str
    size: str = ""
    values: Values | None = None


class Change(NamedTuple):
    """A number of one profile less that of an earlier one.

    Attributes:
        key, title: which number.
        good: whether more of it is better, or less; empty where it depends.
        before, after: the means over what both played.
        change: their difference, match by match.
        told: whether it changed by more than chance would, at 5 %, or changed without any chance.
    """

    key: str
    title: str
    good: str
    before: float
    after: float
    change: Estimate
    told: bool

    @property
    def better(self) -> bool | None:
        """Whether it is better now; None where that depends."""
        rose = (self.change.value or 0) > 0
        return rose == (self.good == "more") if self.good else None

    def __str__(self) -> str:
        within = self.change.within(3, "change ") if self.change.error else ""
        return (
            f"{self.title}: {fixed(self.before, 3)} before, {fixed(self.after, 3)} now"
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


def _checked(earlier: object, battery: Battery, size: str) -> Values:
    """What stands behind the numbers of an earlier profile that can be compared with.

    Raises:
        CheaptalkError: it is none, or one of another battery or size.
    """
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
    return found.values


def changes(profile: Profile, earlier: Mapping[str, Any]) -> list[Change]:
    """What has changed since an earlier profile, in numbers that both have.

    Args:
        earlier: as :meth:`.Profile.as_json` gives it.

    Raises:
        CheaptalkError: it is no profile, or one of another battery.
    """
    rows = _checked(earlier, profile.battery, profile.size).rows
    found = (_change(profile, key, rows.get(key)) for key in profile.numbers)
    return [one for one in found if one is not None]


def _change(profile: Profile, key: str, rows: Sequence[Sequence[Any]] | None) -> Change | None:
    number = profile.numbers[key]
    if not rows:
        return None
    before = pl.DataFrame(rows, schema=list(PAIRED), orient="row").rename({"value": "before"})
    now = number.of.values.filter(player=profile.player)
    paired = now.join(before, PAIR).with_columns(change=pl.col("value") - pl.col("before"))
    if paired.is_empty():
        return None
    least, most = number.of.bounds
    change = _mean(paired, (least - most, most - least))
    was, now_is = paired.select(pl.col("before", "value").mean()).row(0)
    title, good = number.of.title, number.of.good
    return Change(key, title, good, was, now_is, change, _told(_mean(paired, ANYTHING)))


def _mean(paired: pl.DataFrame, bounds: Bounds) -> Estimate:
    row = mean_intervals(
        paired, ["change"], cluster=["stratum", "cluster"], strata=["stratum"],
        bounds={"change": bounds},
    ).row(0, named=True)  # fmt: skip
    return Estimate(row["mean"], row["low"], row["high"], row["error"], row["n"], row["clusters"],
                    row["wanted"])  # fmt: skip


def _told(change: Estimate) -> bool:
    """Whether a change is more than chance would do; what changed alike everywhere is."""
    if abs(change.value or 0) <= SAME:
        return False
    if change.low is None or change.high is None:
        return change.error == 0
    return not change.low <= 0 <= change.high
