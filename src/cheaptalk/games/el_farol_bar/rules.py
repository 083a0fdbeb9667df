"""The El Farol bar: going is fun unless too many go."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from cheaptalk.games.el_farol_bar.events import Briefing, Decision, RoundResult, Turn, Visit
from cheaptalk.games.el_farol_bar.theory import room
from cheaptalk.games.rounds import Over, Rounds, RoundsPlayed
from cheaptalk.rules import Deal, Event

Utility = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]


class Visits(RoundsPlayed[Decision]):
    """Who went to the bar, and what each round paid each player."""


class ElFarolBar(Rounds):
    """The El Farol bar problem (Arthur 1994; GAMA-Bench section 2.1).

    In every round all players decide at once to go to a bar or to stay at home. Who goes gets
    ``fun`` if at most the share ``capacity`` of all players went, ``crowded`` if more did; who
    stays gets ``home``. A player's payoff is the sum over the rounds.

    Implicit, those who stayed learn only what they got; explicit, everybody learns how many went.
    """

    name = "el_farol_bar"
    title = "El Farol bar"
    payoff_unit = "utility"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Visit,)
    outcome_type = Visits

    capacity: float = Field(default=0.6, ge=0, le=1)
    """The greatest share of the players for whom the bar is still fun (R), in [0, 1]."""
    fun: Utility = 10.0
    """What going pays while the bar is not crowded (MAX)."""
    crowded: Utility = 0.0
    """What going pays when it is (MIN)."""
    home: Utility = 5.0
    """What staying at home pays (HOME)."""
    feedback: Literal["implicit", "explicit"] = "implicit"
    """Whether those who stay at home are told how many went."""

    @model_validator(mode="after")
    def _possible(self) -> "ElFarolBar":
        if not self.crowded < self.home < self.fun:
            raise ValueError("home must be worth less than fun and more than crowded")
        return self

    @property
    def room(self) -> int:
        """The greatest number of players for whom the bar is still fun."""
        return room(self.players, self.capacity)

    @property
    def explicit(self) -> bool:
        """Whether those who stay at home are told how many went."""
        return self.feedback == "explicit"

    def gains(self, number: int, choices: Sequence[Decision], deal: Deal) -> list[float]:
        going = self.fun if choices.count("go") <= self.room else self.crowded
        return [going if decision == "go" else self.home for decision in choices]

    def reports(
        self, number: int, choices: Sequence[Decision], gains: Sequence[float], deal: Deal
    ) -> list[Event]:
        went = choices.count("go")
        told = [went if decision == "go" or self.explicit else None for decision in choices]
        return [
            RoundResult(number, decision, gain, known, self.players, self.room)
            for decision, gain, known in zip(choices, gains, told, strict=True)
        ]

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"player": (self.rounds * self.crowded, self.rounds * self.fun)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """As many go as have room, all stay at home, or all go."""
        went = {0, min(self.room, self.players), self.players}
        totals = [
            go * (self.fun if go <= self.room else self.crowded) + (self.players - go) * self.home
            for go in went
        ]
        return {"player": (self.rounds * min(totals), self.rounds * max(totals))}
