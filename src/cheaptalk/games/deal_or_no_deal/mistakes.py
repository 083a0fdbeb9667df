"""A negotiator that makes the mistakes of language models, each as often as one likes."""

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, Triple, bundles
from cheaptalk.games.deal_or_no_deal.events import MessageOrProposal, Proposal
from cheaptalk.games.deal_or_no_deal.negotiating import look, say
from cheaptalk.games.deal_or_no_deal.strategies import honest, pretence
from cheaptalk.games.deal_or_no_deal.talk import say_bundle, say_values
from cheaptalk.games.tactics import Share
from cheaptalk.rules import Action, Asked, Stream, strategy


@strategy("player")
def noisy(
    asked: Asked, *, impossible: Share = 0.1, lying: Share = 0.1, contradicting: Share = 0.1
) -> Action:
    """Negotiate honestly, but for the inconsistencies that language models were found to commit.

    Those of Liao, Tomlin and Klein (2024, figure 8). Replies that are no answer at all are beyond
    a strategy; :func:`~cheaptalk.games.deal_or_no_deal.replies.noisy_reply` writes them.

    Args:
        impossible: the probability that a message asks for more of a kind than there are.
        lying: the probability that another message states false values.
        contradicting: the probability that a proposal is not what was last offered or agreed on.
    """
    draw = asked.chance("mistake", asked.request)
    action = honest(asked)
    view = look(asked)
    counts, values = view.me.counts, view.me.values
    if isinstance(action, MessageOrProposal) and action.message is not None:
        if draw.happens(impossible):
            return say(f"I take {say_bundle(_too_many(counts, draw))}.")
        if draw.happens(lying):
            return say(say_values(pretence(counts, values)[0]))
    elif draw.happens(contradicting):
        return claiming(action, draw.pick(other_claims(action, counts)))
    return action


def claim_of(action: Action) -> Triple | None:
    """What an action claims; None if it is a message."""
    assert isinstance(action, MessageOrProposal | Proposal)
    return action.claim


def other_claims(action: Action, counts: Triple) -> list[Triple]:
    """What a player could claim other than this."""
    return [claim for claim in bundles(counts) if claim != claim_of(action)]


def claiming(action: Action, claim: Triple) -> Action:
    """The action with another claim."""
    return action.model_copy(update=dict(zip(KINDS, claim, strict=True)))


def _too_many(counts: Triple, draw: Stream) -> Triple:
    """A claim to one more of a kind than there are, and to nothing else."""
    chosen = draw.integer(0, len(KINDS) - 1)
    books, hats, balls = (count + 1 if kind == chosen else 0 for kind, count in enumerate(counts))
    return books, hats, balls
