"""The El Farol bar as array functions; see :class:`.ElFarolBar`."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, namespace, own
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds, Told
from cheaptalk.games.el_farol_bar.events import RoundResult
from cheaptalk.games.el_farol_bar.rules import ElFarolBar

GO, STAY = 0, 1


class ElFarolBarArrays(SimultaneousRounds[ElFarolBar]):
    """The El Farol bar, many matches at once."""

    @staticmethod
    def answers(rules: ElFarolBar) -> Sequence[str]:
        return ("go", "stay")

    @staticmethod
    def told_of(rules: ElFarolBar) -> Mapping[str, Told]:
        return {"stayed": Told(1, 1), "counted": Told(1, 1), "went": Told(1, rules.players)}

    def gains(self, choices: Array, dealt: Array) -> Array:
        xp, rules = namespace(choices), self.rules
        fits = (choices == GO).sum(axis=-1, keepdims=True) <= rules.room
        return xp.where(choices == GO, xp.where(fits, rules.fun, rules.crowded), rules.home)

    def told(self, choices: Array, dealt: Array, player: Array) -> Sequence[Array]:
        xp = namespace(choices)
        stayed = own(choices.swapaxes(-1, -2), player) == STAY
        counted = ~stayed | self.rules.explicit
        return stayed, counted, xp.where(counted, (choices == GO).sum(axis=-1), 0)

    def heard(self, report: RoundResult) -> Sequence[Any]:
        return report.decision == "stay", report.went is not None, report.went or 0
