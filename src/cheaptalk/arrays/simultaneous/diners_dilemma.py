"""The diner's dilemma as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, entry_at, namespace
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from cheaptalk.games.diners_dilemma.rules import DinersDilemma, RoundResult

COSTLY, CHEAP = 0, 1


class DinersDilemmaArrays(SimultaneousRounds[DinersDilemma]):
    """The diner's dilemma as an array game, which plays many matches at once."""

    def answers(self) -> Sequence[str]:
        return ("costly", "cheap")

    def report_units(self) -> Mapping[str, float]:
        return {"cheap": 1, "costly": self.rules.players}

    def gains(self, choices: Array, draws: Array) -> Array:
        xp, rules, count = namespace(choices), self.rules, self.count
        costly = (choices == COSTLY).sum(axis=-1, keepdims=True)
        bill = costly * rules.costly_price + (count - costly) * rules.cheap_price
        utility = xp.where(choices == COSTLY, rules.costly_utility, rules.cheap_utility)
        return utility - bill / count

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        return entry_at(choices.swapaxes(-1, -2), player) == CHEAP, (choices == COSTLY).sum(axis=-1)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        return report.chosen == "cheap", report.costly
