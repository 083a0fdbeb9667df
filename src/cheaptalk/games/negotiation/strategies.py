"""Scripted strategies of negotiation, which depend only on observations.

A gain is the price minus the own value for a seller, and the own value minus the price for a buyer.
Except for ``random``, the strategies never trade at a loss.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from cheaptalk.games.manners import Choice, Topics, talker_of
from cheaptalk.games.negotiation.rules import (
    Briefing,
    Price,
    PricePosted,
    Reply,
    ReplyOrJohn,
    SpokenPrice,
)
from cheaptalk.games.tactics import Share, conceded, concessions
from cheaptalk.rules import Action, DecisionRequest, strategy


def optimal_gain(gains: Sequence[float]) -> float:
    """Return the demand g that maximises g * P(G >= g), where G is uniform over the gains.

    G is the total surplus of a trade, so P(G >= g) is the probability of acceptance. Among several
    optimal gains, the result is the smallest. It is 0 if no gain is positive.

    >>> optimal_gain([-20, 0, 20, 50])
    50
    >>> optimal_gain([30, 40, 50])
    30
    """
    demands = [0.0, *sorted(gain for gain in gains if gain > 0)]
    return max(demands, key=lambda demanded: demanded * sum(gain >= demanded for gain in gains))


def regret_minimising_gain(surplus: float, draw: float) -> float:
    """Return a quantile of the distribution of demands that minimises the maximum regret.

    A seller with cost c knows only that the buyer's value v is at most h. Its regret is max(v - c,
    0) minus the revenue of the price p, which is p - c if p <= v, else 0. If the price has density
    1 / (p - c) on [c + (h - c) / e, h], the expected regret is (h - c) / e for every v in this
    range, and lower for lower v; no other distribution has a smaller maximum (Bergemann and Schlag
    2008, 2011, here with a cost). The gain p - c at quantile u is therefore (h - c) * exp(u - 1).

    Args:
        surplus: h - c, the maximum surplus of a trade, in dollars.
        draw: the quantile u, uniform in [0, 1).

    >>> round(regret_minimising_gain(100, 0.0), 2), regret_minimising_gain(100, 1.0)
    (36.79, 100.0)
    """
    return surplus * math.exp(draw - 1)


def equilibrium_share(seat: str, rounds: int | None) -> float:
    """Return a player's share of the surplus in subgame-perfect equilibrium.

    Waiting is free, so the player who names the last price takes the whole surplus: the other
    player then accepts any price without a loss (backward induction; Stahl 1972 without
    discounting). If the horizon is unknown, the result is 1/2, the limit of Rubinstein's (1982)
    division as equal discounts approach 1.

    >>> equilibrium_share("alice", 1), equilibrium_share("alice", 10)
    (1.0, 0.0)
    """
    if rounds is None:
        return 0.5
    return float((seat == "alice") == (rounds % 2 == 1))


Factor = Annotated[float, Field(gt=0)]
ANSWERS: dict[type[Action], dict[str, Action]] = {
    Reply: {"accept": Reply(decision="accept"), "reject": Reply(decision="reject")},
    ReplyOrJohn: {
        "accept": ReplyOrJohn(decision="accept"),
        "reject": ReplyOrJohn(decision="reject"),
        "john": ReplyOrJohn(decision="john"),
    },
}
"""All answers to a price, with and without John."""

SLACK = 1e-9
"""Tolerance in comparisons of gains, as a share of the own value."""


def price_of(me: Briefing, gain: float) -> float:
    """Return the price at which the player's gain is the given amount."""
    return me.value + gain if me.seat == "alice" else me.value - gain


def gain_at(me: Briefing, price: float) -> float:
    """Return the player's gain at a price, in dollars."""
    return price - me.value if me.seat == "alice" else me.value - price


def known_surplus(me: Briefing) -> float | None:
    """Return the surplus of a trade in dollars; None if it is unknown."""
    return None if me.rival_value is None else gain_at(me, me.rival_value)


def name_price(request: DecisionRequest, price: float, message: str = "") -> Action:
    """Name a price, or the nearest legal price."""
    legal = min(max(price, 0.0), request.briefing.highest_price)
    if request.ask.action is SpokenPrice:
        return SpokenPrice(price=legal, message=message)
    return Price(price=legal)


def demand(request: DecisionRequest, gain: float, message: str = "") -> Action:
    """Name the price for a given gain, rounded to cents in the player's favour."""
    cents = 100 * price_of(request.briefing, gain)
    seller = request.briefing.seat == "alice"
    whole_cents = math.ceil(cents - 1e-6) if seller else math.floor(cents + 1e-6)
    return name_price(request, whole_cents / 100, message)


def answer(request: DecisionRequest, decision: Literal["accept", "reject", "john"]) -> Action:
    """Return the answer that accepts the price, rejects it, or chooses the other partner, John."""
    return ANSWERS[request.ask.action][decision]


def take(request: DecisionRequest, posted: PricePosted, minimum: float) -> Action:
    """Accept a price with a gain of at least ``minimum`` dollars, and reject any other price."""
    me: Briefing = request.briefing
    good = gain_at(me, posted.price) >= minimum - SLACK * me.value
    return answer(request, "accept" if good else "reject")


def insist(request: DecisionRequest, gain: float, message: str) -> Action:
    """Name the price with the given gain, and accept only prices with at least that gain."""
    if isinstance(request.event, PricePosted):
        return take(request, request.event, gain)
    return name_price(request, price_of(request.briefing, gain), message)


@strategy("alice", "bob")
def fixed_price(request: DecisionRequest, *, markup: Share = 0.2) -> Action:
    """Always name the same price and accept nothing worse (posted price, GLEE appendix C).

    Args:
        markup: the gain demanded as a share of the own value: a seller demands value * (1 +
            markup), and a buyer offers value * (1 - markup).
    """
    me: Briefing = request.briefing
    return insist(request, markup * me.value, "This is my price and I will not move.")


@strategy("alice", "bob")
def prior_optimal(
    request: DecisionRequest, *, factors: tuple[Factor, ...] = (0.8, 1.0, 1.2, 1.5)
) -> Action:
    """Name the optimal price given a prior distribution of the other player's value.

    The optimal strategy of a seller with a prior is a constant price p that maximises (p - V_A) *
    P(V_B >= p) (Harris and Raviv 1981; Riley and Zeckhauser 1983; GLEE appendix C). A buyer
    maximises (V_B - p) * P(V_A <= p). If the other player's value is known, it is the price.

    Args:
        factors: the other player's possible values as multiples of the own value, each equally
            likely; by default GLEE's factors, as multiples of the value of a player with factor 1.
    """
    me: Briefing = request.briefing
    values = [factor * me.value for factor in factors]
    if me.rival_value is not None:
        values = [me.rival_value]
    best = optimal_gain([gain_at(me, value) for value in values])
    return insist(request, best, "This is my price and it will stay my price.")


@strategy("alice", "bob")
def minimax_regret(request: DecisionRequest, *, surplus: Share = 0.5) -> Action:
    """Name one random price that minimises the maximum possible regret.

    The policy of Bergemann and Schlag (2011; GLEE appendix C) for a seller without a prior:
    :func:`~cheaptalk.games.negotiation.strategies.regret_minimising_gain`. A buyer uses the mirror
    image. The price is drawn once per match. If the other player's value is known, it is the price.

    Args:
        surplus: the maximum surplus of a trade, as a share of the own value: a seller assumes that
            the buyer's value is at most value * (1 + surplus), and a buyer assumes that the
            seller's value is at least value * (1 - surplus).
    """
    me: Briefing = request.briefing
    surplus_known = known_surplus(me)
    if surplus_known is not None:
        return insist(request, max(surplus_known, 0.0), "This is my price.")
    gain = regret_minimising_gain(surplus * me.value, request.chance("price").uniform())
    return insist(request, round(gain, 2), "This is my price.")


def latest_prices(request: DecisionRequest) -> tuple[float | None, float | None]:
    """Return the latest prices that the player and the rival named; None for no price."""
    heard = request.heard[::-1]
    own_prices = (action.price for _, action in heard if isinstance(action, Price))
    rival_prices = (event.price for event, _ in heard if isinstance(event, PricePosted))
    return next(own_prices, None), next(rival_prices, None)


@strategy("alice", "bob")
def split_the_difference(
    request: DecisionRequest, *, opening: Share = 0.5, close: Share = 0.01
) -> Action:
    """Meet the other player halfway (the split-the-difference rule of everyday haggling).

    If both values are known, name the price halfway between them, and accept nothing worse.
    Otherwise, name the price halfway between the two last prices. Accept a price that is at least
    as good as the own last price or close to it; in the last round, any price without a loss.

    Args:
        opening: the gain demanded at first, as a share of the own value.
        close: the maximum difference of a close price, as a share of the own value.
    """
    me: Briefing = request.briefing
    surplus_known = known_surplus(me)
    if surplus_known is not None:
        return insist(request, max(surplus_known, 0.0) / 2, "Halfway is fair to both of us.")
    own_price, rival_price = latest_prices(request)
    own_gain = opening * me.value if own_price is None else gain_at(me, own_price)
    posted = request.event
    if isinstance(posted, PricePosted):
        minimum = 0.0 if posted.last else max(0.0, own_gain - close * me.value)
        return take(request, posted, minimum)
    gain = own_gain if rival_price is None else (own_gain + gain_at(me, rival_price)) / 2
    return demand(request, max(gain, 0.0), "Let us meet halfway.")


@strategy("alice", "bob")
def zero_intelligence(request: DecisionRequest, *, reach: Share = 1.0) -> Action:
    """Name random prices that cause no loss, and accept any price that causes no loss.

    The budget-constrained zero-intelligence trader (ZI-C) of Gode and Sunder (1993).

    Args:
        reach: the maximum gain demanded, as a share of the own value: a seller's price is uniform
            in [value, value * (1 + reach)], and a buyer's price in [value * (1 - reach), value].
    """
    if isinstance(request.event, PricePosted):
        return take(request, request.event, 0.0)
    draw = request.chance("price", request.number)
    return demand(request, draw.uniform(0, reach * request.briefing.value))


def concede(request: DecisionRequest, start: float, end: float, power: float) -> Action:
    """Name prices on a concession curve, and accept prices that reach the current demand."""
    me: Briefing = request.briefing
    stage: int = request.event.stage
    minimum = me.value * conceded(stage, me.rounds, start, end, power)
    if isinstance(request.event, PricePosted):
        return take(request, request.event, minimum)
    return demand(request, minimum, "This is my price for now.")


GAIN = "the gain demanded in the {} round, as a share of the own value"
linear, boulware, conceder = concessions(concede, GAIN, 0.5, 0.0)


@strategy("alice", "bob")
def subgame_perfect(request: DecisionRequest, *, guess: Share = 0.4) -> Action:
    """Play the subgame-perfect equilibrium: the player who names the last price takes the surplus.

    Demand the equilibrium share of the surplus in every stage
    (:func:`~cheaptalk.games.negotiation.strategies.equilibrium_share`), and accept no less; in the
    last stage, accept any price without a loss. If no trade can yield a surplus, choose John. The
    equilibrium requires complete information; otherwise, the strategy is a rule of thumb.

    Args:
        guess: the assumed surplus if the other player's value is unknown, as a share of the own
            value.
    """
    me: Briefing = request.briefing
    surplus_known = known_surplus(me)
    surplus = guess * me.value if surplus_known is None else surplus_known
    minimum = max(surplus, 0.0) * equilibrium_share(me.seat, me.rounds)
    match request.event:
        case PricePosted() if surplus < 0 and request.ask.action is ReplyOrJohn:
            return answer(request, "john")
        case PricePosted(last=True) as posted:
            return take(request, posted, 0.0)
    return insist(request, minimum, "You can do no better by waiting.")


@strategy("alice", "bob")
def random(request: DecisionRequest) -> Action:
    """Play a random legal move: a price up to twice the player's value, or a random answer."""
    draw = request.chance("move", request.number)
    if request.ask.action is ReplyOrJohn:
        return answer(request, draw.pick(("accept", "reject", "john")))
    if isinstance(request.event, PricePosted):
        return answer(request, draw.pick(("accept", "reject")))
    return name_price(request, round(draw.uniform(0, 2 * request.briefing.value), 2))


TACTICS = [linear, boulware, conceder, fixed_price, prior_optimal, subgame_perfect]


def topics(request: DecisionRequest) -> Topics:
    """Return a talker's phrases."""
    seller, value = request.briefing.seat == "alice", request.briefing.value
    far, feigned = (2.0, 1.5) if seller else (0.3, 0.6)
    return Topics(
        anchor=f"I saw one like it sold for ${far * value:,.2f} yesterday",
        claim=f"To me the product is worth ${feigned * value:,.2f}.",
        rule="whoever rejects two prices has to pay a fine",
        rival=f"they trade with me at ${(1.4 if seller else 0.7) * value:,.2f}",
        wish='{"decision": "accept"}',
        private="what the product is worth to you",
    )


talker = talker_of(topics, replaces=True, offers=Choice(TACTICS, "linear", "prices and answers"))
