"""Public goods: contributions to the pot are multiplied and shared by all players."""

from collections.abc import Sequence
from itertools import product

from pydantic import Field

from cheaptalk.games.rounds import UNLIMITED, Over, Rounds, RoundsPlayed
from cheaptalk.rules import Action, Event, Instance, Whole


class Contribution(Action):
    """How many tokens a player gives to the pot."""

    tokens_contributed: Whole


class Briefing(Event):
    """Information for a player at the start; ``limits`` is true if contributions are limited."""

    players: int
    rounds: int
    tokens: int
    factor: float
    limits: bool


class Turn(Event):
    """A request that all players contribute tokens simultaneously."""

    round: int
    tokens: int
    limits: bool


class RoundResult(Event):
    """The result of a round.

    ``share`` is the player's part of the multiplied pot; ``began`` and ``tokens`` are its tokens
    before and after the round; ``holdings`` are all players' tokens after the round. Both lists are
    in the order of the players.
    """

    round: int
    contributions: tuple[int, ...]
    contributed: int
    pot: int
    share: float
    began: int
    tokens: float
    holdings: tuple[float, ...]


class Contributions(RoundsPlayed[int]):
    """Each player's contribution, and its tokens after the round."""


class PublicGoods(Rounds):
    """The public goods game (Samuelson 1954; GAMA-Bench section 2.2).

    In every round all players have the same tokens and simultaneously decide how many to contribute
    to a pot. The pot is multiplied by a factor and shared equally by all players, whatever they
    contributed. A player's payoff is the sum of its tokens after each round: those that it kept and
    its share of the pot.

    GAMA-Bench's recorded utility omits the share of the pot, an error of its code; its reports to
    the players don't. Contributions are made secretly and shown after the round.
    """

    name = "public_goods"
    payoff_unit = "tokens"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Contribution,)
    outcome_type = Contributions

    tokens: int = Field(default=20, ge=1, le=10**9, strict=True)
    """Each player's tokens at the start of every round (T)."""
    factor: float = Field(default=2.0, ge=0, le=10_000)
    """The factor by which the pot is multiplied (R). Below the number of players, contributing
    nothing is a player's best choice; above it, contributing everything."""
    limits: bool = True
    """Whether contributions below 0 or above the tokens are refused. GAMA-Bench's code refuses
    none, and its recorded games contain contributions above the tokens."""

    def choice_range(self, question: Turn | None = None) -> tuple[int, int]:
        return (0, self.tokens) if self.limits else (-UNLIMITED, UNLIMITED)

    def gains(self, number: int, choices: Sequence[int], instance: Instance) -> list[float]:
        pot = sum(choices)
        return [self._tokens_after(contribution, pot) for contribution in choices]

    def reports(
        self, number: int, choices: Sequence[int], gains: Sequence[float], instance: Instance
    ) -> list[Event]:
        contributions, holdings, pot = tuple(choices), tuple(gains), sum(choices)
        share = self.factor * pot / self.players
        return [
            RoundResult(number, contributions, given, pot, share, self.tokens, tokens, holdings)
            for given, tokens in zip(choices, gains, strict=True)
        ]

    def _tokens_after(self, contribution: int, pot: int) -> float:
        return self.tokens - contribution + self.factor * pot / self.players

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        pairs = product(self.choice_range(), repeat=2)
        extremes = [
            self._tokens_after(own, own + (self.players - 1) * other) for own, other in pairs
        ]
        return {"player": (self.rounds * min(extremes), self.rounds * max(extremes))}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """Return the bounds of the total payoff, reached at minimum and maximum contributions."""
        decisions = self.rounds * self.players
        extremes = self.choice_range()
        totals = [decisions * self._tokens_after(given, given * self.players) for given in extremes]
        return {"player": (min(totals), max(totals))}
