"""The action and events of the El Farol bar game."""

from typing import Literal

from cheaptalk.rules import Action, Event

Decision = Literal["go", "stay"]


class Visit(Action):
    """Whether a player goes to the bar."""

    decision: Decision


class Briefing(Event):
    """Information that a player receives at the start of the match.

    ``capacity`` is the maximum share of players for whom the bar is fun, and ``room`` their number;
    ``fun``, ``crowded`` and ``home`` are the gains of a round; ``explicit`` is whether players who
    stay learn the attendance.
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
    """A request that all players decide simultaneously whether to go to the bar."""

    round: int
    players: int
    capacity: float
    room: int


class RoundResult(Event):
    """The result of a round; ``went`` is the attendance, or None if the player doesn't learn it."""

    round: int
    decision: Decision
    gain: float
    went: int | None
    players: int
    room: int
