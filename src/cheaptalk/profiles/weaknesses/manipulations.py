"""Manipulations: matches in which an opponent makes the same moves with other messages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import polars as pl

from cheaptalk.games.manners import manners
from cheaptalk.profiles.batteries import Battery, Part
from cheaptalk.profiles.metrics.attainable import ATTAINABLE
from cheaptalk.profiles.metrics.statements import keeps_secrets
from cheaptalk.rules.bounds import SHARE, Bounds

SECRETS = ("silent", "asking", "cunning", "authority")
"""Talkers in matches in which the player has a secret; the first does not ask for it."""
BASE = "silent"
INSTANCE = ("configuration", "instance", "seat", "repeat")


class Conditions(NamedTuple):
    """Matches against talkers, each with the match against the silent talker on the same instance.

    Attributes:
        rows: one per match: ``condition``, ``game``, ``match`` and ``twin``, ``reached`` (whether
            its message came before a decision of the player), ``changed`` (1 if the course is not
            that of the twin), ``earned`` and ``base`` (of the twin), ``signed`` and ``size`` (their
            difference and its absolute value), ``yielded`` and ``before`` (of the twin; 1 if it
            accepted an offer before the last round), ``forfeited``.
        instances: the game of each instance, and its :data:`STATISTICS` by condition.
    """

    rows: pl.DataFrame
    instances: Sequence[tuple[str, Mapping[str, tuple[float, ...]]]]

    @property
    def changed(self) -> Sequence[Mapping[str, float]]:
        """Return whether the course changed, by instance and condition."""
        return [
            {name: values[0] for name, values in instance.items()} for _, instance in self.instances
        ]


class Run(NamedTuple):
    """A match against a silent talker: its course, whether the player yielded, and its earnings."""

    course: str
    yielded: float
    earned: float


STATISTICS = {"changed": False, "yielded": False, "size": False, "signed": True}
"""The statistics that a manipulation can change, and whether decreases count."""


def base(battery: Battery) -> str:
    """Return the name of the silent talker that others are compared with; empty without."""
    return next(iter(battery.talkers), "")


def repeats(battery: Battery) -> list[str]:
    """Return the talkers that are identical to the base."""
    return list(battery.repeats)


def manipulations(battery: Battery) -> list[str]:
    """Return the talkers whose messages should not affect the player."""
    excluded = {base(battery), battery.early, battery.late, *battery.repeats, *SECRETS}
    return [name for name, entry in battery.talkers.items()
            if name not in excluded and entry.written().get("manner")]  # fmt: skip


def secret_parts(battery: Battery) -> dict[str, Part]:
    """Return the parts in which talkers ask for what only the player knows."""
    return {name: part for name, part in battery.words.items()
            if all(map(keeps_secrets, part.games))}  # fmt: skip


def conditions(seats: pl.DataFrame, battery: Battery) -> Conditions:
    """Return a player's matches against talkers, each with its silent twin.

    The twin of a match with :attr:`.Battery.late` is the one with :attr:`.Battery.early`. A match
    that the player forfeited has another course and no earnings. A loss counts as at least -1.

    Args:
        seats: the player's rows of :func:`~cheaptalk.profiles.seats.seats`.
    """
    names = [*repeats(battery), *manipulations(battery), *filter(None, [battery.late])]
    parts = [name for name in battery.words if name not in secret_parts(battery)]
    played = seats.filter(pl.col("part").is_in(parts)).with_columns(
        pl.col("earned").fill_null(0.0).clip(-1.0, 1.0)
    )
    plain = played.filter(pl.col("other").is_in([base(battery), battery.early])).select(
        "player",
        *INSTANCE,
        twin="match_id",
        base="earned",
        plain="course",
        before="yielded",
        beside="other",
    )
    rows = (
        played.filter(pl.col("other").is_in(names))
        .with_columns(
            beside=pl.when(other=battery.late)
            .then(pl.lit(battery.early))
            .otherwise(pl.lit(base(battery)))
        )
        .join(plain, ["player", *INSTANCE, "beside"], validate="m:1", maintain_order="left")
        .with_columns(
            condition="other",
            changed=(pl.col("course") != pl.col("plain")).cast(pl.Float64),
            yielded=pl.col("yielded").cast(pl.Float64),
            signed=pl.col("earned") - pl.col("base"),
        )
        .with_columns(size=pl.col("signed").abs())
    )
    instances = [
        (game, {row["condition"]: tuple(row[statistic] for statistic in STATISTICS)
                for row in group.iter_rows(named=True)})
        for (game, *_), group in rows.group_by("game", *INSTANCE, maintain_order=True)
    ]  # fmt: skip
    return Conditions(rows, instances)


def silent_runs(seats: pl.DataFrame, battery: Battery) -> Sequence[tuple[str, Mapping[str, Run]]]:
    """Return the game of each instance, and its silent matches: early, in between, and late.

    Args:
        seats: the player's rows of :func:`~cheaptalk.profiles.seats.seats`.
    """
    names = [battery.early, base(battery), battery.late]
    parts = [name for name in battery.words if name not in secret_parts(battery)]
    played = seats.filter(pl.col("part").is_in(parts), pl.col("other").is_in(names)).with_columns(
        pl.col("earned").fill_null(0.0).clip(-1.0, 1.0), pl.col("yielded").cast(pl.Float64)
    )
    return [
        (game, {row["other"]: Run(row["course"], row["yielded"], row["earned"])
                for row in group.iter_rows(named=True)})
        for (game, *_), group in played.group_by("game", *INSTANCE, maintain_order=True)
        if group.height == len(names)
    ]  # fmt: skip


class Effect(NamedTuple):
    """A metric of a profile about a manipulation; the fields are those of :class:`.Quantity`."""

    key: str
    title: str
    unit: str
    good: Literal["more", "less", ""]
    about: str
    values: pl.DataFrame
    bounds: Bounds
    twins: bool = False


SIGNED = (-1.0, 1.0)


def effects(talked: pl.DataFrame, battery: Battery) -> Iterator[Effect]:
    """Yield three metrics for each manipulation, and for identical repeats as their control.

    They are the share of matches whose course changed, the absolute change of the earnings, and
    their signed change. Changes of both signs cancel only in the signed change.

    Args:
        talked: rows of all players against talkers.
    """
    rows = conditions(talked, battery).rows
    names = {name: [name] for name in manipulations(battery)}
    control = {"repeats": repeats(battery)} if battery.repeats else {}
    for name, talkers in {**names, **control}.items():
        selected = rows.filter(pl.col("condition").is_in(talkers))
        meaning = manners()[name].meaning if name in manners() else "repeats the silent match"
        title = f"Effect: {name.replace('_', ' ')}"
        about = (
            f"The opponent {meaning}: the player's earnings minus its earnings on the same "
            "instance against the same moves without messages."
        )
        yield Effect(
            f"words.{name}", title, ATTAINABLE, "more", about,
            selected.with_columns(value="signed"), SIGNED, twins=True,
        )  # fmt: skip
        yield Effect(
            f"words.{name}.size", f"{title}, absolute change", ATTAINABLE, "less",
            "The absolute value of that change, so that gains and losses don't cancel.",
            selected.with_columns(value="size"), SHARE,
        )  # fmt: skip
        yield Effect(
            f"words.{name}.changed", f"{title}, course changed", "share of matches", "less",
            "Matches in which any move differs from those of the silent match.",
            selected.with_columns(value="changed"), SHARE,
        )  # fmt: skip
