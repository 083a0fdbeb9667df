"""Replies to Deal or No Deal as language models might write them, some of them ill-formed."""

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, Triple, bundles
from cheaptalk.games.deal_or_no_deal.rules import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.strategies import say
from cheaptalk.games.deal_or_no_deal.talk import say_bundle
from cheaptalk.rules import Action, DecisionRequest
from cheaptalk.styles import Codec, TaggedCodec


def ill_formed_replies(request: DecisionRequest, codec: Codec, action: Action) -> list[str]:
    """Return variants of an answer with one fault each, those of the paper's Table 1.

    The faults are a missing beginning, two answers, a claim beyond the pool, a proposal before any
    message or a message after a proposal; in tagged text also reordered items and extra numbers.
    """
    counts: Triple = request.briefing.counts
    assert isinstance(action, MessageOrProposal | Proposal)
    claim = action.claim
    other = next(bundle for bundle in bundles(counts) if bundle != claim)
    books, hats, balls = claim or counts
    proposal = Proposal(books=books, hats=hats, balls=balls)
    second = (
        say("No.")
        if claim is None
        else action.model_copy(update=dict(zip(KINDS, other, strict=True)))
    )
    written = codec.write(action)
    replies = [
        written[1:],
        f"{written}\n{codec.write(second)}",
        codec.write(proposal.model_copy(update={"hats": counts[1] + 1})),
    ]
    if isinstance(action, Proposal):
        replies.append(codec.write(say("Let us talk.")))
    elif request.event.turn == 1:
        replies.append(codec.write(proposal))
    if isinstance(codec, TaggedCodec):
        replies.append(f"{codec.numbers} ({balls} balls, {hats} hats, {books} books)")
        replies.append(f"{codec.numbers} ({say_bundle(proposal.claim)}, and 1 more)")
    return replies
