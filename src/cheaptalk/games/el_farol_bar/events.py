"""What is asked and told in El Farol: the action and events of its rules."""

from typing import Literal

from cheaptalk.rules import Action, Event

Decision = Literal["go", "stay"]


class Visit(Action):
    """Whether a player goes to the bar."""

    decision: Decision


class Briefing(Event):
    """What a player knows at the start.

    ``capacity`` is the share of the players for whom the bar is still fun, ``room`` how many that
    are; ``fun``, ``crowded`` and ``home`` are what a round pays; ``explicit`` is whether those who
    stay are told how many went.
    """

    players: int
    rounds: int
    capacity: float
    room: int
    fun: float
    crowded: float
    home: float
    explicit: bool


class Turn(Event):
    """All players decide now."""

    round: int
    players: int
    capacity: float
    room: int


class RoundResult(Event):
    """How a round ended; ``went`` counts who went to the bar, None where the player is not told."""

    round: int
    decision: Decision
    gain: float
    went: int | None
    players: int
    room: int
