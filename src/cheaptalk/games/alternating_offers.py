"""The assessment of games in which two players take turns to make offers.

In each stage, one player makes an offer and the other accepts or rejects it. The first seat makes
the offer in odd stages. The game has a :class:`~cheaptalk.rules.Horizon` as ``horizon``.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from cheaptalk.rules import Result
from cheaptalk.rules.assessment import DROP, FAIR, LATE, LONG, LOW, Assessment, Conduct, Mistakes

SLACK = 0.011
"""Tolerance in dollars, because offers are rounded to cents."""


def round_limits(game: Any) -> tuple[float, float]:
    """Return the minimum and maximum number of rounds in a match."""
    return 1.0, float(game.horizon.rounds)


class Turn(NamedTuple):
    """An offer that a player made or answered.

    Attributes:
        stage: the round, from 1.
        payoff: the player's payoff from the offer, or this as a share of its attainable payoff.
        taken: whether the player accepted the offer; None for the player's own offers.
    """

    stage: int
    payoff: float
    taken: bool | None


class AlternatingOffers(Assessment):
    """The assessment of a game of alternating offers; a game overrides :meth:`offered`."""

    waiting_costs: ClassVar[bool] = False
    """Whether an offer loses value by stage, see :meth:`discount`."""

    def discount(self, game: Any, seat: str) -> float:
        """Return a seat's discount factor per stage."""
        return 1.0

    def mistakes(self, result: Result, seat: str) -> Mistakes:
        """Return a seat's mistakes.

        Mistakes are counteroffers that demand less than a rejected offer (in present value),
        demands and acceptances of a loss, and rejections of a gain in the last round.
        """
        horizon, discount = result.game.horizon, self.discount(result.game, seat)
        losses, others = 0, 0
        turned_down: float | None = None
        for stage, payoff, accepts in self._turns(result, seat):
            value = payoff * discount ** (stage - 1)
            if accepts is None:
                less = turned_down is not None and value < turned_down - SLACK
                losses, others = losses + (value < 0), others + (less and value >= 0)
            else:
                last = stage == horizon.rounds and not horizon.hidden
                losses += accepts and value < -SLACK
                others += not accepts and last and value > SLACK
            turned_down = value if accepts is False else None
        return Mistakes(losses, others)

    def conduct(self, result: Result, seat: str) -> Conduct:
        game = result.game
        attainable = self.attainable(game, result.instance, seat) or 0.0
        turns = [
            turn._replace(payoff=turn.payoff / attainable)
            for turn in self._turns(result, seat)
            if attainable > 0
        ]
        rounds = game.horizon.rounds
        answers = [turn for turn in turns if turn.taken is not None]
        before = [turn for turn in answers if turn.stage < rounds]
        last = [turn for turn in answers if turn.stage == rounds]
        fair = [turn for turn in last if turn.payoff >= FAIR and not game.horizon.hidden]
        low = [turn for turn in before if turn.payoff <= LOW]
        low = low if self.waiting_costs and rounds < LONG else []
        last_word = rounds % 2 == (seat == next(iter(game.seats))) and not game.horizon.hidden
        gifts = [turn for turn in turns if turn.taken is None and turn.stage < rounds]
        gifts = gifts if last_word and not self.waiting_costs else []
        early, late = ([turn for turn in part if turn.payoff < -1e-3] for part in (before, last))
        lapse = first_lapse(turns, rounds) if rounds >= LONG else None
        reached = any(turn.stage >= LATE for turn in turns) and rounds >= LONG
        return Conduct(
            yielded=any(turn.taken for turn in before),
            fair=len(fair),
            fair_refused=sum(not offer.taken for offer in fair),
            low=len(low),
            low_taken=sum(bool(offer.taken) for offer in low),
            gift=len(gifts),
            gift_made=sum(offer.payoff <= LOW for offer in gifts),
            loss=len(early),
            loss_taken=sum(bool(offer.taken) for offer in early),
            last_loss=len(late),
            last_loss_taken=sum(bool(offer.taken) for offer in late),
            late=lapse is not None and lapse >= LATE if reached else None,
            early=lapse is not None and lapse < LATE,
        )

    def _turns(self, result: Result, seat: str) -> Iterator[Turn]:
        """Yield the offers that a seat made or answered, with payoffs in the game's unit."""
        for answer, own, named, last in self._offers(result, seat):
            if own and answer.action is not None:
                accepts = bool(self.accepts(answer.action)) if named is None else None
                payoff = (last or 0.0) if named is None else named
                yield Turn(answer.request // 2 + 1, payoff, accepts)


def first_lapse(turns: list[Turn], rounds: int) -> int | None:
    """Return the first round in which a player accepts or demands far less than it did before.

    The last two rounds are excluded, because any share is better than none there.
    """
    demand: float | None = None
    for turn in turns:
        if turn.stage >= rounds - 1:
            return None
        if turn.taken is False:
            continue
        if demand is not None and turn.payoff <= min(2 * LOW, demand - DROP):
            return turn.stage
        demand = turn.payoff
    return None
