"""What a place asks for first, and what it had been offered by then."""

import cheaptalk as ct
from cheaptalk.games.deal_or_no_deal.contexts import Context
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal, ProposalMade
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.profiles.metrics.attainable import first_asked
from cheaptalk.rules import Action, Result


def result_of(opening: str) -> Result:
    """A match in which player 1 opens with a message and player 2 then asks for two books."""

    def first(asked: ct.DecisionRequest) -> Action:
        if isinstance(asked.event, ProposalMade):
            return Proposal(books=1, hats=2, balls=1)
        return MessageOrProposal(message=opening)

    def second(asked: ct.DecisionRequest) -> Action:
        return MessageOrProposal(books=2, hats=0, balls=0)

    context = Context(counts=(3, 2, 1), values=((1, 2, 3), (2, 1, 2)))
    game = DealOrNoDeal(turns=7, contexts=(context,))
    table = ct.play(game, game.instance_of("1"), "1", {"player_1": first, "player_2": second})
    return table.result()


def test_a_claim_in_words_is_what_is_asked_and_what_it_leaves_is_offered() -> None:
    said = result_of("I take 1 book, 2 hats and 1 ball, and you take 2 books, 0 hats and 0 balls.")
    assert first_asked(said, "player_1") == (0.8, 0.0)
    assert first_asked(said, "player_2") == (0.4, 0.4)


def test_words_that_cannot_be_read_are_no_claim() -> None:
    said = result_of("What do you like best?")
    assert first_asked(said, "player_1") == (0.8, 0.0)  # its proposal
    assert first_asked(said, "player_2") == (0.4, 0.0)
