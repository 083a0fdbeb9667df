"""Line-ups: who sits in which place, written in short."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

FEW = 3
"""Places up to which each is shown by itself."""
P = TypeVar("P")


def line_up(labels: Sequence[str]) -> str:
    """Labels in the order of places; where these are more than a few, runs are shortened.

    >>> line_up(["gpt", "gpt"]), line_up([*["gpt"] * 9, "fixed"])
    ('gpt / gpt', 'gpt x 9 / fixed')
    """
    if len(labels) <= FEW:
        return " / ".join(labels)
    counted = [(label, len(list(run))) for label, run in groupby(labels)]
    return " / ".join(f"{label} x {count}" if count > 1 else label for label, count in counted)


def query_of(players: Mapping[str, str], without: str | None) -> dict[str, str]:
    """What picks the matches of these players out in the viewer.

    Args:
        players: labels by place or role.
        without: a place that the matches do not have.

    >>> query_of({"alice": "gpt"}, None)
    {'player.alice': 'gpt'}
    """
    people = {f"player.{name}": label for name, label in players.items()}
    return people | ({"without": without} if without else {})


def runs(seats: Mapping[str, P]) -> list[tuple[list[str], P]]:
    """Who fills which places: the only place, or the first and the last of several in a row.

    >>> runs({"p_1": "gpt", "p_2": "gpt", "p_3": "gpt", "p_4": "fixed"})
    [(['p_1', 'p_3'], 'gpt'), (['p_4'], 'fixed')]
    """
    if len(seats) <= FEW:
        return [([place], player) for place, player in seats.items()]
    found = []
    for player, run in groupby(seats.items(), key=itemgetter(1)):
        places = [place for place, _ in run]
        found.append(([places[0], places[-1]] if len(places) > 1 else places, player))
    return found
