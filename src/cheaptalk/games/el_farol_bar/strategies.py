"""Scripted strategies of the El Farol bar, which depend only on observations."""

from itertools import islice
from statistics import fmean
from typing import Annotated, get_args

from pydantic import Field

from cheaptalk.games.el_farol_bar import theory
from cheaptalk.games.el_farol_bar.events import Briefing, Decision, RoundResult, Visit
from cheaptalk.games.rounds import in_turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, DecisionRequest, strategy

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
    probability = theory.symmetric_equilibrium(me.players, me.capacity, me.fun, me.crowded, me.home)
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
