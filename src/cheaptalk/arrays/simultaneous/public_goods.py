"""The public goods game as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array
from cheaptalk.arrays.simultaneous.rounds import Feature, SimultaneousRounds, expect_limits
from cheaptalk.games.public_goods.rules import PublicGoods, RoundResult


class PublicGoodsArrays(SimultaneousRounds[PublicGoods]):
    """The public goods game as an array game, which plays many matches at once."""

    @staticmethod
    def answers(rules: PublicGoods) -> Sequence[int]:
        expect_limits(rules)
        return range(rules.tokens + 1)

    @staticmethod
    def feature_specs(rules: PublicGoods) -> Mapping[str, Feature]:
        return {"contributions": Feature(rules.players, rules.tokens)}

    def gains(self, choices: Array, draws: Array) -> Array:
        pot = choices.sum(axis=-1, keepdims=True)
        return self.rules.tokens - choices + self.rules.factor * pot / len(self.players)

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        return (choices,)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        return (report.contributions,)
