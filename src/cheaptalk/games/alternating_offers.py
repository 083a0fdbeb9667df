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
        share: the player's payoff from the offer, as a share of its attainable payoff.
        taken: whether the player accepted the offer; None for the player's own offers.
    """

    stage: int
    share: float
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
        losses, others, offered, turned_down = 0, 0, 0.0, None
        for answer in result.given():
            stage = answer.request // 2 + 1
            named = self.offered(result, seat, answer)
            if named is not None:
                named *= discount ** (stage - 1)
            if named is not None and answer.actor != seat:
                offered = named
            elif named is not None:
                less = turned_down is not None and named < turned_down - SLACK
                losses, others = losses + (named < 0), others + (less and named >= 0)
                turned_down = None
            elif answer.action is not None and answer.actor == seat:
                accepts = bool(self.accepts(answer.action))
                last = stage == horizon.rounds and not horizon.hidden
                losses += accepts and offered < -SLACK
                others += not accepts and last and offered > SLACK
                turned_down = None if accepts else offered
        return Mistakes(losses, others)

    def conduct(self, result: Result, seat: str) -> Conduct:
        game, turns = result.game, [*self._turns(result, seat)]
        rounds = game.horizon.rounds
        answers = [turn for turn in turns if turn.taken is not None]
        before = [turn for turn in answers if turn.stage < rounds]
        last = [turn for turn in answers if turn.stage == rounds]
        fair = [turn for turn in last if turn.share >= FAIR and not game.horizon.hidden]
        low = [turn for turn in before if turn.share <= LOW]
        low = low if self.waiting_costs and rounds < LONG else []
        last_word = rounds % 2 == (seat == next(iter(game.seats))) and not game.horizon.hidden
        gifts = [turn for turn in turns if turn.taken is None and turn.stage < rounds]
        gifts = gifts if last_word and not self.waiting_costs else []
        early, late = ([turn for turn in part if turn.share < -1e-3] for part in (before, last))
        lapse = first_lapse(turns, rounds) if rounds >= LONG else None
        reached = any(turn.stage >= LATE for turn in turns) and rounds >= LONG
        return Conduct(
            yielded=any(turn.taken for turn in before),
            fair=len(fair),
            fair_refused=sum(not offer.taken for offer in fair),
            low=len(low),
            low_taken=sum(bool(offer.taken) for offer in low),
            gift=len(gifts),
            gift_made=sum(offer.share <= LOW for offer in gifts),
            loss=len(early),
            loss_taken=sum(bool(offer.taken) for offer in early),
            last_loss=len(late),
            last_loss_taken=sum(bool(offer.taken) for offer in late),
            late=lapse is not None and lapse >= LATE if reached else None,
            early=lapse is not None and lapse < LATE,
        )

    def _turns(self, result: Result, seat: str) -> Iterator[Turn]:
        attainable = self.attainable(result.game, result.instance, seat)
        if attainable is None or attainable <= 0:
            return
        offered = 0.0
        for answer in result.given():
            stage = answer.request // 2 + 1
            named = self.offered(result, seat, answer)
            if named is not None and answer.actor != seat:
                offered = named / attainable
            elif named is not None:
                yield Turn(stage, named / attainable, None)
            elif answer.action is not None and answer.actor == seat:
                yield Turn(stage, offered, bool(self.accepts(answer.action)))


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
        if demand is not None and turn.share <= min(2 * LOW, demand - DROP):
            return turn.stage
        demand = turn.share
    return None
