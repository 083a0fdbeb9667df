"""Scripted strategies of Deal or No Deal, which write and read messages in fixed patterns.

They answer "Deal" to an acceptable offer, propose the agreed division, and claim their part of the
last offer after the partner's proposal. In the last turns, they propose their latest division.
"""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field

from cheaptalk.games.deal_or_no_deal import dialogue, rules, talk
from cheaptalk.games.deal_or_no_deal.contexts import KINDS, PILE, Triple, bundles, rest, worth
from cheaptalk.games.manners import Choice, Topics, talker_of
from cheaptalk.games.tactics import Share, conceded
from cheaptalk.rules import Action, DecisionRequest, strategy

Values: TypeAlias = tuple[float, float, float]
"""The actual or assumed values of a book, a hat and a ball."""


class View(NamedTuple):
    """A player's view of a game.

    Attributes:
        me: the player's briefing.
        table: the current offer.
        part: the player's part of the last offered division, if any.
        stated: the partner's values, if the partner has stated all of them.
        spoken: whether the player has sent a message.
    """

    me: rules.Briefing
    table: dialogue.Standing
    part: Triple | None
    stated: Values | None
    spoken: bool

    @property
    def offered(self) -> Triple | None:
        """The player's part in the partner's last offer; None if the player made the last offer."""
        return self.part if self.table.proposer == self.me.partner else None

    @property
    def partner_values(self) -> Values:
        """The partner's values if they are known; otherwise equal values of all items."""
        alike = PILE / sum(self.me.counts)
        return self.stated or (alike, alike, alike)


def look(request: DecisionRequest) -> View:
    """Return the player's view of the game at a decision request."""
    me, seat = request.briefing, request.actor
    moves: list[dialogue.Move] = []
    heard: list[str] = []
    for event, action in (*request.heard, (request.event, None)):
        if isinstance(event, rules.YourTurn) and event.message is not None:
            heard.append(event.message)
            moves.append(dialogue.Move(me.partner, say(event.message)))
        # after a Proposal there are no more requests
        if isinstance(action, rules.MessageOrProposal):
            moves.append(dialogue.Move(seat, action))
    table, spoken = dialogue.standing(me.counts, moves), len(moves) > len(heard)
    return View(me, table, table.part(me.counts, seat), read_values(heard, me.counts), spoken)


def read_values(messages: Iterable[str], counts: Triple) -> Values | None:
    """Return a player's values if its messages state all of them; the last statement counts.

    A statement about several items is read as the value of each item, or as the value of all if
    they would otherwise be worth more than the pool.
    """
    values: dict[int, float] = {}
    for message in messages:
        for noun, stated in dialogue.stated_values(message):
            kind, value = talk.kind_of(noun), min(stated, PILE)
            together = noun.endswith("s") and value * counts[kind] > PILE
            values[kind] = value / counts[kind] if together else value
    return (values[0], values[1], values[2]) if len(values) == len(KINDS) else None


def own_points(view: View, claim: Triple) -> float:
    """Return the value of a claim to the player, in points."""
    return worth(view.me.values, claim)


def payoffs(me: rules.Briefing, partner_values: Values, claim: Triple) -> tuple[float, float]:
    """Return the payoffs of both players for a claim, given assumed values of the partner."""
    points, partner_points = worth(me.values, claim), worth(partner_values, rest(me.counts, claim))
    return points + me.objective * partner_points, partner_points + me.objective * points


@lru_cache(maxsize=talk.REMEMBERED)
def fairest(me: rules.Briefing, partner_values: Values) -> Triple:
    """Return the division with the maximum lower payoff; break ties by the sum of payoffs."""

    def worst_then_sum(claim: Triple) -> tuple[float, float]:
        payoff, partner_payoff = payoffs(me, partner_values, claim)
        return round(min(payoff, partner_payoff), 9), round(payoff + partner_payoff, 9)

    return max(bundles(me.counts), key=worst_then_sum)


@lru_cache(maxsize=talk.REMEMBERED)
def demand(me: rules.Briefing, partner_values: Values, share: float) -> Triple:
    """Return the partner's best division that leaves the player at least a share of the points."""
    minimum = share * PILE - 1e-9
    acceptable = [claim for claim in bundles(me.counts) if worth(me.values, claim) >= minimum]
    return max(acceptable, key=lambda claim: worth(partner_values, rest(me.counts, claim)))


@lru_cache(maxsize=talk.REMEMBERED)
def say(message: str) -> rules.MessageOrProposal:
    """Return a message as an action."""
    return rules.MessageOrProposal(message=message)


def closing(turn: rules.YourTurn) -> bool:
    """Return whether a proposal must be made now to leave the partner a turn for its proposal."""
    return turn.turn > 1 and turn.turn >= turn.turns - 1


def negotiate(
    request: DecisionRequest,
    view: View,
    division_wanted: Triple,
    enough: Callable[[Triple], bool],
    aside: str = "",
) -> Action:
    """Choose the action of a scripted negotiator.

    Args:
        division_wanted: the player's part in the division that the player offers.
        enough: returns whether the player accepts this part of a partner's offer.
        aside: a message that accompanies offers.
    """
    if isinstance(request.event, rules.ProposalMade):
        books, hats, balls = view.part or division_wanted
        return rules.Proposal(books=books, hats=hats, balls=balls)
    if view.part is not None and view.table.agreed:
        return rules.MessageOrProposal.propose(view.part)
    good = view.offered is not None and enough(view.offered)
    division = view.offered if view.offered is not None and good else division_wanted
    if closing(request.event):
        return rules.MessageOrProposal.propose(division)
    offer = talk.say_offer(view.me.counts, division)
    return say(f"{ACCEPTANCE if good else aside} {offer}".lstrip())


Power = Annotated[float, Field(gt=0)]
ACCEPTANCE = "Deal."
"""The message that accepts the partner's offer."""
REMARKS = ("Hello.", "What do you need?", "No.", "Deal.")


@strategy("player")
def honest(request: DecisionRequest) -> Action:
    """State the true values, ask for the partner's values, and offer and accept fair divisions.

    Given the stated values, a fair division maximises the lower payoff (Rawls 1971, maximin) or,
    under the cooperative objective, the sum of payoffs.
    """
    view = look(request)
    truth = talk.say_values(view.me.values)
    asking = isinstance(request.event, rules.YourTurn) and not closing(request.event)
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
    minimum = own_points(view, claim_wanted)
    return negotiate(request, view, claim_wanted, lambda offer: own_points(view, offer) >= minimum)


@strategy("player")
def fair(request: DecisionRequest) -> Action:
    """Offer divisions that yield at least half of the points; accept half (Lewis et al. 2017)."""
    view = look(request)
    claim_wanted = demand(view.me, view.partner_values, 0.5)
    return negotiate(request, view, claim_wanted, lambda offer: own_points(view, offer) >= PILE / 2)


@strategy("player")
def conceding(
    request: DecisionRequest, *, start: Share = 1.0, end: Share = 0.3, power: Power = 1.0
) -> Action:
    """Demand less from turn to turn (Faratin, Sierra and Jennings 1998).

    The concession takes the player's first 12 turns, or all turns if there are fewer.

    Args:
        start: the share of the 10 points demanded in the first turn.
        end: the share of the 10 points demanded in the last of these turns.
        power: 1 for a constant pace, above 1 to concede late, below 1 to concede early.
    """
    view = look(request)
    rounds = min(12, view.me.turns // 2)
    share = conceded((request.event.turn + 1) // 2, rounds, start, end, power)
    claim_wanted, minimum = demand(view.me, view.partner_values, share), share * PILE - 1e-9
    return negotiate(request, view, claim_wanted, lambda offer: own_points(view, offer) >= minimum)


@strategy("player")
def liar(request: DecisionRequest) -> Action:
    """State false values, and demand a division that would be fair with these values.

    With the false values, the liar seems to get at most half of the points. Among such values of
    legal contexts, the liar chooses those that yield the most (the first inconsistency of Liao,
    Tomlin and Klein 2024, figure 8).
    """
    view = look(request)
    feigned, claim = pretence(view.me.counts, view.me.values)
    minimum, lie = own_points(view, claim), talk.say_values(feigned)
    return negotiate(request, view, claim, lambda offer: own_points(view, offer) >= minimum, lie)


@cache
def pretence(counts: Triple, values: Triple) -> tuple[Triple, Triple]:
    """Return the values that a liar states, and the items that it claims."""
    lies = [
        feigned
        for feigned in bundles((PILE, PILE, PILE))
        if worth(feigned, counts) == PILE
        and dialogue.misstates(talk.say_values(feigned), counts, values)
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
    if isinstance(request.event, rules.ProposalMade):
        return rules.Proposal(books=books, hats=hats, balls=balls)
    if request.event.turn > 1 and draw.happens(proposing):
        return rules.MessageOrProposal.propose(claim)
    return say(draw.pick((*REMARKS, talk.say_offer(counts, claim))))


@strategy("player")
def noisy(
    request: DecisionRequest,
    *,
    impossible: Share = 0.1,
    lying: Share = 0.1,
    contradicting: Share = 0.1,
) -> Action:
    """Negotiate honestly, but with inconsistencies that are typical of language models.

    The inconsistencies are those of Liao, Tomlin and Klein (2024, figure 8), except for unparsable
    responses.

    Args:
        impossible: the probability that a message requests more items of a kind than exist.
        lying: the probability that any other message states false values.
        contradicting: the probability that a proposal differs from the last offer or agreement.
    """
    draw = request.chance("mistake", request.number)
    action, me = honest(request), request.briefing
    counts, values = me.counts, me.values
    if isinstance(action, rules.MessageOrProposal) and action.message is not None:
        if draw.happens(impossible):  # one more item of a random kind than exists
            chosen = draw.integer(0, len(KINDS) - 1)
            claim = [count + 1 if kind == chosen else 0 for kind, count in enumerate(counts)]
            return say(f"I take {talk.say_bundle((claim[0], claim[1], claim[2]))}.")
        if draw.happens(lying):
            return say(talk.say_values(pretence(counts, values)[0]))
    elif draw.happens(contradicting):
        assert isinstance(action, rules.MessageOrProposal | rules.Proposal)
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
    """Negotiate like the strategy `noisy`, but sometimes claim the partner's part.

    Models learn this by self-play in strict competition, in which two players who both claim the
    partner's part agree (Liao, Tomlin and Klein 2024, appendix D).

    Args:
        inverting: the probability that a proposal claims the partner's part of the last offer.
        impossible: the probability that a message requests more items of a kind than exist.
        lying: the probability that any other message states false values.
        contradicting: the probability that any other proposal differs from the last offer.
    """
    action = noisy(request, impossible=impossible, lying=lying, contradicting=contradicting)
    view = look(request)
    assert isinstance(action, rules.MessageOrProposal | rules.Proposal)
    inverts = request.chance("inversion", request.number).happens(inverting)
    if action.claim is None or view.part is None or not inverts:
        return action
    return action.model_copy(update=dict(zip(KINDS, rest(view.me.counts, view.part), strict=True)))


def topics(request: DecisionRequest) -> Topics:
    """Return a talker's phrases."""
    me: rules.Briefing = request.briefing
    return Topics(
        anchor="my last three partners each left me 9 points or more",
        claim=talk.say_values(pretence(me.counts, me.values)[0]),
        rule="both of us leave with nothing once two of my offers are turned down",
        rival="9 of the 10 points for me",
        wish="that you agree with my last offer",
        private="what each thing counts for you",
    )


TACTICS = Choice([greedy, fair, conceding], "conceding", "offers and proposals")
talker = talker_of(topics, silent=ACCEPTANCE, offers=TACTICS)
