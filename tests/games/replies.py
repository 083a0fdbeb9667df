"""Replies to Deal or No Deal such as language models write, some of them ill-formed."""

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, Triple, bundles
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.strategies import noisy, say
from cheaptalk.games.deal_or_no_deal.talk import say_bundle
from cheaptalk.rules import Action, DecisionRequest
from cheaptalk.styles import Codec, TaggedCodec


def noisy_reply(
    asked: DecisionRequest,
    codec: Codec,
    *,
    ill_formed: float = 0.2,
    attempt: int = 0,
    impossible: float = 0.1,
    lying: float = 0.1,
    contradicting: float = 0.1,
) -> str:
    """What a language model might write, for models in tests: :func:`noisy`'s answer, or none.

    Args:
        asked: the question.
        codec: how answers are written down.
        ill_formed: the probability of a reply that the codec or the rules refuse.
        attempt: how often the question has been asked before; each time is drawn anew.
        impossible: as in :func:`noisy`.
        lying: as in :func:`noisy`.
        contradicting: as in :func:`noisy`.
    """
    action = noisy(asked, impossible=impossible, lying=lying, contradicting=contradicting)
    draw = asked.chance("reply", asked.number, attempt)
    if draw.happens(ill_formed):
        return draw.pick(ill_formed_replies(asked, codec, action))
    return codec.write(action)


def ill_formed_replies(asked: DecisionRequest, codec: Codec, action: Action) -> list[str]:
    """Replies with one fault each that look like this answer: those of the paper's Table 1.

    Without its beginning; two answers; beyond the pool; a proposal before anything is said, or a
    message after a proposal; and in tagged text the items in another order, or a number too many.
    """
    counts: Triple = asked.briefing.counts
    assert isinstance(action, MessageOrProposal | Proposal)
    claim = action.claim
    other = next(one for one in bundles(counts) if one != claim)
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
    elif asked.event.turn == 1:
        replies.append(codec.write(proposal))
    if isinstance(codec, TaggedCodec):
        replies.append(f"{codec.numbers} ({balls} balls, {hats} hats, {books} books)")
        replies.append(f"{codec.numbers} ({say_bundle(proposal.claim)}, and 1 more)")
    return replies
