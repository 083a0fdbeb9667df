"""Rows of tables of scores: matches that have players in common, counted and averaged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from cheaptalk.frames.matches import KINDS, SCORED
from cheaptalk.players import Kind
from cheaptalk.records import Status, line_up, query_of
from cheaptalk.records.forfeits import VALID
from cheaptalk.statistics import STRATA, mean_intervals
from cheaptalk.statistics.intervals import Bounds, BoundsColumns
from cheaptalk.text import interval_text

SeatLabels: TypeAlias = tuple[str | None, ...]


class ScoreEstimate(NamedTuple):
    """A mean over n matches in so many clusters; see :func:`.mean_intervals`."""

    mean: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    wanted: int | None = None

    def interval(self, places: int) -> str:
        """The interval as it stands behind the mean, with so many decimals."""
        if self.low is None or self.high is None:
            return "one deal" if self.clusters == 1 else "did not vary"
        few = self.wanted is not None
        return interval_text(self.mean, self.low, self.high, self.clusters, places, few=few)


@dataclass(frozen=True)
class Score:
    """A column of numbers: a measure of the game, or a role's payoff.

    Attributes:
        key: the column of the game's frame.
        title: what people read.
        meaning: what it is, its formula and its source.
        unit: what it is counted in.
        role: whose gain it is, if it is one role's.
        published: what the published variant is, where it differs.
        bounds: the least and the most that it can be, or the columns that tell it of each match.
    """

    key: str
    title: str
    meaning: str
    unit: str
    role: str | None = None
    published: str | None = None
    bounds: Bounds | BoundsColumns = (-inf, inf)


@dataclass(frozen=True)
class ScoreLine:
    """A row of a table of scores: some matches that have players in common.

    Attributes:
        players: labels by place, or the label of one role.
        counts: matches by status; of a player, only its own forfeits are counted as such.
        kinds: answers by kind of all in ``players``, in matches of any status.
        estimates: means by score.
        without: a place that other matches of the game have and these do not.
    """

    players: dict[str, str]
    counts: dict[str, int]
    kinds: dict[str, int]
    estimates: dict[str, ScoreEstimate]
    without: str | None = None

    @property
    def label(self) -> str:
        """The players in one line."""
        return line_up(list(self.players.values()))

    @property
    def query(self) -> dict[str, str]:
        """What picks these matches out in the viewer."""
        return query_of(self.players, self.without)

    def ended(self, status: str) -> dict[str, str]:
        """What picks those of these matches out that have a status."""
        forfeits = {}
        if status == Status.FORFEITED.value and len(self.players) == 1:
            forfeits = {f"forfeit.{role}": label for role, label in self.players.items()}
        return self.query | {"status": status} | forfeits

    @property
    def answers(self) -> int:
        return sum(self.kinds.values())

    @property
    def faults(self) -> dict[str, int]:
        """The answers that were not valid at the first try, by kind."""
        return {kind: count for kind, count in self.kinds.items() if count and kind != Kind.OK}


def lines_of(
    frame: pl.DataFrame, names: list[str], roles: list[str], scores: list[Score]
) -> list[ScoreLine]:
    """A line for each combination of players in these places, or in a role."""
    by = [f"player.{name}" for name in names]
    sums = [
        pl.sum_horizontal([f"kind.{role}.{kind}" for role in roles]).sum().alias(kind)
        for kind in KINDS
    ]
    rows = _keyed(frame.group_by(by).agg(pl.col("status").value_counts(), *sums), len(by))
    bounds = {score.key: score.bounds for score in scores}
    estimates = score_estimates(frame.filter(SCORED), by, bounds, strata=STRATA)
    lines = []
    for labels, (statuses, *kinds) in sorted(rows, key=lambda row: [one or "" for one in row[0]]):
        players = {name: label for name, label in zip(names, labels, strict=True)
                   if label is not None}  # fmt: skip
        without = next((name for name in names if name not in players), None)
        counts = {one["status"]: one["count"] for one in statuses}
        answers = dict(zip(KINDS, kinds, strict=True))
        lines.append(ScoreLine(players, counts, answers, estimates.get(labels, {}), without))
    return lines


def score_estimates(
    frame: pl.DataFrame,
    by: list[str],
    bounds: Mapping[str, Bounds | BoundsColumns],
    *,
    strata: Sequence[str] = (),
) -> dict[SeatLabels, dict[str, ScoreEstimate]]:
    """Means of scores, of which ``bounds`` has what they can be, for each combination of ``by``."""
    found: dict[SeatLabels, dict[str, ScoreEstimate]] = {}
    cells = mean_intervals(frame, list(bounds), by, strata=strata, bounds=bounds)
    for labels, (key, *numbers) in _keyed(
        cells.select(*by, "measure", *ScoreEstimate._fields), len(by)
    ):
        found.setdefault(labels, {})[key] = ScoreEstimate(*numbers)
    return found


def _keyed(frame: pl.DataFrame, width: int) -> list[tuple[SeatLabels, tuple[Any, ...]]]:
    """The rows of a frame: their first columns, then the rest."""
    return [(row[:width], row[width:]) for row in frame.iter_rows()]


def places_by_role(places: Mapping[str, str], order: tuple[str, ...]) -> dict[str, list[str]]:
    """The places of each role, the roles in the order of the rules.

    >>> places_by_role({"bidder_1": "bidder", "bidder_2": "bidder"}, ("seller", "bidder"))
    {'bidder': ['bidder_1', 'bidder_2']}
    """
    roles = dict.fromkeys([*(role for role in order if role in places.values()), *places.values()])
    return {role: [place for place, its in places.items() if its == role] for role in roles}


def columns(name: str) -> list[str]:
    """The columns that tell of a place or role: who, what they got, how they answered."""
    return [f"player.{name}", f"payoff.{name}", *(f"kind.{name}.{kind}" for kind in KINDS)]


def seats(role: str) -> str:
    """The column that tells over how many places of a role the mean payoff is."""
    return f"seats.{role}"


def with_roles(frame: pl.DataFrame, roles: Mapping[str, list[str]]) -> pl.DataFrame:
    """A frame of matches with columns for roles of several places.

    They are the mean payoff over these, how many were paid, and the sums of their answers.
    """
    added = []
    for role, places in roles.items():
        if places != [role]:
            _, *own = columns(role)
            _, payoffs, *kinds = zip(*map(columns, places), strict=True)
            sums = [pl.mean_horizontal(payoffs), *map(pl.sum_horizontal, kinds)]
            added += [made.alias(name) for name, made in zip(own, sums, strict=True)]
            paid = pl.sum_horizontal(pl.col(payoffs).is_not_null())
            added.append(paid.cast(pl.UInt32).alias(seats(role)))
    return frame.with_columns(added)


OTHERS = "forfeited by others"
"""The status of a match to a player who had no part in its forfeit."""


def with_own_forfeits(frame: pl.DataFrame, role: str) -> pl.DataFrame:
    """A frame of :func:`by_player` in which only the forfeits of the player itself are its own."""
    invalid = pl.sum_horizontal([f"kind.{role}.{kind}" for kind in KINDS if kind not in VALID])
    by_others = (pl.col("status") == Status.FORFEITED.value) & (invalid == 0)
    status = pl.when(by_others).then(pl.lit(OTHERS)).otherwise("status")
    return frame.with_columns(status.alias("status"))


def by_player(frame: pl.DataFrame, role: str, places: list[str]) -> pl.DataFrame:
    """One row a match and player of a role, so that a match counts once however often it sits.

    The payoff is the mean over the places that the player fills in the match, the answers their
    sum. A role of one place has a row a match.

    Args:
        frame: matches, with columns for roles.
        places: those of the role.
    """
    if places == [role]:
        return frame.drop_nulls(f"player.{role}")
    player, payoff, *kinds = columns(role)
    own = {seats(role), *(name for one in (role, *places) for name in columns(one))}
    shared = [name for name in frame.columns if name not in own]
    apart = [
        frame.select(*shared, *(
            pl.col(name).alias(its) for name, its in
            zip(columns(place), columns(role), strict=True)
        ))
        for place in places
    ]  # fmt: skip
    rest = pl.col([name for name in shared if name != "match"])
    return (
        pl.concat(apart)
        .drop_nulls(player)
        .group_by("match", player, maintain_order=True)
        .agg(
            rest.first(),
            pl.col(payoff).count().alias(seats(role)),
            pl.col(payoff).mean(),
            pl.col(kinds).sum(),
        )
    )
