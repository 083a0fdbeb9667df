"""The El Farol bar game as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, entry_at, namespace
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds
from cheaptalk.games.el_farol_bar.rules import ElFarolBar, RoundResult

GO, STAY = 0, 1


class ElFarolBarArrays(SimultaneousRounds[ElFarolBar]):
    """The El Farol bar game as an array game, which plays many matches at once."""

    def answers(self) -> Sequence[str]:
        return ("go", "stay")

    def report_units(self) -> Mapping[str, float]:
        return {"stayed": 1, "counted": 1, "went": self.rules.players}

    def gains(self, choices: Array, draws: Array) -> Array:
        xp, rules = namespace(choices), self.rules
        fits = (choices == GO).sum(axis=-1, keepdims=True) <= rules.room
        return xp.where(choices == GO, xp.where(fits, rules.fun, rules.crowded), rules.home)

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        xp = namespace(choices)
        stayed = entry_at(choices.swapaxes(-1, -2), player) == STAY
        counted = ~stayed | self.rules.explicit
        return stayed, counted, xp.where(counted, (choices == GO).sum(axis=-1), 0)

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        return report.decision == "stay", report.went is not None, report.went or 0
