"""Profiles: a player's metrics with confidence intervals, and those of baselines."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.atomic_files import whole_file
from cheaptalk.players import RosterEntry
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.metrics import estimation
from cheaptalk.profiles.metrics.definitions import Quantity, quantities
from cheaptalk.profiles.requests import repeated_text
from cheaptalk.profiles.seats import failed_matches, seats
from cheaptalk.profiles.weaknesses.examine import examine
from cheaptalk.profiles.weaknesses.weakness import Examination, Weakness
from cheaptalk.records import Store
from cheaptalk.records.identity import digest
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError, counted, suggest
from cheaptalk.rules.bounds import SLACK

FORMAT = 2
"""The format of a profile's file; format 1 had no columns ``way`` and ``repeat``."""
MOST = 0.5
"""The minimum share of completed matches for reporting metrics other than reliability."""
DECIMALS = 2
"""Decimals of a profile's metrics, most of which are shares."""
REASONS = 3
"""Maximum number of reasons for failed matches in a sentence."""
SAME = 0.005
"""The largest difference between values with the same rank, because they are displayed as equal."""
LEVEL = 0.05
"""The significance level."""
ENDS = {"value": "value", "low": "low", "high": "high"}
ESTIMATE = {**ENDS, "error": "error", "matches": "n", "instances": "clusters", "wanted": "wanted"}
SEAT = ("configuration", "seat")
PAIR = ("configuration", "instance", "seat", "other", "way", "repeat")
"""Columns that identify a match of a profile, and the corresponding match in another profile."""
PAIRED = (*PAIR, "value")
"""The columns of a metric's values in a profile's file."""


class NoFinishedMatch(CheaptalkError):
    """Raised if a player has no profile because none of its matches has ended."""


def plain(estimate: Estimate, fields: Mapping[str, str] = ESTIMATE) -> dict[str, Any]:
    """Return an estimate as plain data: the names in files with their fields of the estimate."""
    return {name: getattr(estimate, field) for name, field in fields.items()}


class Number(NamedTuple):
    """A metric of a profile with its estimates.

    Attributes:
        panel: estimates of the baselines that fill all of the player's seats, by name.
        p: for differences between twin matches, the p-value in (0, 1] of a permutation test with
            Holm's correction for all such metrics of the profile; None for other metrics.
        freedom: degrees of freedom of ``own.error``; None without a standard error.
        level: level of the test: for differences between twin matches, the first step of Holm's
            procedure (0.05 divided by the number of such metrics); otherwise 0.05.
    """

    of: Quantity
    own: Estimate
    panel: Mapping[str, Estimate]
    p: float | None = None
    freedom: float | None = None
    level: float = LEVEL

    @property
    def detectable(self) -> float | None:
        """The smallest effect on the metric that this battery size detects with 80 % power."""
        return detectable_effect(self)

    def as_json(self) -> dict[str, Any]:
        """Return the metric and its estimates as plain data."""
        texts = ("title", "theme", "unit", "good", "scope", "about")
        own = ("rank", "p", "freedom", "level", "detectable")
        return {
            **{name: getattr(self.of, name) for name in texts},
            **{name: getattr(self, name) for name in own},
            **plain(self.own),
            "panel": {name: plain(estimate) for name, estimate in self.panel.items()},
        }

    @property
    def range(self) -> tuple[float | None, float | None]:
        """The lowest and the highest value of the baselines; None without baselines."""
        values = [item.value for item in self.panel.values() if item.value is not None]
        return min(values, default=None), max(values, default=None)

    @property
    def rank(self) -> int | None:
        """The player's rank among the baselines from 1 (best); None if no direction is better."""
        if not self.of.good or self.own.value is None:
            return None
        sign = 1 if self.of.good == "more" else -1
        others = [estimate.value for estimate in self.panel.values() if estimate.value is not None]
        better = [value for value in others if sign * (value - self.own.value) > SAME]
        return len(better) + 1


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Printed):
    """The results of a battery for a player.

    Attributes:
        study: name of the study with all matches.
        seats: the results of all players; see :func:`~cheaptalk.profiles.seats.seats`.
        failures: numbers of failed matches of the player by reason; no metric includes them.
        examination: all weaknesses of the battery, starting with the largest findings.
        entry: a digest of the player's model, agent or strategy, without settings.
        unplayed: number of matches of the study that were not played.
    """

    player: str
    battery: Battery
    size: str
    study: str
    seats: pl.DataFrame
    numbers: Mapping[str, Number]
    failures: Mapping[str, int] = field(default_factory=dict)
    examination: Examination = field(default_factory=partial(Examination, ()))
    unplayed: int = 0
    entry: str = ""

    @property
    def title(self) -> str:
        """The player, the battery and its size."""
        return f"{self.player} by {self.battery.name}, {self.size}"

    def printout(self) -> Printout:
        table = self.data()
        main = zip(self.numbers, table.rows, strict=True)
        rows = [row for key, row in main if "." not in key]
        findings = [
            f"{self.player} {item.title}: {item.sentence}" for item in self.examination.findings
        ]
        notes = [*findings, self.failed] if self.failed else findings
        return table._replace(rows=rows, notes=notes)

    def data(self) -> Printout:
        """Return all metrics, including those of single parts and messages."""
        rows = [
            (number.of.title, number.own.value, number.own.low, number.own.high, *number.range)
            for number in self.numbers.values()
        ]
        columns = ["metric", "value", "low", "high", "lowest baseline", "highest baseline"]
        return Printout(self.title, columns, rows)

    @property
    def failed(self) -> str:
        """A sentence on failed or unplayed matches and the reasons; empty if there are none."""
        parts = [failed_text(self.failures)] if self.failures else []
        if self.unplayed:
            parts.append(f"{counted(self.unplayed, 'match')} of the study not played")
        if not parts:
            return ""
        ended = self.seats.filter(player=self.player)["match_id"].n_unique()
        scope = f"all metrics cover the {counted(ended, 'match')} of {self.player} that ended"
        return "; ".join([*parts, scope])

    @property
    def repeated(self) -> str:
        """A text on requests whose first attempt failed; empty if there are none."""
        return repeated_text(self.seats.filter(player=self.player))

    @property
    def mostly_forfeited(self) -> bool:
        """Whether the player forfeited most of its matches."""
        ended = self.numbers.get("ended")
        return ended is not None and (ended.own.value or 0.0) < MOST

    @property
    def forfeits(self) -> int:
        """The number of matches that the player forfeited."""
        forfeits = self.seats.filter("forfeited", player=self.player)
        return forfeits["match_id"].n_unique()

    def number(self, key: str) -> Number:
        """Return a metric by its key.

        Raises:
            CheaptalkError: the profile has no such metric.
        """
        if key not in self.numbers:
            raise CheaptalkError(f"a profile has no metric {suggest(key, list(self.numbers))}")
        return self.numbers[key]

    def as_json(self) -> dict[str, Any]:
        """Return the profile as plain data, for comparison with other profiles.

        ``findings`` contains the keys of the weaknesses found, starting with the largest effect.
        ``weaknesses`` contains all tested weaknesses in the order of the page.
        """
        rows = self.seats.filter(player=self.player)
        values = {
            key: number.of.values.filter(player=self.player).select(PAIRED).sort(PAIRED)
            for key, number in self.numbers.items()
        }
        return {
            "format": FORMAT,
            **{name: getattr(self, name) for name in ("player", "entry", "size", "study")},
            "battery": self.battery.name,
            "draws": bool(rows["draws"].any()),
            "matches": rows["match_id"].n_unique(),
            "failed_matches": dict(self.failures),
            "unplayed_matches": self.unplayed,
            **{count: int(rows[count].sum()) for count in COUNTED},
            "tokens": int(rows["tokens"].sum()) if "tokens" in self.numbers else None,
            "dollars": float(rows["dollars"].sum()),
            "findings": [finding.key for finding in self.examination.findings],
            "weaknesses": [_weakness(weakness) for weakness in self.examination.weaknesses],
            "numbers": {key: number.as_json() for key, number in self.numbers.items()},
            "values": {
                "columns": list(PAIRED),
                "rows": {key: [list(row) for row in frame.rows()] for key, frame in values.items()},
            },
        }

    def write(self, path: Path | str) -> None:
        """Write the profile as JSON, replacing an existing file atomically.

        Raises:
            CheaptalkError: the file cannot be written.
        """
        try:
            with whole_file(Path(path)) as file:
                json.dump(self.as_json(), file, indent=1)
        except OSError as error:
            raise CheaptalkError(f"cannot write {path}: {error.strerror}") from error


COUNTED = ("calls", "requests", "timeouts", "errors")
"""The counts of :class:`~cheaptalk.profiles.requests.Requests` that a profile's file contains."""


def _weakness(weakness: Weakness) -> dict[str, Any]:
    effects = {kind: getattr(weakness, kind) for kind in ("changed", "size", "signed")}
    same = ("key", "title", "verdict", "variant", "unit", "p", "twin")
    return {
        **{name: getattr(weakness, name) for name in same},
        "evidence": weakness.sentence,
        "triggered": weakness.tested,
        "effect": weakness.effect.value,
        "low": weakness.effect.low,
        "high": weakness.effect.high,
        "match_id": weakness.match,
        **{kind: effect and plain(effect, ENDS) for kind, effect in effects.items()},
    }


@reads
def profile_of(
    store: StoreLike, study: StudyLike, player: str, entry: RosterEntry, battery: Battery, size: str
) -> Profile:
    """Return the profile of a player from the finished matches of its study.

    Args:
        study: see :meth:`.Battery.study`.

    Raises:
        StoreError: the store has no such study.
        NoFinishedMatch: no match of the player has ended.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    identical = {} if player in battery.panel else battery.alike(entry)
    rows = seats(store, study, battery, player, identical)
    estimated = (_number(quantity, player, battery, rows) for quantity in quantities(rows, battery))
    numbers = {number.of.key: number for number in estimated if number is not None}
    crashed = [*failed_matches(store, study, battery, player)]
    failed = Counter(match.reason for match in crashed)
    if not numbers:
        why = f" ({failed_text(failed)})" if failed else ""
        raise NoFinishedMatch(f"{study}: no match of {player} has ended{why}; play matches first")
    examined = examine(rows, player, battery, crashed)
    tested = _with_weaknesses(_tested(numbers, player), examined)
    return Profile(
        player, battery, size, study, rows, tested, failed, examined, entry=entry_digest(entry)
    )


def entry_digest(entry: RosterEntry) -> str:
    """Return a digest of a player's model, agent or strategy, without revealing addresses."""
    written = entry.written()
    return digest(written.get("model", written))


def failed_text(failures: Mapping[str, int]) -> str:
    """Return a text about failed matches, with the three most frequent reasons.

    >>> failed_text({"status 500": 2, "no answer": 1})
    '3 matches failed: 2 x status 500, 1 x no answer'
    """
    ordered = sorted(failures.items(), key=lambda failure: (-failure[1], failure[0]))
    reasons = [f"{count:,} x {reason}" for reason, count in ordered[:REASONS]]
    omitted = len(ordered) - REASONS
    reasons += [f"and {counted(omitted, 'other reason')}"] if omitted > 0 else []
    return f"{counted(sum(failures.values()), 'match')} failed: {', '.join(reasons)}"


def _with_weaknesses(numbers: Mapping[str, Number], examined: Examination) -> Mapping[str, Number]:
    """Use weaknesses' intervals for equal metrics, so that gates never contradict findings."""
    effects: dict[str, Estimate | None] = {}
    for weakness in examined.tested:
        effects[weakness.key] = weakness.signed or weakness.effect
        effects[f"{weakness.key}.size"] = weakness.size
        effects[f"{weakness.key}.changed"] = weakness.changed
    return {
        key: number if (effect := effects.get(key)) is None else _as_weakness(number, effect)
        for key, number in numbers.items()
    }


def _as_weakness(number: Number, effect: Estimate) -> Number:
    value, n = effect.value or 0.0, effect.n or 0
    if n < 2 or abs((number.own.value or 0.0) - value) > SLACK:
        return number
    exact = effect.error is None  # of a share
    error = (value * (1 - value) / n) ** 0.5 if exact else effect.error
    needed = None if exact else number.own.wanted
    estimate = Estimate(effect.value, effect.low, effect.high, error, n, effect.clusters, needed)
    return number._replace(own=estimate, freedom=n - 1.0)


def _tested(numbers: Mapping[str, Number], player: str) -> Mapping[str, Number]:
    """Add p-values to metrics that are differences between paired matches."""
    twins = {
        key: number.of.values.filter(player=player)
        for key, number in numbers.items()
        if number.of.twins
    }
    corrected, first = estimation.corrected_ps(twins, "value"), LEVEL / max(1, len(twins))
    return {
        key: number._replace(p=corrected[key], level=first) if key in corrected else number
        for key, number in numbers.items()
    }


def detectable_effect(number: Number, level: float | None = None) -> float | None:
    """Return the smallest effect on a metric that a profile detects with 80 % power.

    An effect is the distance of the true mean from the tested value, such as 0 for a difference
    between twin matches, or the limit of a gate.

    Args:
        level: the level of the two-sided test, in (0, 1); ``number.level`` by default.

    Returns:
        The effect in the unit of the metric; None if no possible effect is detectable.
    """
    level = number.level if level is None else level
    estimate, value = number.own, number.own.value or 0.0
    if number.of.twins and not estimation.permits(estimate.clusters, level):
        return None
    reach, largest = (
        max(value - minimum, maximum - value)
        for minimum, maximum in (number.of.bounds, number.of.range)
    )
    return estimation.detectable_effect(
        estimate.error, number.freedom, estimate.clusters, reach, level, largest
    )


def _number(
    quantity: Quantity, player: str, battery: Battery, table: pl.DataFrame
) -> Number | None:
    """Estimate a metric for a player and for baselines in the same seats; None without values."""
    seats = quantity.values.filter(player=player).select(SEAT).unique()
    if seats.is_empty():
        return None
    values = quantity.values.join(seats, SEAT, validate="m:1", maintain_order="left")
    same_seats = table.join(seats, SEAT, validate="m:1", maintain_order="left")
    filled = same_seats.group_by("player", maintain_order=True).agg(of=pl.struct(SEAT).n_unique())
    complete = set(filled.filter(pl.col("of") == len(seats))["player"]) & set(values["player"])
    names = [player, *(name for name in battery.panel if name != player and name in complete)]
    values = values.filter(pl.col("player").is_in(names))
    chance = quantity.twins and bool(values.filter(player=player)["draws"].any())
    mean = estimation.mean_differences if chance else estimation.stratified_means
    means = mean(values, "value", ["player"], bounds=quantity.bounds)
    minimum, maximum = quantity.bounds
    means = means.with_columns(pl.col("low", "high").clip(minimum, maximum))
    estimates = {row["player"]: Estimate.of_mean(row) for row in means.iter_rows(named=True)}
    if quantity.fitted:
        estimates = {name: _nonnegative(item) for name, item in estimates.items()}
    estimate = estimates.pop(player)
    freedom = means.filter(player=player)["freedom"].item() or None
    panel = {name: estimates[name] for name in names if name in estimates}
    return Number(quantity, estimate, panel, freedom=freedom)


def _nonnegative(estimate: Estimate) -> Estimate:
    """Raise negative numbers to 0, and drop the interval and error if all values are equal."""
    value, low, high = (None if part is None else max(0.0, part) for part in estimate[:3])
    if not estimate.error:
        return Estimate(value, n=estimate.n, wanted=estimate.wanted)
    return estimate._replace(value=value, low=low, high=high)
