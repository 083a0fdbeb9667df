"""Guess the average: the number closest to a fraction of the average wins."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, cast

from pydantic import BeforeValidator, Field, model_validator

from cheaptalk.games.rounds import Over, Rounds, RoundsPlayed
from cheaptalk.rules import Action, Event, Instance, Whole

if TYPE_CHECKING:
    from cheaptalk.rules.game import Settable

Claim = Literal["nothing", "equilibrium", "smart", "random"]
"""The claim about other players' choices (GAMA-Bench appendix G, settings a to c)."""


class NumberChoice(Action):
    """The number that a player chooses."""

    chosen_number: Whole


class Briefing(Event):
    """Information that a player receives at the start of the match.

    ``others`` is the claim about the other players; ``equilibrium`` is the number that they will
    allegedly choose, or None.
    """

    players: int
    rounds: int
    minimum: int
    maximum: int
    ratio: Fraction
    others: Claim
    equilibrium: int | None


class Turn(Event):
    """A request that all players choose a number simultaneously."""

    round: int
    minimum: int
    maximum: int
    ratio: Fraction


class RoundResult(Event):
    """The result of a round.

    ``winning`` contains the winning number, or both if two are equally close; ``winners`` is the
    number of players who share the win, or None if the player lost.
    """

    round: int
    average: float
    ratio: Fraction
    target: float
    winning: tuple[int, ...]
    chosen: int
    winners: int | None


def _read_ratio(value: Any) -> Any:
    """Read 0.6666666666666666 as 2/3 and 0.95 as 19/20, because neither is exact as a float."""
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")
    if isinstance(value, float) and value == value and abs(value) < 1e6:
        simple = Fraction(value).limit_denominator(1_000)
        return simple if float(simple) == value else Fraction(repr(value))
    return value


if TYPE_CHECKING:
    Ratio: TypeAlias = Settable[Fraction, Fraction | float | str]
else:
    Ratio = Annotated[Fraction, BeforeValidator(_read_ratio), Field(ge=0, le=100)]


# In the theory below, R is the ratio, N is the number of players, and numbers are integers from
# ``minimum`` to ``maximum``.


def winning_numbers(choices: Collection[int], ratio: Fraction) -> tuple[int, ...]:
    """Return the choice closest to the ratio times the average, or both choices if two tie.

    >>> winning_numbers((30, 40, 50), Fraction(2, 3))
    (30,)
    """
    scale, target = len(choices) * ratio.denominator, sum(choices) * ratio.numerator
    distances = {number: abs(number * scale - target) for number in sorted(set(choices))}
    smallest = min(distances.values())
    return tuple(number for number, distance in distances.items() if distance == smallest)


def rounded(number: Fraction, minimum: int, maximum: int) -> int:
    """Return the nearest integer in the range; halves are rounded up."""
    return min(max(int((number + Fraction(1, 2)) // 1), minimum), maximum)


def level_k(level: int, minimum: int, maximum: int, ratio: Fraction) -> int:
    """Return the choice of a player of level k: R ** k times the middle of the range (Nagel 1995).

    Level 0 chooses at random, with the middle as the average. Level k + 1 assumes that all other
    players are of level k, and ignores its own number in the average.

    >>> [level_k(level, 0, 100, Fraction(2, 3)) for level in range(4)]
    [50, 33, 22, 15]
    """
    return rounded(Fraction(minimum + maximum, 2) * ratio**level, minimum, maximum)


def equilibrium(minimum: int, maximum: int, ratio: Fraction) -> int:
    """Return the number that all players choose in equilibrium, for any number of players.

    The equilibrium is the minimum if R < 1 (GAMA-Bench section 2.1), and the maximum if R > 1. With
    R = 1, every number is an equilibrium; the result is the middle of the range, which GAMA-Bench's
    score rewards (appendix E).

    >>> [equilibrium(0, 100, Fraction(ratio)) for ratio in ("2/3", "1", "4/3")]
    [0, 50, 100]
    """
    if ratio == 1:
        return (minimum + maximum) // 2
    return minimum if ratio < 1 else maximum


def nearest_to_target(
    opponent_sum: int, players: int, minimum: int, maximum: int, ratio: Fraction
) -> int:
    """Return the number that hits the target, given the sum of the other players' numbers.

    c = R * (others + c) / N, so c = R * others / (N - R). If R >= N, the result is the maximum.

    >>> nearest_to_target(450, 10, 0, 100, Fraction(2, 3))
    32
    """
    if ratio >= players:
        return maximum
    return rounded(ratio * opponent_sum / (players - ratio), minimum, maximum)


class Numbers(RoundsPlayed[int]):
    """The numbers that the players chose, and each player's share of the win in each round."""


class GuessTheAverage(Rounds):
    """Guess 2/3 of the average, or any other fraction (Ledoux 1981; GAMA-Bench section 2.1).

    In every round all players simultaneously choose an integer. The player whose number is closest
    to the ratio times the average of all numbers wins; several winners share the win, as in Nagel's
    (1995) experiments. A player's payoff is its share of the rounds won, in [0, 1].

    In GAMA-Bench's paper all of the closest numbers win, as here; its code lets one of two equally
    close numbers lose. The paper doesn't mention sharing.
    """

    name = "guess_the_average"
    payoff_unit = "share of the rounds"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (NumberChoice,)
    outcome_type = Numbers

    minimum: int = Field(default=0, ge=0, le=1_000_000, strict=True)
    """The minimum number (MIN)."""
    maximum: int = Field(default=100, ge=1, le=1_000_000, strict=True)
    """The maximum number (MAX)."""
    ratio: Ratio = cast(Any, Fraction(2, 3))
    """The factor of the average (R), such as "2/3" or 0.5, from 0 to 100."""
    told: Claim = "nothing"
    """The claim about the other players in the briefing, true or not: none, that they always choose
    the equilibrium, that they are smart, or that they choose at random (appendix G's settings
    a-c)."""

    @model_validator(mode="after")
    def _possible(self) -> "GuessTheAverage":
        if self.minimum >= self.maximum:
            raise ValueError("the maximum must be greater than the minimum")
        if self.told == "equilibrium" and self.ratio == 1:
            raise ValueError(
                "told: equilibrium requires a ratio other than 1, which has several equilibria"
            )
        return self

    def briefings(self, instance: Instance) -> list[Event]:
        number_range = self.minimum, self.maximum, self.ratio
        number = equilibrium(*number_range) if self.told == "equilibrium" else None
        briefing = Briefing(self.players, self.rounds, *number_range, self.told, number)
        return [briefing] * self.players

    def choice_range(self, question: Turn) -> tuple[int, int]:
        return self.minimum, self.maximum

    def gains(self, number: int, choices: Sequence[int], instance: Instance) -> list[float]:
        winning = winning_numbers(choices, self.ratio)
        winners = sum(chosen in winning for chosen in choices)
        return [1 / winners if chosen in winning else 0.0 for chosen in choices]

    def reports(
        self, number: int, choices: Sequence[int], gains: Sequence[float], instance: Instance
    ) -> list[Event]:
        average = sum(choices) / self.players
        target = float(self.ratio * sum(choices) / self.players)
        winning = winning_numbers(choices, self.ratio)
        winners = sum(chosen in winning for chosen in choices)
        shared = (number, average, self.ratio, target, winning)
        return [
            RoundResult(*shared, chosen, winners if chosen in winning else None)
            for chosen in choices
        ]

    def payoffs(self, outcome: Numbers) -> dict[str, float]:
        """The share of rounds that each player won; tied players split the win equally."""
        return {player: won / self.rounds for player, won in super().payoffs(outcome).items()}

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        return {"player": (0.0, 1.0)}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return 1 as both bounds of the total payoff, because the shares of each win sum to 1."""
        return {"player": (1.0, 1.0)}
