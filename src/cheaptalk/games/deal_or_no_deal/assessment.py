"""The assessment of Deal or No Deal: claims in proposals and messages, and their consistency."""

from typing import Any

from cheaptalk.games.deal_or_no_deal.contexts import rest, worth
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.metrics import check_hallucination
from cheaptalk.games.deal_or_no_deal.rules import PLAYERS
from cheaptalk.games.deal_or_no_deal.talk import read_offer
from cheaptalk.rules import Given, Result
from cheaptalk.rules.assessment import Assessment, Statement, checked


class DealOrNoDealAssessment(Assessment):
    """The assessment of Deal or No Deal."""

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        """Return the points of the claim in a seat's proposal, or in any player's message."""
        context, action, own = result.instance.context, answer.action, answer.actor == seat
        claim = None
        if isinstance(action, MessageOrProposal) and action.message is not None:
            claim = read_offer(action.message, context.counts)
        elif own and isinstance(action, Proposal | MessageOrProposal):
            claim = (action.books or 0, action.hats or 0, action.balls or 0)
        if claim is None:
            return None
        bundle = claim if own else rest(context.counts, claim)
        return float(worth(context.values[PLAYERS.index(seat)], bundle))

    def statements(self, result: Result) -> list[Statement]:
        return checked(check_hallucination(result), true="consistent")

    def meanings(self, result: Result) -> dict[tuple[int, str], Any]:
        """Return each message's claim, and whether each message or proposal is consistent."""
        true = super().meanings(result)
        return true | {
            (request, actor): [
                read_offer(action.message, result.instance.context.counts),
                true.get((request, actor)),
            ]
            for request, actor, action in result.given()
            if isinstance(action, MessageOrProposal) and action.message
        }
