"""The attainable payoff of a seat, and the share of it that the seat first demands."""

from math import isfinite

from cheaptalk.rules import Demand, Game, Instance, Result, get_game

ATTAINABLE = "share of the attainable payoff"
"""The unit of metrics that all games share."""


def could_have(game: Game, instance: Instance, seat: str) -> float | None:
    """Return a seat's highest payoff in the game's unit if its opponents concede everything.

    See :meth:`.Assessment.attainable`. It is None without a possible gain or an upper bound.
    """
    attainable = get_game(game.name).assessment.attainable(game, instance, seat)
    if attainable is None or attainable <= 0 or not isfinite(attainable):
        return None
    return attainable


def first_asked(result: Result, seat: str) -> Demand | None:
    """Return a seat's first demand or acceptance as a share of its attainable payoff (0 to 1).

    The result is None if the seat never demanded or accepted a payoff.
    """
    attainable = could_have(result.game, result.instance, seat)
    first = next(get_game(result.game.name).assessment.demands(result, seat), None)
    if attainable is None or first is None:
        return None
    return Demand(*(min(1.0, max(0.0, share / attainable)) for share in first))
