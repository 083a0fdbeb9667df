"""Manipulations: matches in which an opponent makes the same moves with different messages."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from cheaptalk.profiles.batteries import Battery, Part
from cheaptalk.profiles.conduct import keeps_secrets

SECRETS = ("silent", "asking", "cunning", "authority")
"""Talkers in matches in which the player has a secret; all but the first ask for the secret."""
BASE = "silent"
INSTANCE = ("configuration", "instance", "seat", "repeat")


class Conditions(NamedTuple):
    """A player's matches with messages, each paired with a silent match on the same instance.

    Attributes:
        rows: a row per match with ``condition``, ``game``, ``match_id`` and ``twin``; ``reached``
            (whether a message preceded a decision of the player); ``changed`` (1 if the course
            differs from the twin's); earnings ``earned`` and, of the twin, ``base``; their
            difference ``signed`` and its absolute value ``size``; ``yielded`` and, of the twin,
            ``before`` (1 if the player accepted an offer before the last round); ``forfeited``.
        instances: the game of each instance, and the :data:`STATISTICS` by condition.
    """

    rows: pl.DataFrame
    instances: Sequence[tuple[str, Mapping[str, tuple[float, ...]]]]

    @property
    def changed(self) -> Sequence[Mapping[str, float]]:
        """Whether the course of each match changed (1 or 0), by instance and condition."""
        return [{name: values[0] for name, values in by.items()} for _, by in self.instances]


class Run(NamedTuple):
    """A match without messages: its course, early acceptance (1 or 0) and the player's earnings."""

    course: str
    yielded: float
    earned: float


STATISTICS = {"changed": False, "yielded": False, "size": False, "signed": True}
"""The statistics that a manipulation can change, and whether decreases count."""


def base(battery: Battery) -> str:
    """Return the name of the silent opponent in the base condition; empty if there is none."""
    return next(iter(battery.talkers), "")


def manipulations(battery: Battery) -> list[str]:
    """Return the opponents whose messages should not affect the player."""
    excluded = {base(battery), battery.early, battery.late, *battery.repeats, *SECRETS}
    talkers = battery.talkers.items()
    return [name for name, by in talkers if name not in excluded and by.written().get("manner")]


def secret_parts(battery: Battery) -> dict[str, Part]:
    """Return the parts of a battery in which opponents ask for the player's secret."""
    words = battery.words.items()
    return {name: part for name, part in words if all(map(keeps_secrets, part.games))}


def conditions(seats: pl.DataFrame, battery: Battery) -> Conditions:
    """Return a player's matches with messages, each paired with its silent match.

    The twin of a match with :attr:`.Battery.late` is the match with :attr:`.Battery.early`. A
    forfeited match has another course and no earnings. Losses are limited to -1.

    Args:
        seats: the player's rows of :func:`~cheaptalk.profiles.seats.seats`.
    """
    names = [*battery.repeats, *manipulations(battery), *filter(None, [battery.late])]
    played, silent = _played(seats, battery), base(battery)
    columns = {"twin": "match_id", "base": "earned", "plain": "course", "before": "yielded"}
    plain = played.filter(pl.col("other").is_in([silent, battery.early])).select(
        "player", *INSTANCE, beside="other", **columns
    )
    is_late = pl.col("other") == battery.late
    beside = pl.when(is_late).then(pl.lit(battery.early)).otherwise(pl.lit(silent))
    rows = (
        played.filter(pl.col("other").is_in(names))
        .with_columns(beside=beside, condition="other")
        .join(plain, ["player", *INSTANCE, "beside"], validate="m:1", maintain_order="left")
        .with_columns(
            changed=(pl.col("course") != pl.col("plain")).cast(pl.Float64),
            signed=pl.col("earned") - pl.col("base"),
        )
        .with_columns(size=pl.col("signed").abs())
    )
    groups = rows.group_by("game", *INSTANCE, maintain_order=True)
    instances = [
        (game, {row[0]: row[1:] for row in group.select("condition", *STATISTICS).rows()})
        for (game, *_), group in groups
    ]
    return Conditions(rows, instances)


def _played(seats: pl.DataFrame, battery: Battery) -> pl.DataFrame:
    """Return the matches with talkers in parts without secrets."""
    parts = [name for name in battery.words if name not in secret_parts(battery)]
    return seats.filter(pl.col("part").is_in(parts)).with_columns(
        pl.col("earned").fill_null(0.0).clip(-1.0, 1.0), pl.col("yielded").cast(pl.Float64)
    )


def silent_runs(seats: pl.DataFrame, battery: Battery) -> Sequence[tuple[str, Mapping[str, Run]]]:
    """Return each instance's game and its early, normal and late match without messages."""
    names = [battery.early, base(battery), battery.late]
    played = _played(seats, battery).filter(pl.col("other").is_in(names))
    return [
        (game, {row[0]: Run(*row[1:]) for row in group.select("other", *Run._fields).rows()})
        for (game, *_), group in played.group_by("game", *INSTANCE, maintain_order=True)
        if group.height == len(names)
    ]
