"""The action and events of the guess-the-average game."""

from fractions import Fraction
from typing import Literal

from cheaptalk.rules import Action, Event, Whole

Claim = Literal["nothing", "equilibrium", "smart", "random"]
"""The claim about other players' choices (GAMA-Bench appendix G, settings a to c)."""


class NumberChoice(Action):
    """The number that a player chooses."""

    chosen_number: Whole


class Briefing(Event):
    """Information that a player receives at the start of the match.

    ``others`` is the claim about the other players; ``equilibrium`` is the number that they will
    allegedly choose, or None.
    """

    players: int
    rounds: int
    minimum: int
    maximum: int
    ratio: Fraction
    others: Claim
    equilibrium: int | None


class Turn(Event):
    """A request that all players choose a number simultaneously."""

    round: int
    minimum: int
    maximum: int
    ratio: Fraction


class RoundResult(Event):
    """The result of a round.

    ``winning`` contains the winning number, or both if two are equally close; ``winners`` is the
    number of players who share the win, or None if the player lost.
    """

    round: int
    average: float
    ratio: Fraction
    target: float
    winning: tuple[int, ...]
    chosen: int
    winners: int | None
