"""The diner's dilemma as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, entry_at, namespace
from cheaptalk.arrays.simultaneous.rounds import Feature, SimultaneousRounds
from cheaptalk.games.diners_dilemma.rules import DinersDilemma, RoundResult

COSTLY, CHEAP = 0, 1


class DinersDilemmaArrays(SimultaneousRounds[DinersDilemma]):
    """The diner's dilemma as an array game, which plays many matches at once."""

    @staticmethod
    def answers(rules: DinersDilemma) -> Sequence[str]:
        return ("costly", "cheap")

    @staticmethod
    def feature_specs(rules: DinersDilemma) -> Mapping[str, Feature]:
        return {"cheap": Feature(1, 1), "costly": Feature(1, rules.players)}

    def gains(self, choices: Array, draws: Array) -> Array:
        xp, rules, count = namespace(choices), self.rules, len(self.players)
        costly = (choices == COSTLY).sum(axis=-1, keepdims=True)
        bill = costly * rules.costly_price + (count - costly) * rules.cheap_price
        utility = xp.where(choices == COSTLY, rules.costly_utility, rules.cheap_utility)
        return utility - bill / count

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        return entry_at(choices.swapaxes(-1, -2), player) == CHEAP, (choices == COSTLY).sum(axis=-1)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        return report.chosen == "cheap", report.costly
