"""Strategies that fail, or that depend on more than their observations."""

import random as global_random
from itertools import count
from pathlib import Path
from typing import Any

from cheaptalk.rules import Action, DecisionRequest, GameSpec, strategy
from tests import toys
from tests.broken.kit import Paying, always, boxed, breaks
from tests.toys import Guess, Guessing


@breaks("check_strategies", 'playing strategy "wild" as left failed: "left" failed in requ')
def strategy_that_fails(_: Path) -> GameSpec:
    @strategy("left")
    def wild(request: DecisionRequest) -> Action:
        """Give up."""
        raise RuntimeError("I give up")

    return boxed(Guessing, wild)


@breaks("check_strategies", 'strategy "mute" has no docstring')
def strategy_without_a_docstring(_: Path) -> GameSpec:
    @strategy("left")
    def mute(request: DecisionRequest) -> Action:
        return toys.random(request)

    return boxed(Guessing, mute)


@breaks("check_strategies", 'strategy "lost" is for roles that are not declared')
def strategy_for_an_undeclared_role(_: Path) -> GameSpec:
    @strategy("left", "middle")
    def lost(request: DecisionRequest) -> Action:
        """Play for an unknown role."""
        return toys.random(request)

    return boxed(Guessing, lost)


@breaks("check_strategies", 'playing strategy "greedy" as left failed: the payoff of "left" is 16')
def strategy_with_payoff_out_of_bounds(_: Path) -> GameSpec:
    players = [always(Guess(number=2)), always(Guess(number=16), "greedy", ("left",))]
    return boxed(Paying, strategies={player.name: player for player in players})


def with_strategy(strategy_function: Any) -> GameSpec:
    """Return the toy game with one more strategy."""
    return boxed(Guessing, strategy("left", "right")(strategy_function))


@breaks("check_memory", 'playing strategy "counting" again after another match, "left" observes')
def strategy_that_counts_matches(_: Path) -> GameSpec:
    numbers = count()

    def counting(request: DecisionRequest) -> Action:
        """Guess another number each time."""
        return toys.own_card(request, plus=next(numbers) // 4 % 5)

    return with_strategy(counting)


@breaks("check_memory", 'playing strategy "lucky" again after another match')
def strategy_with_global_randomness(_: Path) -> GameSpec:
    def lucky(request: DecisionRequest) -> Action:
        """Guess the card plus a number from the global generator."""
        return toys.own_card(request, plus=global_random.randrange(5))  # noqa: S311 - the fault

    return with_strategy(lucky)
