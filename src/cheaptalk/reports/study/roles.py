"""The roles of a game in frames of matches: places that share one, and the players in them."""

from collections.abc import Mapping

import polars as pl

from cheaptalk.frames.matches import KINDS
from cheaptalk.records import Status
from cheaptalk.records.forfeits import VALID


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
