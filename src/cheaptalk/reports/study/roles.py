"""Roles in frames of matches: roles with several seats, and the players who fill them."""

from collections.abc import Mapping

import polars as pl

from cheaptalk.frames.matches import KINDS
from cheaptalk.records import Status
from cheaptalk.records.forfeits import VALID


def seats_by_role(seats: Mapping[str, str], order: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the seats of each role, in the order of roles in the rules.

    >>> seats_by_role({"bidder_1": "bidder", "bidder_2": "bidder"}, ("seller", "bidder"))
    {'bidder': ['bidder_1', 'bidder_2']}
    """
    roles = dict.fromkeys([*(role for role in order if role in seats.values()), *seats.values()])
    return {role: [seat for seat, its in seats.items() if its == role] for role in roles}


def columns(name: str) -> list[str]:
    """Return the names of a seat's or role's columns: player, payoff and kinds of answers."""
    return [f"player_{name}", f"payoff_{name}", *(f"answers_{name}_{kind}" for kind in KINDS)]


def seat_count(role: str) -> str:
    """Return the name of the column with the number of seats in a role's mean payoff."""
    return f"seats.{role}"


def with_roles(frame: pl.DataFrame, roles: Mapping[str, list[str]]) -> pl.DataFrame:
    """Add each multi-seat role's mean payoff, number of paid seats and counts of answers."""
    added = []
    for role, seats in roles.items():
        if seats != [role]:
            _, *targets = columns(role)
            _, payoffs, *kinds = zip(*map(columns, seats), strict=True)
            sums = [pl.mean_horizontal(payoffs), *map(pl.sum_horizontal, kinds)]
            added += [total.alias(name) for name, total in zip(targets, sums, strict=True)]
            paid = pl.sum_horizontal(pl.col(payoffs).is_not_null())
            added.append(paid.cast(pl.UInt32).alias(seat_count(role)))
    return frame.with_columns(added)


OTHERS = "forfeited by others"
"""The status of a match for a player who did not cause its forfeit."""


def with_own_forfeits(frame: pl.DataFrame, role: str) -> pl.DataFrame:
    """Give a separate status to matches that only other players forfeited."""
    invalid = pl.sum_horizontal([f"answers_{role}_{kind}" for kind in KINDS if kind not in VALID])
    by_others = (pl.col("status") == Status.FORFEITED.value) & (invalid == 0)
    status = pl.when(by_others).then(pl.lit(OTHERS)).otherwise("status")
    return frame.with_columns(status.alias("status"))


def by_player(frame: pl.DataFrame, role: str, seats: list[str]) -> pl.DataFrame:
    """Return one row per match and player of a role, so that a match counts once per player.

    The payoff is the mean over the seats that the player fills in the match, and the answers are
    their sum. A role with one seat has one row per match.
    """
    if seats == [role]:
        return frame.drop_nulls(f"player_{role}")
    player, payoff, *kinds = columns(role)
    pooled = {seat_count(role), *(name for group in (role, *seats) for name in columns(group))}
    shared = [name for name in frame.columns if name not in pooled]
    frames = [
        frame.select(*shared, *(
            pl.col(name).alias(its) for name, its in
            zip(columns(seat), columns(role), strict=True)
        ))
        for seat in seats
    ]  # fmt: skip
    shared_columns = pl.col([name for name in shared if name != "match_id"])
    return (
        pl.concat(frames)
        .drop_nulls(player)
        .group_by("match_id", player, maintain_order=True)
        .agg(
            shared_columns.first(),
            pl.col(payoff).count().alias(seat_count(role)),
            pl.col(payoff).mean(),
            pl.col(kinds).sum(),
        )
    )
