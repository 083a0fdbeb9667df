"""A profile: a player's numbers with their intervals, beside a panel's on the same deals."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.metrics.detection import detectable_effect, permits
from cheaptalk.profiles.metrics.means import mean_differences, stratified_means
from cheaptalk.profiles.metrics.quantities import Quantity, quantities
from cheaptalk.profiles.requests import repeated_text
from cheaptalk.profiles.seats import failed_matches, seats
from cheaptalk.profiles.weaknesses.examine import examine
from cheaptalk.profiles.weaknesses.weakness import Examination, Weakness
from cheaptalk.records import Store
from cheaptalk.records.identity import digest
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError, counted, suggest
from cheaptalk.rules.bounds import SLACK
from cheaptalk.rules.display import brief
from cheaptalk.statistics import holm, permutation_test
from cheaptalk.whole_files import whole_file

FORMAT = 2
"""Of a profile's file; format 1 lacked ``way`` and ``repeat``, so that its pairs were ambiguous."""
MOST = 0.5
"""The share of matches that is to be played to the end, if anything else is to be told."""
PLACES = 2
"""Decimals of a profile's numbers, most of which are shares."""
REASONS = 3
"""Reasons for failed matches that a sentence lists."""
SAME = 0.005
"""Up to this two numbers share a place: both are shown as the same."""
LEVEL = 0.05
"""What chance alone may do at most, of what is told as beyond it."""
SEAT = ("configuration", "place")
PAIR = ("configuration", "deal", "place", "other", "way", "repeat")
"""What a match of one profile and its twin in another have in common: no two values of a number
share all of it."""
PAIRED = (*PAIR, "value")
"""The columns of the values that a profile's file keeps behind each number."""


class NothingPlayed(CheaptalkError):
    """No match of a player has ended, so that it has no profile."""


class Number(NamedTuple):
    """A number of a profile.

    Attributes:
        of: what is measured.
        own: the player's.
        panel: those of the panel by name, in the same seats; of members that fill all of these.
        p: of a difference between twin matches: how often chance alone would do as much or more, in
            (0, 1], by a permutation test and Holm's correction for all such numbers of the profile;
            None of others.
        freedom: degrees of freedom of ``own.error``; None if it has none.
        level: of the test that decides: 0.05 by an interval; of a difference between twin matches
            0.05 divided by how many such numbers the profile tests, the first step of Holm's rule.
    """

    of: Quantity
    own: Estimate
    panel: Mapping[str, Estimate]
    p: float | None = None
    freedom: float | None = None
    level: float = LEVEL

    @property
    def detectable(self) -> float | None:
        """The smallest effect that this size detects with 80 % power; see :func:`detectable`."""
        return detectable(self)

    @property
    def beyond_chance(self) -> bool:
        """Whether a difference between twins is none that chance would do, at 5 % for all of the
        profile together."""
        return self.p is not None and self.p <= LEVEL

    @property
    def rank(self) -> int | None:
        """The player's place among the panel and itself, 1 the best; None where none is better."""
        if not self.of.good or self.own.value is None:
            return None
        sign = 1 if self.of.good == "more" else -1
        others = [one.value for one in self.panel.values() if one.value is not None]
        better = [one for one in others if sign * (one - self.own.value) > SAME]
        return len(better) + 1


@dataclass(frozen=True, eq=False)
class Profile:
    """What a battery finds out of a player.

    Attributes:
        player: what it is called.
        battery: by what.
        size: how large.
        study: the study with all matches.
        seats: what everybody got; see :func:`~cheaptalk.profiles.seats.seats`.
        numbers: by key.
        failures: why matches of the player failed, and how many did; they are in no number.
        examination: every weakness of the battery, the findings first, the worst at the top.
        entry: a digest of which model, agent or strategy the player is, without its settings.
        unplayed: how many matches of the study were not played; they are in no number either.
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

    def __repr__(self) -> str:
        return brief(self, f"{self.player} by {self.battery.name}, {self.size}")

    @property
    def failed(self) -> str:
        """How many matches failed and why, or were not played, in a sentence; empty if none."""
        parts = [failed_text(self.failures)] if self.failures else []
        if self.unplayed:
            parts.append(f"{counted(self.unplayed, 'match')} of the study not played")
        if not parts:
            return ""
        ended = self.seats.filter(player=self.player)["match"].n_unique()
        rest = f"all numbers are of the {counted(ended, 'match')} of {self.player} that ended"
        return "; ".join([*parts, rest])

    @property
    def repeated(self) -> str:
        """How many requests got no answer at first, and why, in words; empty if all did."""
        return repeated_text(self.seats.filter(player=self.player))

    @property
    def mostly_forfeited(self) -> bool:
        """Whether the player forfeited most of its matches."""
        ended = self.numbers.get("ended")
        return ended is not None and (ended.own.value or 0.0) < MOST

    @property
    def forfeits(self) -> int:
        """How many matches the player forfeited."""
        own = self.seats.filter("forfeited", player=self.player)
        return own["match"].n_unique()

    def number(self, key: str) -> Number:
        """A number by its key.

        Raises:
            CheaptalkError: there is none; the message names the nearest.
        """
        if key not in self.numbers:
            raise CheaptalkError(f"a profile has no number {suggest(key, list(self.numbers))}")
        return self.numbers[key]

    def as_json(self) -> dict[str, Any]:
        """Return the profile as plain data, with which another profile can be compared.

        ``findings`` has the keys of the weaknesses found, the worst first, and ``weaknesses`` has
        every weakness tested, in the order of the page.
        """
        mine = self.seats.filter(player=self.player)
        return {
            "format": FORMAT, "player": self.player, "entry": self.entry,
            "battery": self.battery.name, "size": self.size, "study": self.study,
            "draws": bool(mine["draws"].any()),
            "matches": mine["match"].n_unique(),
            "failed_matches": dict(self.failures), "unplayed_matches": self.unplayed,
            **{count: int(mine[count].sum()) for count in COUNTED},
            "tokens": int(mine["tokens"].sum()) if "tokens" in self.numbers else None,
            "dollars": float(mine["dollars"].sum()),
            "findings": [one.key for one in self.examination.findings],
            "weaknesses": [_weakness(one) for one in self.examination.weaknesses],
            "numbers": {
                key: {
                    "title": one.of.title, "theme": one.of.theme, "unit": one.of.unit,
                    "good": one.of.good, "scope": one.of.scope, "about": one.of.about,
                    "rank": one.rank, "p": one.p,
                    "freedom": one.freedom, "level": one.level, "detectable": one.detectable,
                    **_plain(one.own),
                    "panel": {name: _plain(its) for name, its in one.panel.items()},
                }
                for key, one in self.numbers.items()
            },
            "values": {"columns": list(PAIRED), "rows": _behind(self)},
        }  # fmt: skip

    def write(self, path: Path | str) -> None:
        """Write the profile as JSON; an existing file is replaced, whole.

        Raises:
            CheaptalkError: the file cannot be written.
        """
        try:
            with whole_file(Path(path)) as file:
                json.dump(self.as_json(), file, indent=1)
        except OSError as error:
            raise CheaptalkError(f"{path}: cannot be written: {error.strerror}") from error


def _plain(one: Estimate) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high, "error": one.error,
            "matches": one.n, "deals": one.clusters, "wanted": one.wanted}  # fmt: skip


COUNTED = ("calls", "requests", "timeouts", "errors")
"""The counts of :class:`~cheaptalk.profiles.requests.Requests` that a profile's file sums up."""
EFFECTS = ("changed", "size", "signed")
"""The effects of a manipulation."""


def _weakness(one: Weakness) -> dict[str, Any]:
    effects = {kind: getattr(one, kind) for kind in EFFECTS}
    return {
        "key": one.key, "title": one.title, "verdict": one.verdict, "variant": one.variant,
        "evidence": one.sentence, "triggered": one.tested, "unit": one.unit, "p": one.p,
        "effect": one.effect.value, "low": one.effect.low, "high": one.effect.high,
        **{kind: None if effect is None else _ends(effect) for kind, effect in effects.items()},
        "match": one.match, "twin": one.twin,
    }  # fmt: skip


def _ends(one: Estimate) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _behind(profile: Profile) -> dict[str, list[list[Any]]]:
    """The player's values behind each number, by which versions are compared in pairs."""
    return {
        key: [list(row) for row in one.of.values.filter(player=profile.player)
              .select(PAIRED).sort(PAIRED).iter_rows()]
        for key, one in profile.numbers.items()
    }  # fmt: skip


def profile_of(
    store: Store, study: str, player: str, entry: RosterEntry, battery: Battery, size: str
) -> Profile:
    """The profile of a player of a study that a battery made, as far as it was played.

    Args:
        study: see :meth:`.Battery.study`.
        player: what the player is called.
        entry: the player.

    Raises:
        StoreError: there is no such study.
        NothingPlayed: no match of the player has ended.
    """
    alike = {} if player in battery.panel else battery.alike(entry)
    found = seats(store, study, battery, player, alike)
    numbers = {one.key: number for one in quantities(found, battery)
               if (number := _number(one, player, battery, found)) is not None}  # fmt: skip
    crashed = [*failed_matches(store, study, battery, player)]
    failed = Counter(one.reason for one in crashed)
    if not numbers:
        why = f" ({failed_text(failed)})" if failed else ""
        raise NothingPlayed(f"{study}: no match of {player} has ended{why}; play them first")
    examined = examine(found, player, battery, crashed)
    tested = _with_weaknesses(_tested(numbers, player), examined)
    return Profile(
        player, battery, size, study, found, tested, failed, examined, entry=entry_digest(entry)
    )


def entry_digest(entry: RosterEntry) -> str:
    """Return a digest of which model, agent or strategy an entry names, settings left out.

    It tells players of one name apart without their addresses, which may hold a password.
    """
    written = entry.written()
    return digest(written.get("model", written))


def failed_text(failures: Mapping[str, int]) -> str:
    """How many matches failed, with the three most frequent reasons.

    >>> failed_text({"status 500": 2, "no answer": 1})
    '3 matches failed: 2 x status 500, 1 x no answer'
    """
    ordered = sorted(failures.items(), key=lambda one: (-one[1], one[0]))
    reasons = [f"{count:,} x {reason}" for reason, count in ordered[:REASONS]]
    rest = len(ordered) - REASONS
    reasons += [f"and {counted(rest, 'other reason')}"] if rest > 0 else []
    return f"{counted(sum(failures.values()), 'match')} failed: {', '.join(reasons)}"


def _with_weaknesses(numbers: Mapping[str, Number], examined: Examination) -> Mapping[str, Number]:
    """Return numbers with the interval of the weakness that has the same value, if there is one.

    A finding and a gate on its metric thus never contradict each other.
    """
    effects = {
        key: effect for one in examined.tested for key, effect in (
            (one.key, one.signed or one.effect), (f"{one.key}.size", one.size),
            (f"{one.key}.changed", one.changed),
        ) if effect is not None
    }  # fmt: skip
    return {
        key: _as_weakness(one, effects[key]) if key in effects else one
        for key, one in numbers.items()
    }


def _as_weakness(number: Number, effect: Estimate) -> Number:
    """Return a number with the interval of a weakness, if both have the same value."""
    value, n = effect.value or 0.0, effect.n or 0
    if n < 2 or abs((number.own.value or 0.0) - value) > SLACK:
        return number
    exact = effect.error is None  # of a share
    error = (value * (1 - value) / n) ** 0.5 if exact else effect.error
    wanted = None if exact else number.own.wanted
    own = Estimate(effect.value, effect.low, effect.high, error, n, effect.clusters, wanted)
    return number._replace(own=own, freedom=n - 1.0)


def _tested(numbers: Mapping[str, Number], player: str) -> Mapping[str, Number]:
    """Numbers with what chance would do of those between twins."""
    chances = {key: _chance(one.of, player) for key, one in numbers.items() if one.of.twins}
    corrected = dict(zip(chances, map(float, holm([*chances.values()])), strict=True))
    first = LEVEL / max(1, len(chances))
    return {
        key: one._replace(p=corrected[key], level=first) if key in corrected else one
        for key, one in numbers.items()
    }


def detectable(number: Number, level: float | None = None) -> float | None:
    """Return the smallest effect that the size of a profile detects with 80 % power.

    An effect is the distance of the true mean from a value that it is tested against, such as 0 for
    a difference between twin matches, or the limit of a gate.

    Args:
        number: a number of a profile.
        level: of the two-sided test, in (0, 1); by default the one actually used, ``number.level``.

    Returns:
        The effect in the unit of the number; None if the size detects no effect at this level that
        the range of the number allows.
    """
    level = number.level if level is None else level
    own, value = number.own, number.own.value or 0.0
    if number.of.twins and not permits(own.clusters, level):
        return None
    reach, largest = (
        max(value - least, most - value) for least, most in (number.of.bounds, number.of.range)
    )
    return detectable_effect(own.error, number.freedom, own.clusters, reach, level, largest)


def _chance(of: Quantity, player: str) -> float:
    """How often differences whose signs are flipped at random, one for all that share their luck,
    give a mean as far from 0."""
    alike = of.values.filter(player=player).group_by("stratum", "cluster", maintain_order=True)
    differences = alike.agg(pl.col("value").sum())["value"].sort().to_numpy()
    moved = differences[np.abs(differences) > SLACK]
    return permutation_test(moved, 0 * moved, paired=True).p if len(moved) else 1.0


def _number(of: Quantity, player: str, battery: Battery, table: pl.DataFrame) -> Number | None:
    """A quantity's means, of those who sit wherever the player has values; None where it has
    none."""
    seats = of.values.filter(player=player).select(SEAT).unique()
    if seats.is_empty():
        return None
    values = of.values.join(seats, SEAT, validate="m:1", maintain_order="left")
    filled = (
        table.join(seats, SEAT, validate="m:1", maintain_order="left")
        .group_by("player", maintain_order=True)
        .agg(pl.struct(SEAT).n_unique().alias("of"))
    )
    whole = set(filled.filter(pl.col("of") == len(seats))["player"]) & set(values["player"])
    who = [player, *(name for name in battery.panel if name != player and name in whole)]
    values = values.filter(pl.col("player").is_in(who))
    chance = of.twins and bool(values.filter(player=player)["draws"].any())
    mean = mean_differences if chance else stratified_means
    means = mean(values, "value", ["player"], bounds=of.bounds)
    least, most = of.bounds
    means = means.with_columns(pl.col("low", "high").clip(least, most))
    found = {
        row["player"]: Estimate(
            row["mean"], row["low"], row["high"], row["error"], row["n"], row["clusters"],
            row["wanted"],
        )
        for row in means.iter_rows(named=True)
    }  # fmt: skip
    if of.fitted:
        found = {name: _nonnegative(_if_varied(one)) for name, one in found.items()}
    own = found.pop(player)
    freedom = means.filter(player=player)["freedom"].item() or None
    panel = {name: found[name] for name in who if name in found}
    return Number(of, own, panel, freedom=freedom)


def _nonnegative(one: Estimate) -> Estimate:
    """An estimate of what is at least 0 by its definition, cut off there with its interval."""
    value, low, high = (None if part is None else max(0.0, part) for part in one[:3])
    return one._replace(value=value, low=low, high=high)


def _if_varied(one: Estimate) -> Estimate:
    """An estimate; without what is known of its uncertainty if its values are all equal."""
    return one if one.error else one._replace(low=None, high=None, error=None, clusters=None)
