"""Actions and events of the pirate game."""

from typing import Literal

from cheaptalk.rules import Action, Event, Whole

Majority = Literal["half", "strict"]
"""The votes required for a plan: at least half of the living pirates, or more than half."""
Shares = tuple[tuple[str, int], ...]
"""Coins for each living pirate, the most senior first."""


class Plan(Action):
    """Coins for every living pirate, by name."""

    proposal: dict[str, Whole]


class Vote(Action):
    """A vote on a plan."""

    decision: Literal["accept", "reject"]


class Briefing(Event):
    """Information that a pirate receives at the start; ``crew`` lists pirates by seniority."""

    rank: int
    crew: tuple[str, ...]
    gold: int
    majority: Majority


class Turn(Event):
    """A request to the most senior living pirate to propose a plan."""

    round: int
    living: tuple[str, ...]
    gold: int


class PlanMade(Event):
    """A proposed plan to vote on; ``own`` is the share of the pirate who receives the event."""

    round: int
    proposer: str
    plan: Shares
    own: int


class Counted(Event):
    """The result of a ballot, without individual votes; ``own`` is the pirate's share."""

    round: int
    proposer: str
    accepted: int
    living: int
    passed: bool
    own: int


class Alone(Event):
    """The last pirate keeps the gold because all others are overboard."""

    gold: int
