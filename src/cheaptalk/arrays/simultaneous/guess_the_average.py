"""The guess-the-average game as an array game, which plays many matches at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, NoArrayGame, entry_at, namespace
from cheaptalk.arrays.simultaneous.rounds import Decided, SimultaneousRounds
from cheaptalk.games.extras import needed
from cheaptalk.games.guess_the_average.rules import GuessTheAverage, RoundResult

np = needed("numpy")

LARGEST = 2**31
"""Bound of distances between numbers and targets, which are 32-bit integers."""


class GuessTheAverageArrays(SimultaneousRounds[GuessTheAverage]):
    """The guess-the-average array game, in which players observe averages but not targets."""

    def answers(self) -> Sequence[int]:
        maximum, ratio = self.rules.maximum, self.rules.ratio
        if self.count * maximum * max(ratio.numerator, ratio.denominator) >= LARGEST:
            raise NoArrayGame(
                f"guess_the_average: a maximum of {maximum} is too large for ratio {ratio} "
                f"and {self.count} players; use a smaller maximum or a simpler ratio"
            )
        return range(self.rules.minimum, maximum + 1)

    def report_units(self) -> Mapping[str, float]:
        number = self.rules.maximum
        return {"chosen": number, "average": number, "winning": number, "share": 1}

    def _winning(self, numbers: Array) -> Array:
        """Return whether each number wins; shape (..., rounds, players)."""
        ratio, count = self.rules.ratio, self.count
        target = ratio.numerator * numbers.sum(axis=-1, keepdims=True)
        distance = abs(numbers * (count * ratio.denominator) - target)
        return distance == distance.min(axis=-1, keepdims=True)

    def gains(self, choices: Array, draws: Array) -> Array:
        xp, winning = namespace(choices), self._winning(self.rules.minimum + choices)
        return xp.where(winning, 1 / winning.sum(axis=-1, keepdims=True), 0.0)

    def payoffs(self, state: Decided) -> Array:
        return super().payoffs(state) / self.rounds

    def report_values(self, choices: Array, draws: Array, player: Array) -> Sequence[Array]:
        xp, numbers = namespace(choices), self.rules.minimum + choices
        winning, average = self._winning(numbers), numbers.sum(axis=-1) / self.count
        lowest = xp.where(winning, numbers, self.rules.maximum).min(axis=-1)
        highest = xp.where(winning, numbers, self.rules.minimum).max(axis=-1)
        chosen, share = (
            entry_at(values.swapaxes(-1, -2), player)
            for values in (numbers, self.gains(choices, draws))
        )
        return chosen, average, xp.stack([lowest, highest], axis=-1), share

    def read_report(self, report: RoundResult) -> Sequence[Any]:
        ends = report.winning[0], report.winning[-1]
        share = 1 / report.winners if report.winners else 0.0
        return report.chosen, report.average, ends, share
