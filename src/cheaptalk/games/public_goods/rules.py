"""Public goods: what is given to the pot is multiplied and shared by all."""

from collections.abc import Sequence

from pydantic import Field

from cheaptalk.games.public_goods.events import Briefing, Contribution, RoundResult, Turn
from cheaptalk.games.rounds import UNLIMITED, Over, Rounds, RoundsPlayed, out_of_range
from cheaptalk.rules import Deal, Event


class Contributions(RoundsPlayed[int]):
    """What each player gave, and the tokens that each had after the round."""


class PublicGoods(Rounds):
    """The public goods game (Samuelson 1954; GAMA-Bench section 2.2).

    In every round all players have the same tokens and decide at once how many to give to a pot.
    The pot is multiplied by a factor and shared equally by all, whatever they gave. A player's
    payoff is the sum of its tokens after each round: those that it kept and its share of the pot.

    GAMA-Bench's recorded utility leaves the share of the pot out, an error of its code; its
    reports to the players do not. Contributions are made in secret and shown after the round.
    """

    name = "public_goods"
    payoff_unit = "tokens"
    events = (Briefing, Turn, RoundResult, Over)
    actions = (Contribution,)
    outcome_type = Contributions

    tokens: int = Field(default=20, ge=1, le=10**9, strict=True)
    """The tokens that each player has at the start of every round (T)."""
    factor: float = Field(default=2.0, ge=0, le=10_000)
    """What the pot is multiplied by (R). Up to the number of players each does best to give
    nothing; above it, to give all."""
    limits: bool = True
    """Whether a contribution below 0 or above the tokens is refused. GAMA-Bench's code refuses
    none, and its recorded games hold contributions above the tokens."""

    def objection(self, question: Turn, action: Contribution) -> str | None:
        return out_of_range("tokens_contributed", action.tokens_contributed, *self._range())

    def gains(self, number: int, choices: Sequence[int], deal: Deal) -> list[float]:
        pot = sum(choices)
        return [self._tokens_after(given, pot) for given in choices]

    def reports(
        self, number: int, choices: Sequence[int], gains: Sequence[float], deal: Deal
    ) -> list[Event]:
        given, holdings, pot = tuple(choices), tuple(gains), sum(choices)
        share = self.factor * pot / self.players
        return [
            RoundResult(number, given, own, pot, share, self.tokens, after, holdings)
            for own, after in zip(choices, gains, strict=True)
        ]

    def _tokens_after(self, given: int, pot: int) -> float:
        """What a player has after a round in which it gave so much to this pot."""
        return self.tokens - given + self.factor * pot / self.players

    def _range(self) -> tuple[int, int]:
        return (0, self.tokens) if self.limits else (-UNLIMITED, UNLIMITED)

    def payoff_bounds(self) -> dict[str, tuple[float, float]]:
        extremes = [
            self._tokens_after(own, own + (self.players - 1) * other)
            for own in self._range()
            for other in self._range()
        ]
        return {"player": (self.rounds * min(extremes), self.rounds * max(extremes))}

    def total_bounds(self) -> dict[str, tuple[float, float]]:
        """All give the least or the most: what one more token adds is always the same."""
        each = [self._tokens_after(own, own * self.players) for own in self._range()]
        many = self.rounds * self.players
        return {"player": (many * min(each), many * max(each))}
