"""Statements of fact that an exact check of their game can read."""

from typing import NamedTuple

from cheaptalk.rules import Result, game_box

CHECKED = {"persuasion": ("honesty", "honest"), "deal_or_no_deal": ("hallucination", "consistent")}
"""The exact check of what is said in a game, and its verdict on what is true."""


class Statement(NamedTuple):
    """What somebody stated.

    Attributes:
        request: the question that was answered with it.
        seat: who stated it.
        true: whether it is true.
    """

    request: int
    seat: str
    true: bool


def statements(result: Result) -> list[Statement]:
    """What was stated in a match, in order, as far as an exact check of the game reads it."""
    name, true = CHECKED.get(result.game.name, ("", ""))
    check = game_box(result.game.name).checks.get(name)
    found = {} if check is None else check(result)
    return [Statement(request, seat, said == true) for (request, seat), said in found.items()]
