"""Scripted negotiators, which use plain English and read only what can be read exactly.

They use only what they have observed. They answer "Deal" to an acceptable offer, propose the
division that was agreed on, and claim their part of the last offer once the partner has proposed.
When the turns run out, they propose their latest division.
"""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from cheaptalk.games.deal_or_no_deal.contexts import KINDS, PILE, Triple, bundles, rest, worth
from cheaptalk.games.deal_or_no_deal.dialogue import (
    Move,
    Standing,
    misstates,
    standing,
    stated_values,
)
from cheaptalk.games.deal_or_no_deal.events import (
    Briefing,
    MessageOrProposal,
    Proposal,
    ProposalMade,
    YourTurn,
)
from cheaptalk.games.deal_or_no_deal.talk import (
    REMEMBERED,
    kind_of,
    say_bundle,
    say_offer,
    say_values,
)
from cheaptalk.games.manners import Manner, Topics, wording
from cheaptalk.games.tactics import Share, conceded
from cheaptalk.rules import Action, DecisionRequest, Strategy, Stream, by_name, strategy

Values: TypeAlias = tuple[float, float, float]
"""The actual or assumed values of a book, a hat and a ball."""


class View(NamedTuple):
    """A player's view of a game.

    Attributes:
        me: its briefing.
        table: the current offer.
        part: the player's part of the last offered division, if any.
        stated: the partner's values, if it has stated all of them.
        spoken: whether the player has sent a message.
    """

    me: Briefing
    table: Standing
    part: Triple | None
    stated: Values | None
    spoken: bool

    @property
    def offered(self) -> Triple | None:
        """The player's part in the partner's offer; None if the last offer is its own."""
        return self.part if self.table.proposer == self.me.partner else None

    @property
    def partner_values(self) -> Values:
        """The partner's values if known; otherwise the same value for every item."""
        alike = PILE / sum(self.me.counts)
        return self.stated or (alike, alike, alike)


def look(request: DecisionRequest) -> View:
    """Return the player's view at a request."""
    me: Briefing = request.briefing
    seat = request.actor
    moves: list[Move] = []
    heard: list[str] = []
    for event, action in (*request.heard, (request.event, None)):
        if isinstance(event, YourTurn) and event.message is not None:
            heard.append(event.message)
            moves.append(Move(me.partner, say(event.message)))
        if isinstance(action, MessageOrProposal):  # after a Proposal there are no more requests
            moves.append(Move(seat, action))
    table, spoken = standing(me.counts, moves), len(moves) > len(heard)
    return View(me, table, table.part(me.counts, seat), read_values(heard, me.counts), spoken)


def read_values(messages: Iterable[str], counts: Triple) -> Values | None:
    """Return a player's values if its messages state all of them; the last statement counts.

    A statement about several items refers to each of them if the pool could be worth that much; no
    value exceeds that of the pool.
    """
    values: dict[int, float] = {}
    for message in messages:
        for noun, stated in stated_values(message):
            kind, value = kind_of(noun), min(stated, PILE)
            together = noun.endswith("s") and value * counts[kind] > PILE
            values[kind] = value / counts[kind] if together else value
    return (values[0], values[1], values[2]) if len(values) == len(KINDS) else None


def own_points(view: View, claim: Triple) -> float:
    """Return the value of a claim to the player, in points."""
    return worth(view.me.values, claim)


def payoffs(me: Briefing, partner_values: Values, claim: Triple) -> tuple[float, float]:
    """Return the payoffs of the player and its partner, given assumed values of the partner."""
    points, partner_points = worth(me.values, claim), worth(partner_values, rest(me.counts, claim))
    return points + me.objective * partner_points, partner_points + me.objective * points


@lru_cache(maxsize=REMEMBERED)
def fairest(me: Briefing, partner_values: Values) -> Triple:
    """Return the division that maximises the lower payoff, and then the sum."""

    def worst_then_sum(claim: Triple) -> tuple[float, float]:
        payoff, partner_payoff = payoffs(me, partner_values, claim)
        return round(min(payoff, partner_payoff), 9), round(payoff + partner_payoff, 9)

    return max(bundles(me.counts), key=worst_then_sum)


@lru_cache(maxsize=REMEMBERED)
def demand(me: Briefing, partner_values: Values, share: float) -> Triple:
    """Return the best division for the partner that gives the player a share of its points."""
    minimum = share * PILE - 1e-9
    acceptable = [claim for claim in bundles(me.counts) if worth(me.values, claim) >= minimum]
    return max(acceptable, key=lambda claim: worth(partner_values, rest(me.counts, claim)))


@lru_cache(maxsize=REMEMBERED)
def say(message: str) -> MessageOrProposal:
    """Return a message as an action."""
    return MessageOrProposal(message=message)


def closing(turn: YourTurn) -> bool:
    """Return whether a proposal must be made now so that the partner can still answer it."""
    return turn.turn > 1 and turn.turn >= turn.turns - 1


def negotiate(
    request: DecisionRequest,
    view: View,
    division_wanted: Triple,
    enough: Callable[[Triple], bool],
    aside: str = "",
) -> Action:
    """Take a turn of a scripted negotiator.

    Args:
        request: the decision request.
        view: the player's view.
        division_wanted: the division that it offers.
        enough: whether it accepts its part of a partner's offer.
        aside: a message that accompanies its offers.
    """
    if isinstance(request.event, ProposalMade):
        books, hats, balls = view.part or division_wanted
        return Proposal(books=books, hats=hats, balls=balls)
    if view.part is not None and view.table.agreed:
        return MessageOrProposal.propose(view.part)
    good = view.offered is not None and enough(view.offered)
    division = view.offered if view.offered is not None and good else division_wanted
    if closing(request.event):
        return MessageOrProposal.propose(division)
    return say(f"{ACCEPTANCE if good else aside} {say_offer(view.me.counts, division)}".lstrip())


Power = Annotated[float, Field(gt=0)]
ACCEPTANCE = "Deal."
"""The message that accepts the partner's offer."""
REMARKS = ("Hello.", "What do you need?", "No.", "Deal.")


@strategy("player")
def honest(request: DecisionRequest) -> Action:
    """State one's true values, ask for the partner's, and offer and accept fair divisions.

    A fair division maximises the lower payoff (Rawls 1971, maximin), given the stated values; under
    the cooperative objective it maximises the sum.
    """
    view = look(request)
    truth = say_values(view.me.values)
    asking = isinstance(request.event, YourTurn) and not closing(request.event)
    if asking and not view.spoken and view.stated is None:
        return say(f"{truth} What is each worth to you?")
    fair = fairest(view.me, view.partner_values)
    minimum = min(payoffs(view.me, view.partner_values, fair))

    def enough(offer: Triple) -> bool:
        return payoffs(view.me, view.partner_values, offer)[0] >= minimum - 1e-9

    return negotiate(request, view, fair, enough, truth)


@strategy("player")
def greedy(request: DecisionRequest, *, share: Share = 1.0) -> Action:
    """Insist on a share of the points and accept nothing less (Nash 1953, demand game).

    Args:
        share: the share of the 10 points demanded, in [0, 1].
    """
    view = look(request)
    claim_wanted = demand(view.me, view.partner_values, share)
    return negotiate(
        request,
        view,
        claim_wanted,
        lambda offer: own_points(view, offer) >= own_points(view, claim_wanted),
    )


@strategy("player")
def fair(request: DecisionRequest) -> Action:
    """Offer a division with at least half of one's own points, and accept half or more.

    The equal division of Lewis et al. (2017), with each player counting its own points.
    """
    view = look(request)
    claim_wanted = demand(view.me, view.partner_values, 0.5)
    return negotiate(request, view, claim_wanted, lambda offer: own_points(view, offer) >= PILE / 2)


@strategy("player")
def conceding(
    request: DecisionRequest, *, start: Share = 1.0, end: Share = 0.3, power: Power = 1.0
) -> Action:
    """Demand less from turn to turn (Faratin, Sierra and Jennings 1998).

    The concession spreads over the player's first 12 turns, or fewer if there are fewer.

    Args:
        start: the share of the 10 points demanded at first, in [0, 1].
        end: the share demanded at the end, in [0, 1].
        power: above 0: 1 for a constant pace, above 1 to concede late, below 1 to concede early.
    """
    view = look(request)
    stage = (request.event.turn + 1) // 2
    rounds = min(12, view.me.turns // 2)
    share = conceded(stage, rounds, start, end, power)
    claim_wanted = demand(view.me, view.partner_values, share)
    return negotiate(
        request, view, claim_wanted, lambda offer: own_points(view, offer) >= share * PILE - 1e-9
    )


@strategy("player")
def liar(request: DecisionRequest) -> Action:
    """State false values, and demand as much as looks fair given these values.

    The false values are those of a legal context under which the liar gets the most without seeming
    to get more than half of the points (the first inconsistency of Liao, Tomlin and Klein 2024,
    figure 8).
    """
    view = look(request)
    feigned, claim_wanted = pretence(view.me.counts, view.me.values)
    good = worth(view.me.values, claim_wanted)
    return negotiate(
        request,
        view,
        claim_wanted,
        lambda offer: own_points(view, offer) >= good,
        say_values(feigned),
    )


@cache
def pretence(counts: Triple, values: Triple) -> tuple[Triple, Triple]:
    """Return the values that a liar states, and its claim."""
    lies = [
        feigned
        for feigned in bundles((PILE, PILE, PILE))
        if worth(feigned, counts) == PILE and misstates(say_values(feigned), counts, values)
    ]
    modest = [
        (feigned, claim)
        for feigned in lies
        for claim in bundles(counts)
        if 2 * worth(feigned, claim) <= PILE and claim != counts
    ]
    return max(modest, key=lambda pair: (worth(values, pair[1]), -sum(pair[1])))


@strategy("player")
def random(request: DecisionRequest, *, proposing: Share = 0.2) -> Action:
    """Send random messages, and propose a random division with a fixed probability per turn.

    Args:
        proposing: the probability of proposing after the first message, in [0, 1].
    """
    draw = request.chance("move", request.number)
    counts = request.briefing.counts
    books, hats, balls = claim = draw.pick(bundles(counts))
    if isinstance(request.event, ProposalMade):
        return Proposal(books=books, hats=hats, balls=balls)
    if request.event.turn > 1 and draw.happens(proposing):
        return MessageOrProposal.propose(claim)
    return say(draw.pick((*REMARKS, say_offer(counts, claim))))


@strategy("player")
def noisy(
    request: DecisionRequest,
    *,
    impossible: Share = 0.1,
    lying: Share = 0.1,
    contradicting: Share = 0.1,
) -> Action:
    """Negotiate honestly, but with the inconsistencies found in language models.

    The inconsistencies are those of Liao, Tomlin and Klein (2024, figure 8), except for unparsable
    responses, which a strategy can't produce.

    Args:
        impossible: the probability that a message requests more items of a kind than exist.
        lying: the probability that another message states false values.
        contradicting: the probability that a proposal differs from the last offer or agreement.
    """
    draw = request.chance("mistake", request.number)
    action = honest(request)
    view = look(request)
    counts, values = view.me.counts, view.me.values
    if isinstance(action, MessageOrProposal) and action.message is not None:
        if draw.happens(impossible):
            return say(f"I take {say_bundle(_impossible_claim(counts, draw))}.")
        if draw.happens(lying):
            return say(say_values(pretence(counts, values)[0]))
    elif draw.happens(contradicting):
        assert isinstance(action, MessageOrProposal | Proposal)
        alternatives = [claim for claim in bundles(counts) if claim != action.claim]
        return action.model_copy(update=dict(zip(KINDS, draw.pick(alternatives), strict=True)))
    return action


@strategy("player")
def muddled(
    request: DecisionRequest,
    *,
    inverting: Share = 0.3,
    impossible: Share = 0.1,
    lying: Share = 0.1,
    contradicting: Share = 0.1,
) -> Action:
    """Negotiate like `noisy`, and sometimes propose the partner's part.

    Language models were found to learn this by self-play in strict competition, where two players
    who both do so agree (Liao, Tomlin and Klein 2024, appendix D).

    Args:
        inverting: the probability that a proposal claims the partner's part of the last offer.
        impossible: the probability that a message requests more items of a kind than exist.
        lying: the probability that another message states false values.
        contradicting: the probability that another proposal differs from the last offer or
            agreement.
    """
    action = noisy(request, impossible=impossible, lying=lying, contradicting=contradicting)
    view = look(request)
    sends_message = isinstance(action, MessageOrProposal) and action.message is not None
    if (
        sends_message
        or view.part is None
        or not request.chance("inversion", request.number).happens(inverting)
    ):
        return action
    assert isinstance(action, MessageOrProposal | Proposal)
    partner_part = rest(view.me.counts, view.part)
    return action.model_copy(update=dict(zip(KINDS, partner_part, strict=True)))


TACTICS: dict[str, Strategy] = by_name([greedy, fair, conceding])
"""Strategies whose offers a talker can make."""


@strategy("player")
def talker(
    request: DecisionRequest,
    *,
    manner: Manner = "polite",
    offers: Literal["greedy", "fair", "conceding"] = "conceding",
    repeat: int = 0,  # noqa: ARG001 - distinguishes identical talkers
) -> Action:
    """Make another strategy's offers at its default settings, with messages in one manner.

    Talkers with different manners make the same moves against the same moves, so any difference is
    the effect of the messages (:mod:`~cheaptalk.games.manners`).

    Args:
        manner: the manner of the messages.
        offers: the strategy that determines offers and proposals.
        repeat: distinguishes identical talkers whose matches are repetitions; otherwise unused.
    """
    action = TACTICS[offers](request)
    if not isinstance(action, MessageOrProposal) or action.message is None:
        return action
    if action.message.startswith(ACCEPTANCE):  # an agreement needs no further message
        return action
    me: Briefing = request.briefing
    topics = Topics(
        anchor="my last three partners each left me 9 points or more",
        claim=say_values(pretence(me.counts, me.values)[0]),
        rule="both of us leave with nothing once two of my offers are turned down",
        rival="9 of the 10 points for me",
        wish="that you agree with my last offer",
        private="what each thing counts for you",
    )
    return say(f"{action.message} {wording(manner, topics, request)}".strip())


def _impossible_claim(counts: Triple, draw: Stream) -> Triple:
    """Return a claim to one more item of a kind than exists, and to nothing else."""
    chosen = draw.integer(0, len(KINDS) - 1)
    books, hats, balls = (count + 1 if kind == chosen else 0 for kind, count in enumerate(counts))
    return books, hats, balls
