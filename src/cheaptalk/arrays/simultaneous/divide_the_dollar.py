"""The divide-the-dollar game as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, entry_at, namespace
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar, RoundResult


class DivideTheDollarArrays(SimultaneousRounds[DivideTheDollar]):
    """The divide-the-dollar game as an array game, which plays many matches at once."""

    def answers(self) -> Sequence[int]:
        self.expect_limits()
        return range(self.rules.golds + 1)

    def report_units(self) -> Mapping[str, float]:
        return {"bid": self.rules.golds, "total": self.rules.golds}

    def gains(self, choices: Array, draws: Array) -> Array:
        fits = choices.sum(axis=-1, keepdims=True) <= self.rules.golds
        return namespace(choices).where(fits, choices, 0.0)

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        return entry_at(choices.swapaxes(-1, -2), player), choices.sum(axis=-1)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        return report.bid, report.total
