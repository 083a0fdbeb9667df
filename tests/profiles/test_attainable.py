"""The first demand of a seat, and the offer that it had received by then."""

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.contexts import Context
from cheaptalk.games.deal_or_no_deal.rules import (
    DealOrNoDeal,
    MessageOrProposal,
    Proposal,
    ProposalMade,
)
from cheaptalk.profiles.conduct import first_asked
from cheaptalk.rules import Action, Result


def result_of(opening: str) -> Result:
    """Return a match in which player 1 opens with a message and player 2 requests two books."""

    def first(request: ct.DecisionRequest) -> Action:
        if isinstance(request.event, ProposalMade):
            return Proposal(books=1, hats=2, balls=1)
        return MessageOrProposal(message=opening)

    def second(request: ct.DecisionRequest) -> Action:
        return MessageOrProposal(books=2, hats=0, balls=0)

    context = Context(counts=(3, 2, 1), values=((1, 2, 3), (2, 1, 2)))
    game = DealOrNoDeal(turns=7, contexts=(context,))
    table = ct.play(game, game.instance_of("1"), "1", {"player_1": first, "player_2": second})
    return table.result()


def test_claim_in_a_message_is_a_demand_and_an_offer() -> None:
    claim = "I take 1 book, 2 hats and 1 ball, and you take 2 books, 0 hats and 0 balls."
    result = result_of(claim)
    assert first_asked(result, "player_1") == (0.8, 0.0)
    assert first_asked(result, "player_2") == (0.4, 0.4)


def test_unreadable_message_is_not_a_claim() -> None:
    result = result_of("What do you like best?")
    assert first_asked(result, "player_1") == (0.8, 0.0)  # its proposal
    assert first_asked(result, "player_2") == (0.4, 0.0)
