"""The diner's dilemma as array functions; see :class:`.DinersDilemma`."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, namespace, own
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds, Told
from cheaptalk.games.diners_dilemma.events import RoundResult
from cheaptalk.games.diners_dilemma.rules import DinersDilemma

COSTLY, CHEAP = 0, 1


class DinersDilemmaArrays(SimultaneousRounds[DinersDilemma]):
    """The diner's dilemma, many matches at once."""

    @staticmethod
    def answers(rules: DinersDilemma) -> Sequence[str]:
        return ("costly", "cheap")

    @staticmethod
    def told_of(rules: DinersDilemma) -> Mapping[str, Told]:
        return {"cheap": Told(1, 1), "costly": Told(1, rules.players)}

    def gains(self, choices: Array, dealt: Array) -> Array:
        xp, rules, count = namespace(choices), self.rules, len(self.players)
        costly = (choices == COSTLY).sum(axis=-1, keepdims=True)
        bill = costly * rules.costly_price + (count - costly) * rules.cheap_price
        utility = xp.where(choices == COSTLY, rules.costly_utility, rules.cheap_utility)
        return utility - bill / count

    def told(self, choices: Array, dealt: Array, player: Array) -> Sequence[Array]:
        cheap = own(choices.swapaxes(-1, -2), player) == CHEAP
        return cheap, (choices == COSTLY).sum(axis=-1)

    def heard(self, report: RoundResult) -> Sequence[Any]:
        return report.chosen == "cheap", report.costly
