"""What pirates are told and how they answer."""

from typing import Literal

from cheaptalk.games.pirate_game.theory import Majority
from cheaptalk.rules import Action, Event, Whole

Shares = tuple[tuple[str, int], ...]
"""Coins for each living pirate, the most senior first."""


class Plan(Action):
    """Coins for every living pirate, by name."""

    proposal: dict[str, Whole]


class Vote(Action):
    """A vote on a plan."""

    decision: Literal["accept", "reject"]


class Briefing(Event):
    """What a pirate knows at the start; ``crew`` is everybody, the most senior first."""

    rank: int
    crew: tuple[str, ...]
    gold: int
    majority: Majority


class Turn(Event):
    """This pirate must propose a plan to those who are left, itself the first of them."""

    round: int
    living: tuple[str, ...]
    gold: int


class PlanMade(Event):
    """A plan to vote on, with what it brings this pirate."""

    round: int
    proposer: str
    plan: Shares
    own: int


class Counted(Event):
    """How a vote went; not who voted how. ``own`` is what a plan that passes brings this pirate."""

    round: int
    proposer: str
    accepted: int
    living: int
    passed: bool
    own: int


class Alone(Event):
    """All others are overboard: the last pirate keeps the gold."""

    gold: int
