"""Short descriptions of the players in each seat."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

FEW = 3
"""Maximum number of seats that are listed individually."""
P = TypeVar("P")


def line_up(labels: Sequence[str]) -> str:
    """Join player labels in the order of seats, abbreviating repeated labels if there are many.

    >>> line_up(["gpt", "gpt"]), line_up([*["gpt"] * 9, "fixed"])
    ('gpt / gpt', 'gpt x 9 / fixed')
    """
    if len(labels) <= FEW:
        return " / ".join(labels)
    counted = [(label, len(list(run))) for label, run in groupby(labels)]
    return " / ".join(f"{label} x {count}" if count > 1 else label for label, count in counted)


def query_of(players: Mapping[str, str], without: str | None) -> dict[str, str]:
    """Return the URL query with which the viewer shows the matches of the given players.

    Args:
        players: labels by seat or role.
        without: a seat that the matches don't have.

    >>> query_of({"alice": "gpt"}, None)
    {'player_alice': 'gpt'}
    """
    query = {f"player_{name}": label for name, label in players.items()}
    return query | ({"without": without} if without else {})


def runs(seats: Mapping[str, P]) -> list[tuple[list[str], P]]:
    """Group consecutive seats with the same player, and return each group's first and last seat.

    >>> runs({"p_1": "gpt", "p_2": "gpt", "p_3": "gpt", "p_4": "fixed"})
    [(['p_1', 'p_3'], 'gpt'), (['p_4'], 'fixed')]
    """
    if len(seats) <= FEW:
        return [([seat], player) for seat, player in seats.items()]
    result = []
    for player, run in groupby(seats.items(), key=itemgetter(1)):
        run_seats = [seat for seat, _ in run]
        result.append(([run_seats[0], run_seats[-1]] if len(run_seats) > 1 else run_seats, player))
    return result
