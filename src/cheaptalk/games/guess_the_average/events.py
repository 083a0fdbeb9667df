"""What is asked and told in guess the average: the action and events of its rules."""

from fractions import Fraction
from typing import Literal

from cheaptalk.rules import Action, Event, Whole

Told = Literal["nothing", "equilibrium", "smart", "random"]
"""What players are told of how the others choose (GAMA-Bench appendix G, settings a to c)."""


class NumberChoice(Action):
    """The number that a player chooses."""

    chosen_number: Whole


class Briefing(Event):
    """What a player knows at the start.

    ``others`` is what it is told of the others; ``equilibrium`` the number that they are said to
    choose, None where none is named.
    """

    players: int
    rounds: int
    minimum: int
    maximum: int
    ratio: Fraction
    others: Told
    equilibrium: int | None


class Turn(Event):
    """All players choose a number now."""

    round: int
    minimum: int
    maximum: int
    ratio: Fraction


class RoundResult(Event):
    """How a round ended.

    ``winning`` holds the winning number, or both that are equally near; ``winners`` counts those
    who share the win with this player, itself included, and is None where it lost.
    """

    round: int
    average: float
    ratio: Fraction
    target: float
    winning: tuple[int, ...]
    chosen: int
    winners: int | None
