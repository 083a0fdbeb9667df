"""Scripted strategies of the guess-the-average game, which depend only on observations."""

from typing import Annotated

from pydantic import Field

from cheaptalk.games.guess_the_average import rules
from cheaptalk.games.guess_the_average.rules import Briefing, NumberChoice, RoundResult
from cheaptalk.games.rounds import Wholes, cached, in_turn, last_report
from cheaptalk.rules import Action, DecisionRequest, strategy

Level = Annotated[int, Field(ge=0, le=100)]


choose = cached(NumberChoice)


@strategy("player")
def fixed(request: DecisionRequest, *, choices: Wholes = (50,)) -> Action:
    """Always choose the same number, or cycle through several (GAMA-Bench appendix G)."""
    return choose(in_turn(choices, request.event.round))


@strategy("player")
def random(request: DecisionRequest) -> Action:
    """Choose a random number (level 0 of Nagel 1995)."""
    me: Briefing = request.briefing
    return choose(request.chance("move", request.number).integer(me.minimum, me.maximum))


@strategy("player")
def equilibrium(request: DecisionRequest) -> Action:
    """Choose the equilibrium: minimum, or maximum for ratios above 1 (GAMA-Bench section 2.1)."""
    me: Briefing = request.briefing
    return choose(rules.equilibrium(me.minimum, me.maximum, me.ratio))


@strategy("player")
def level_k(request: DecisionRequest, *, level: Level = 1) -> Action:
    """Reason k steps beyond a player who chooses at random (Nagel 1995).

    Args:
        level: the number of steps k; the choice is ratio ** k times the middle of the range.
    """
    me: Briefing = request.briefing
    return choose(rules.level_k(level, me.minimum, me.maximum, me.ratio))


@strategy("player")
def best_response(request: DecisionRequest) -> Action:
    """Best-respond to the numbers of the last round (Cournot 1838), and begin with level-1 play."""
    me: Briefing = request.briefing
    last: RoundResult | None = last_report(request)
    if last is None:
        return level_k(request)
    opponent_sum = round(last.average * me.players) - last.chosen
    number = rules.nearest_to_target(opponent_sum, me.players, me.minimum, me.maximum, me.ratio)
    return choose(number)


@strategy("player")
def imitation(request: DecisionRequest) -> Action:
    """Imitate the last winning number (Vega-Redondo 1997), and begin with level-0 play."""
    last: RoundResult | None = last_report(request)
    return random(request) if last is None else choose(last.winning[0])
