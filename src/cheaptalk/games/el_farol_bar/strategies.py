"""Scripted strategies of the El Farol bar, and its symmetric equilibrium."""

import math
from functools import cache
from itertools import islice
from statistics import fmean
from typing import Annotated, get_args

from pydantic import Field

from cheaptalk.games.el_farol_bar.rules import Briefing, Decision, RoundResult, Visit, room
from cheaptalk.games.rounds import in_turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy

STEPS = 60
"""Number of bisection steps, sufficient for the precision of floats."""


def probability_of_at_most(count: int, trials: int, probability: float) -> float:
    """Return P(X <= count) for a binomial X."""
    return math.fsum(
        math.comb(trials, hits) * probability**hits * (1 - probability) ** (trials - hits)
        for hits in range(count + 1)
    )


@cache
def symmetric_equilibrium(
    players: int, capacity: float, fun: float, crowded: float, home: float
) -> float:
    """Return the probability of going in the symmetric mixed equilibrium.

    With m = room(N, R), the probability p solves crowded + (fun - crowded) * P(X <= m - 1) = home,
    where X ~ Binomial(N - 1, p) is the number of other players who go. The left side decreases in
    p, so bisection finds the solution. If m is 0, p is 0; if m is N, p is 1. GAMA-Bench (section
    2.1) uses R, which is close to p.

    >>> round(symmetric_equilibrium(10, 0.6, 10, 0, 5), 4)
    0.6069
    """
    capacity_count = room(players, capacity)
    if capacity_count in (0, players):
        return float(capacity_count > 0)
    indifferent = (home - crowded) / (fun - crowded)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if probability_of_at_most(capacity_count - 1, players - 1, middle) > indifferent:
            low = middle
        else:
            high = middle
    return (low + high) / 2


Decisions = Annotated[tuple[Decision, ...], Field(min_length=1)]
Memory = Annotated[int, Field(ge=1, le=10_000)]
VISITS: dict[Decision, Visit] = {choice: Visit(decision=choice) for choice in get_args(Decision)}


def visit(go: bool) -> Action:
    """Return the action that goes to the bar or stays at home."""
    return VISITS["go" if go else "stay"]


def observed_attendance(request: DecisionRequest, memory: int = 1) -> list[int]:
    """Return how many other players went in each of the last observed rounds, newest first."""
    attendance = (
        report.went - (report.decision == "go")
        for report in (moment.event for moment in reversed(request.heard))
        if isinstance(report, RoundResult) and report.went is not None
    )
    return list(islice(attendance, memory))


def has_room(request: DecisionRequest, going: float) -> bool:
    """Return whether the bar is still fun if the player joins this number of other players."""
    me: Briefing = request.briefing
    return (going + 1) / me.players <= me.capacity


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Decisions = ("go",)) -> Action:
    """Always make the same decision, or cycle through several (GAMA-Bench appendix G)."""
    return VISITS[in_turn(choices, request.event.round)]


@strategy("player")
def random(request: DecisionRequest, *, probability: Share = 0.5) -> Action:
    """Go to the bar with a fixed probability."""
    return visit(request.chance("move", request.number).happens(probability))


@strategy("player")
def capacity(request: DecisionRequest) -> Action:
    """Go to the bar with probability equal to its capacity (optimal in GAMA-Bench section 2.1)."""
    return random(request, probability=request.briefing.capacity)


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Go to the bar with the probability of the symmetric mixed equilibrium (Nash 1951)."""
    me: Briefing = request.briefing
    probability = symmetric_equilibrium(me.players, me.capacity, me.fun, me.crowded, me.home)
    return random(request, probability=probability)


@strategy("player")
def best_response(request: DecisionRequest) -> Action:
    """Go to the bar if the last observed attendance left room (Cournot 1838); begin by going."""
    attendance = observed_attendance(request)
    return visit(not attendance or has_room(request, attendance[0]))


@strategy("player")
def predictor(request: DecisionRequest, *, memory: Memory = 4) -> Action:
    """Go to the bar if the mean observed attendance leaves room (Arthur 1994); begin by going.

    Args:
        memory: the maximum number of observed rounds in the mean.
    """
    attendance = observed_attendance(request, memory)
    return visit(not attendance or has_room(request, fmean(attendance)))


@strategy("player")
def reinforcement(request: DecisionRequest) -> Action:
    """Go or stay with probabilities proportional to each choice's past gains (Roth and Erev 1995).

    Gains are measured above the gain of a crowded bar. Both decisions start with the gain of one
    evening at home.
    """
    me: Briefing = request.briefing
    gained: dict[Decision, float] = dict.fromkeys(("go", "stay"), me.home - me.crowded)
    for event, _ in request.heard:
        if isinstance(event, RoundResult):
            gained[event.decision] += event.gain - me.crowded
    return random(request, probability=gained["go"] / sum(gained.values()))
