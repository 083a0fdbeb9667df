"""Scripted guessers. They know only what their seat was told."""

from functools import lru_cache
from typing import Annotated

from pydantic import Field

from cheaptalk.games.guess_the_average import theory
from cheaptalk.games.guess_the_average.events import Briefing, NumberChoice, RoundResult
from cheaptalk.games.rounds import REMEMBERED, Wholes, in_turn, last_report
from cheaptalk.rules import Action, Asked, strategy

Level = Annotated[int, Field(ge=0, le=100)]


@lru_cache(maxsize=REMEMBERED)
def choose(number: int) -> NumberChoice:
    """The choice of a number."""
    return NumberChoice(chosen_number=number)


@strategy("player")
def fixed(asked: Asked, *, choices: Wholes = (50,)) -> Action:
    """Choose the same number whatever happens, or several in turn (GAMA-Bench appendix G).

    Args:
        choices: the numbers, one a round, over and over.
    """
    return choose(in_turn(choices, asked.event.round))


@strategy("player")
def random(asked: Asked) -> Action:
    """Choose any number, each equally likely (level 0 of Nagel 1995)."""
    me: Briefing = asked.briefing
    draw = asked.chance("move", asked.request)
    return choose(draw.integer(me.minimum, me.maximum))


@strategy("player")
def equilibrium(asked: Asked) -> Action:
    """Choose the equilibrium: the least number, the greatest for ratios above 1 (section 2.1)."""
    me: Briefing = asked.briefing
    return choose(theory.equilibrium(me.minimum, me.maximum, me.ratio))


@strategy("player")
def level_k(asked: Asked, *, level: Level = 1) -> Action:
    """Think a number of steps ahead of somebody who chooses at random (Nagel 1995).

    Args:
        level: the steps k; the choice is ratio ** k times the middle of the range.
    """
    me: Briefing = asked.briefing
    number = theory.level_k(level, me.minimum, me.maximum, me.ratio)
    return choose(number)


@strategy("player")
def best_response(asked: Asked) -> Action:
    """Hit the target if the others repeat their last numbers (Cournot 1838); begin as level 1."""
    me: Briefing = asked.briefing
    last: RoundResult | None = last_report(asked)
    if last is None:
        return level_k(asked)
    others = round(last.average * me.players) - last.chosen
    number = theory.nearest_to_target(others, me.players, me.minimum, me.maximum, me.ratio)
    return choose(number)


@strategy("player")
def imitation(asked: Asked) -> Action:
    """Choose the number that won last (Vega-Redondo 1997, imitate the best); begin as level 0."""
    last: RoundResult | None = last_report(asked)
    return random(asked) if last is None else choose(last.winning[0])
