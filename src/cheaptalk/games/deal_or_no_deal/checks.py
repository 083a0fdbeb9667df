"""The exact check that judges of hallucinations are held against."""

from cheaptalk.games.deal_or_no_deal.agreement import Move, standing
from cheaptalk.games.deal_or_no_deal.consistency import COUNTED, inconsistencies, stated_values
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.talk import plain
from cheaptalk.rules import Result

CONSISTENT = "consistent"


def hallucination(result: Result) -> dict[tuple[int, str], str]:
    """The first fault of each message and proposal, or that it is consistent.

    Only of turns with something in them that is read exactly: a number of items, a value of one's
    own, or a claim after a plain agreement. Of all others nothing is said.
    """
    context = result.deal.context
    moves = [
        (one.request, Move(one.seat, one.action))
        for one in result.given()
        if isinstance(one.action, MessageOrProposal | Proposal)
    ]
    made = [move for _, move in moves]
    faults: dict[int, str] = {}
    for turn, _, fault in inconsistencies(context, made):
        faults.setdefault(turn, fault)
    agreed = standing(context.counts, made).agreed
    return {
        (request, move.player): faults.get(turn, CONSISTENT)
        for turn, (request, move) in enumerate(moves, start=1)
        if turn in faults or (agreed if move.message is None else _reads(move.message))
    }


def _reads(message: str) -> bool:
    """Whether the check reads a number of items or a value of the speaker's in a message."""
    return bool(COUNTED.search(plain(message)) or stated_values(message))
