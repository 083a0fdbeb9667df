"""Comparable players: players who met the same opponents in the same configurations.

All headlines and rankings use this rule. Two players met the same opponents if exchanging their
names makes their opponents equal: in a round robin, each meets the other, and not necessarily
itself. Players who share the role are drawn together with it and aren't opponents.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import polars as pl

OPPONENTS = "opponents"
"""The column of the players in the seats of all other roles."""


class Encounter(NamedTuple):
    """The opponents that a player met in one role of a configuration of a game.

    ``opponents`` are labels by seat, empty for an empty seat.
    """

    cell: tuple[str, ...]
    opponents: tuple[str, ...]


Encounters: TypeAlias = Mapping[str, set[Encounter]]
"""The encounters of one player."""


class Comparable(NamedTuple):
    """Players who can be ranked, and players whose matches must be excluded."""

    players: list[str]
    without: list[str]


def with_opponents(
    frame: pl.DataFrame, role: str, roles: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Add each player's opponents to a frame with one row for each match and player of a role.

    Args:
        frame: rows as :func:`.by_player` returns them.
        roles: the seats of each role.
    """
    seats = [f"player_{seat}" for other in roles if other != role for seat in roles[other]]
    opponents = [pl.col(seat).fill_null("") for seat in seats]
    none = pl.lit([], dtype=pl.List(pl.String))
    return frame.with_columns((pl.concat_list(opponents) if seats else none).alias(OPPONENTS))


def encounters(
    rows: pl.DataFrame, player: str, cell: Sequence[str], score: str
) -> dict[str, set[Encounter]]:
    """Return which opponents each player met in each configuration and role.

    A failed match does not make players incomparable: it counts as an encounter if another player
    finished a match with these opponents. Opponents with whom no player finished a match are
    ignored.

    Args:
        rows: matches of any status, with :data:`OPPONENTS`.
        player: the column of the player.
        cell: the columns that identify a configuration and role.
        score: a column that is null in matches without a score.
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
    """Return a caution if comparable players met one another but never copies of themselves.

    In such matches, a generous player raises its rivals' payoffs but not its own.
    """
    alone = any(label in row.opponents for label, encounter in met.items() for row in encounter)
    if alone or len({frozenset(encounter) for encounter in met.values()}) == 1:
        return ""
    return (
        " No player met a copy of itself, so each concession raised a rival's payoff: generous "
        "players may rank lower than they would against the same opponents."
    )


def largest_comparable_set(met: Encounters) -> Comparable:
    """Return the players to rank: those with matches in all cells, or the largest comparable set.

    A newcomer who met only some of the others would make them incomparable. So players with fewer
    encounters are excluded, with the matches against them, if that makes more of the others
    comparable.
    """
    cells = {encounter.cell for cells in met.values() for encounter in cells}
    best, best_size = Comparable([], []), (False, 0, 0, 0)
    for fewest in sorted({len(cells) for cells in met.values()}):
        without = sorted(label for label, cells in met.items() if len(cells) < fewest)
        remaining = _without(met, without)
        for members in comparable_sets(remaining):
            first = remaining[members[0]]
            complete = {encounter.cell for encounter in first} == cells and len(members) > 1
            size = complete, len(members), -len(without), len(first)
            if size > best_size:
                best, best_size = Comparable(sorted(members), without), size
    return best


def _without(met: Encounters, labels: Sequence[str]) -> Encounters:
    return {
        label: {label for label in cells if not set(labels) & set(label.opponents)}
        for label, cells in sorted(met.items()) if label not in labels
    }  # fmt: skip


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
