"""Divide the dollar as array functions; see :class:`.DivideTheDollar`."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, namespace, own
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds, Told, expect_limits
from cheaptalk.games.divide_the_dollar.events import RoundResult
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar


class DivideTheDollarArrays(SimultaneousRounds[DivideTheDollar]):
    """Divide the dollar, many matches at once."""

    @staticmethod
    def answers(rules: DivideTheDollar) -> Sequence[int]:
        expect_limits(rules)
        return range(rules.golds + 1)

    @staticmethod
    def told_of(rules: DivideTheDollar) -> Mapping[str, Told]:
        return {"bid": Told(1, rules.golds), "total": Told(1, rules.golds)}

    def gains(self, choices: Array, dealt: Array) -> Array:
        fits = choices.sum(axis=-1, keepdims=True) <= self.rules.golds
        return namespace(choices).where(fits, choices, 0.0)

    def told(self, choices: Array, dealt: Array, player: Array) -> Sequence[Array]:
        return own(choices.swapaxes(-1, -2), player), choices.sum(axis=-1)

    def heard(self, report: RoundResult) -> Sequence[Any]:
        return report.bid, report.total
