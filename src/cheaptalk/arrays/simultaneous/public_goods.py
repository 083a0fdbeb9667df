"""The public goods game as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from cheaptalk.games.public_goods.rules import PublicGoods, RoundResult


class PublicGoodsArrays(SimultaneousRounds[PublicGoods]):
    """The public goods game as an array game, which plays many matches at once."""

    def answers(self) -> Sequence[int]:
        self.expect_limits()
        return range(self.rules.tokens + 1)

    def report_units(self) -> Mapping[str, float]:
        return {"contributions": self.rules.tokens}

    def gains(self, choices: Array, draws: Array) -> Array:
        pot = choices.sum(axis=-1, keepdims=True)
        return self.rules.tokens - choices + self.rules.factor * pot / self.count

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        return (choices,)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        return (report.contributions,)
