"""Scripted visitors of the bar. They know only what their seat was told."""

from itertools import islice
from statistics import fmean
from typing import Annotated, get_args

from pydantic import Field

from cheaptalk.games.el_farol_bar import theory
from cheaptalk.games.el_farol_bar.events import Briefing, Decision, RoundResult, Visit
from cheaptalk.games.rounds import in_turn
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, strategy

Decisions = Annotated[tuple[Decision, ...], Field(min_length=1)]
Memory = Annotated[int, Field(ge=1, le=10_000)]
VISITS: dict[Decision, Visit] = {one: Visit(decision=one) for one in get_args(Decision)}


def visit(goes: bool) -> Action:
    """The decision to go, or to stay."""
    return VISITS["go" if goes else "stay"]


def seen(asked: Asked, memory: int = 1) -> list[int]:
    """How many others went, in the last rounds of which this player was told, newest first."""
    reports = (moment.event for moment in reversed(asked.heard))
    told = (
        report.went - (report.decision == "go")
        for report in reports
        if isinstance(report, RoundResult) and report.went is not None
    )
    return list(islice(told, memory))


def has_room(asked: Asked, others: float) -> bool:
    """Whether the bar is fun for one more when so many others go."""
    me: Briefing = asked.briefing
    return (others + 1) / me.players <= me.capacity


@strategy("player")
def fixed(asked: Asked, *, choices: Decisions = ("go",)) -> Action:
    """Decide the same whatever happens, or in turn (GAMA-Bench appendix G).

    Args:
        choices: the decisions, one a round, over and over.
    """
    return VISITS[in_turn(choices, asked.event.round)]


@strategy("player")
def random(asked: Asked, *, probability: Share = 0.5) -> Action:
    """Go with a fixed probability.

    Args:
        probability: that of going, in [0, 1].
    """
    return visit(asked.chance("move", asked.request).happens(probability))


@strategy("player")
def capacity(asked: Asked) -> Action:
    """Go with a probability of the capacity, GAMA-Bench's optimal play (section 2.1)."""
    return random(asked, probability=asked.briefing.capacity)


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Go with the probability of the symmetric mixed equilibrium (Nash 1951)."""
    me: Briefing = asked.briefing
    probability = theory.symmetric_equilibrium(me.players, me.capacity, me.fun, me.crowded, me.home)
    return random(asked, probability=probability)


@strategy("player")
def best_response(asked: Asked) -> Action:
    """Go if there was room for one more when last seen (Cournot 1838); begin by going."""
    others = seen(asked)
    return visit(not others or has_room(asked, others[0]))


@strategy("player")
def predictor(asked: Asked, *, memory: Memory = 4) -> Action:
    """Go if there is room by the mean of the last rounds seen (Arthur 1994); begin by going.

    Args:
        memory: how many of them are remembered.
    """
    others = seen(asked, memory)
    return visit(not others or has_room(asked, fmean(others)))


@strategy("player")
def reinforcement(asked: Asked) -> Action:
    """Go with the share that going has in all that was gained so far (Roth and Erev 1995).

    Gains count from what a crowded bar pays; both decisions begin with what one evening at home
    pays.
    """
    me: Briefing = asked.briefing
    gained: dict[Decision, float] = dict.fromkeys(("go", "stay"), me.home - me.crowded)
    for event, _ in asked.heard:
        if isinstance(event, RoundResult):
            gained[event.decision] += event.gain - me.crowded
    return random(asked, probability=gained["go"] / sum(gained.values()))
