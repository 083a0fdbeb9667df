"""The El Farol bar: going is fun unless too many go."""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, model_validator

from cheaptalk.games.rounds import Over, Rounds, RoundsPlayed
from cheaptalk.rules import Action, Event, Instance

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


Utility = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]


@cache
def room(players: int, capacity: float) -> int:
    """Return the maximum number of players for whom the bar is fun.

    In every pure equilibrium, exactly this number of players go.

    >>> room(10, 0.6), room(10, 0), room(3, 0.5)
    (6, 0, 1)
    """
    return sum(went / players <= capacity for went in range(1, players + 1))


class Visits(RoundsPlayed[Decision]):
    """The players' decisions, and their gains in each round."""


class ElFarolBar(Rounds):
    """The El Farol bar problem (Arthur 1994; GAMA-Bench section 2.1).

    In every round all players simultaneously decide to go to a bar or to stay at home. Going pays
    ``fun`` if at most the share ``capacity`` of all players went, and ``crowded`` if more did;
    staying pays ``home``. A player's payoff is the sum over the rounds.

    With implicit feedback, players who stay at home learn only their gain; with explicit feedback,
    all players learn the attendance.
    """

    name = "el_farol_bar"
    title = "El Farol bar"
    payoff_unit = "utility"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Visit,)
    outcome_type = Visits

    capacity: float = Field(default=0.6, ge=0, le=1)
    """The maximum share of players for whom the bar is fun (R), in [0, 1]."""
    fun: Utility = 10.0
    """The gain from going if the bar isn't crowded (MAX)."""
    crowded: Utility = 0.0
    """The gain from going if the bar is crowded (MIN)."""
    home: Utility = 5.0
    """The gain from staying at home (HOME)."""
    feedback: Literal["implicit", "explicit"] = "implicit"
    """Whether players who stay at home learn the attendance."""

    @model_validator(mode="after")
    def _possible(self) -> "ElFarolBar":
        if not self.crowded < self.home < self.fun:
            raise ValueError(f"home must be above crowded and below fun, not {self.home}")
        return self

    @property
    def room(self) -> int:
        """The maximum number of players for whom the bar is fun."""
        return room(self.players, self.capacity)

    @property
    def explicit(self) -> bool:
        return self.feedback == "explicit"

    def gains(self, number: int, choices: Sequence[Decision], instance: Instance) -> list[float]:
        going = self.fun if choices.count("go") <= self.room else self.crowded
        return [going if decision == "go" else self.home for decision in choices]

    def reports(
        self, number: int, choices: Sequence[Decision], gains: Sequence[float], instance: Instance
    ) -> list[Event]:
        went = choices.count("go")
        reported = [went if decision == "go" or self.explicit else None for decision in choices]
        return [
            RoundResult(number, decision, gain, reported_count, self.players, self.room)
            for decision, gain, reported_count in zip(choices, gains, reported, strict=True)
        ]

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"player": (self.rounds * self.crowded, self.rounds * self.fun)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the total payoff's bounds, reached if no one goes, all go, or the bar is full."""
        totals = [
            went * (self.fun if went <= self.room else self.crowded)
            + (self.players - went) * self.home
            for went in (0, min(self.room, self.players), self.players)
        ]
        return {"player": (self.rounds * min(totals), self.rounds * max(totals))}
