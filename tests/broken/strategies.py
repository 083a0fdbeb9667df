"""Strategies that fail, or that more moves than what they see."""

import random as global_random
from itertools import count
from pathlib import Path
from typing import Any

from cheaptalk.rules import Action, DecisionRequest, GameSpec, strategy
from tests import toys
from tests.broken.kit import Paying, boxed, breaks
from tests.toys import Guess, Guessing


@breaks(
    "check_strategies",
    'playing strategy "wild" as left failed: "left" failed in requ',
)
def a_strategy_that_fails(_: Path) -> GameSpec:
    @strategy("left")
    def wild(asked: DecisionRequest) -> Action:
        """Give up."""
        raise RuntimeError("I give up")

    return boxed(Guessing, wild)


@breaks("check_strategies", 'strategy "mute" has no docstring')
def a_strategy_without_words(_: Path) -> GameSpec:
    @strategy("left")
    def mute(asked: DecisionRequest) -> Action:
        return toys.random(asked)

    return boxed(Guessing, mute)


@breaks("check_strategies", 'strategy "lost" is for roles that are not declared')
def a_strategy_for_nobody(_: Path) -> GameSpec:
    @strategy("left", "middle")
    def lost(asked: DecisionRequest) -> Action:
        """Play for nobody."""
        return toys.random(asked)

    return boxed(Guessing, lost)


@breaks("check_strategies", 'playing strategy "greedy" as left failed: the payoff of "left" is 16')
def a_strategy_that_is_paid_beyond_the_bounds(_: Path) -> GameSpec:
    @strategy("left", "right")
    def random(asked: DecisionRequest) -> Action:
        """Guess low."""
        return Guess(number=2)

    @strategy("left")
    def greedy(asked: DecisionRequest) -> Action:
        """Guess the greatest number."""
        return Guess(number=16)

    return boxed(Paying, strategies={"random": random, "greedy": greedy})


def again(strategy_function: Any) -> GameSpec:
    """The toy with one more strategy."""
    return boxed(Guessing, strategy("left", "right")(strategy_function))


@breaks("check_memory", 'playing strategy "counting" again after another match, "left" observes')
def a_strategy_that_counts(_: Path) -> GameSpec:
    numbers = count()

    def counting(asked: DecisionRequest) -> Action:
        """Guess another number each time."""
        return toys.own_card(asked, plus=next(numbers) // 4 % 5)

    return again(counting)


@breaks("check_memory", 'playing strategy "lucky" again after another match')
def a_strategy_with_luck_of_its_own(_: Path) -> GameSpec:
    def lucky(asked: DecisionRequest) -> Action:
        """Guess one's card and a bit, by a generator that is everybody's."""
        return toys.own_card(asked, plus=global_random.randrange(5))  # noqa: S311 - what is caught

    return again(lucky)
