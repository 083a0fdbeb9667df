"""Comparable players: players who met the same opponents in the same configurations.

All headlines and rankings use this rule. Two players met the same opponents if exchanging their
names makes their opponents equal: in a round robin, each meets the other, and not necessarily
itself. Players who share the role are drawn together with it and aren't opponents.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import polars as pl

from cheaptalk.frames.matches import KINDS
from cheaptalk.records import Status
from cheaptalk.records.descriptions import VALID

OPPONENTS = "opponents"
"""The column of the players in the seats of all other roles."""


class Encounter(NamedTuple):
    """The opponents that a player met in a cell, by seat; empty for an empty seat."""

    cell: tuple[str, ...]
    opponents: tuple[str, ...]


Encounters: TypeAlias = Mapping[str, set[Encounter]]
"""The encounters of one player."""


def with_opponents(
    frame: pl.DataFrame, role: str, roles: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Add each player's opponents to the rows of :func:`by_player`."""
    seats = [f"player_{seat}" for other in roles if other != role for seat in roles[other]]
    opponents = [pl.col(seat).fill_null("") for seat in seats]
    none = pl.lit([], dtype=pl.List(pl.String))
    return frame.with_columns((pl.concat_list(opponents) if seats else none).alias(OPPONENTS))


def encounters(
    rows: pl.DataFrame, player: str, cell: Sequence[str], score: str
) -> dict[str, set[Encounter]]:
    """Return which opponents each player met in each configuration and role (``cell``).

    A failed match, with a null score, does not make players incomparable: it counts as an encounter
    if another player finished a match with these opponents. Opponents with whom no player finished
    a match are ignored.
    """
    met: dict[str, set[Encounter]] = {}
    counts = pl.col(score).is_not_null().any().over(*cell, pl.col(OPPONENTS).list.join("\0"))
    played = rows.filter(counts).select(player, OPPONENTS, *cell)
    for label, opponents, *row in played.unique(maintain_order=True).iter_rows():
        met.setdefault(label, set()).add(Encounter(tuple(row), tuple(opponents)))
    return met


def comparable_sets(met: Encounters) -> list[list[str]]:
    """Group players who met the same opponents, in the order of the given players."""
    sets: list[list[str]] = []
    for label in met:
        for members in sets:
            if all(_met_alike(met, label, member) for member in members):
                members.append(label)
                break
        else:
            sets.append([label])
    return sets


def head_to_head(met: Encounters) -> str:
    """Return a caution if comparable players met one another but never copies of themselves."""
    met_itself = any(
        label in row.opponents for label, encounter in met.items() for row in encounter
    )
    if met_itself or len({frozenset(encounter) for encounter in met.values()}) == 1:
        return ""
    return (
        " No player met a copy of itself, so each concession raised a rival's payoff: generous "
        "players may rank lower than they would against the same opponents."
    )


def largest_comparable_set(met: Encounters) -> tuple[list[str], list[str]]:
    """Return the players to rank, and the players whose matches must be excluded.

    The players to rank have matches in all cells, or are the largest comparable set. A newcomer who
    met only some of the others would make them incomparable. So players with fewer encounters are
    excluded, with the matches against them, if that makes more of the others comparable.
    """
    cells = {encounter.cell for cells in met.values() for encounter in cells}
    best: tuple[list[str], list[str]] = [], []
    best_size = False, 0, 0, 0
    for fewest in sorted({len(cells) for cells in met.values()}):
        without = sorted(label for label, cells in met.items() if len(cells) < fewest)
        remaining = _without(met, without)
        for members in comparable_sets(remaining):
            first = remaining[members[0]]
            complete = {encounter.cell for encounter in first} == cells and len(members) > 1
            size = complete, len(members), -len(without), len(first)
            if size > best_size:
                best, best_size = (sorted(members), without), size
    return best


def _without(met: Encounters, labels: Sequence[str]) -> Encounters:
    return {
        label: {label for label in cells if not set(labels) & set(label.opponents)}
        for label, cells in sorted(met.items())
        if label not in labels
    }


def _met_alike(met: Encounters, first: str, second: str) -> bool:
    if len(met[first]) != len(met[second]):
        return False
    if met[first] == met[second]:
        return True
    swap = {first: second, second: first}
    return met[second] == {
        Encounter(cell, tuple(swap.get(label, label) for label in opponents))
        for cell, opponents in met[first]
    }


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
        frame.select(
            *shared,
            *(
                pl.col(name).alias(its)
                for name, its in zip(columns(seat), columns(role), strict=True)
            ),
        )
        for seat in seats
    ]
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
