"""Guess the average as array functions; see :class:`.GuessTheAverage`."""

from collections.abc import Mapping, Sequence
from typing import Any

from cheaptalk.arrays.games import Array, NotArrayed, namespace, own
from cheaptalk.arrays.simultaneous.rounds import SimultaneousRounds, Told
from cheaptalk.games.extras import needed
from cheaptalk.games.guess_the_average.events import RoundResult
from cheaptalk.games.guess_the_average.rules import GuessTheAverage

np = needed("numpy")

LARGEST = 2**31
"""Distances between numbers and targets stay below it, so that 32 bits hold them."""


class GuessTheAverageArrays(SimultaneousRounds[GuessTheAverage]):
    """Guess the average, many matches at once.

    Of a round players observe the average, and not the target as well, which follows from it.
    """

    @staticmethod
    def answers(rules: GuessTheAverage) -> Sequence[int]:
        ratio = rules.ratio
        widest = rules.players * rules.maximum * max(ratio.numerator, ratio.denominator)
        if widest >= LARGEST:
            raise NotArrayed(
                f"guess_the_average: numbers up to {rules.maximum} are too large for ratio {ratio} "
                "and so many players; take a smaller maximum, or a ratio of smaller numbers"
            )
        return range(rules.minimum, rules.maximum + 1)

    @staticmethod
    def told_of(rules: GuessTheAverage) -> Mapping[str, Told]:
        number = Told(1, rules.maximum)
        return {
            "chosen": number, "average": number, "winning": Told(2, rules.maximum),
            "share": Told(1, 1),
        }  # fmt: skip

    def _winning(self, numbers: Array) -> Array:
        """Which numbers win; shape (..., rounds, players)."""
        ratio, count = self.rules.ratio, len(self.players)
        target = ratio.numerator * numbers.sum(axis=-1, keepdims=True)
        distance = abs(numbers * (count * ratio.denominator) - target)
        return distance == distance.min(axis=-1, keepdims=True)

    def gains(self, choices: Array, dealt: Array) -> Array:
        xp, winning = namespace(choices), self._winning(self.rules.minimum + choices)
        return xp.where(winning, 1 / winning.sum(axis=-1, keepdims=True), 0.0)

    def returns(self, state: Any) -> Array:
        return super().returns(state) / self.rounds

    def told(self, choices: Array, dealt: Array, player: Array) -> Sequence[Array]:
        xp, numbers = namespace(choices), self.rules.minimum + choices
        winning, average = self._winning(numbers), numbers.sum(axis=-1) / len(self.players)
        least = xp.where(winning, numbers, self.rules.maximum).min(axis=-1)
        most = xp.where(winning, numbers, self.rules.minimum).max(axis=-1)
        chosen, share = (
            own(one.swapaxes(-1, -2), player) for one in (numbers, self.gains(choices, dealt))
        )
        return chosen, average, xp.stack([least, most], axis=-1), share

    def heard(self, report: RoundResult) -> Sequence[Any]:
        ends = report.winning[0], report.winning[-1]
        share = 1 / report.winners if report.winners else 0.0
        return report.chosen, report.average, ends, share
