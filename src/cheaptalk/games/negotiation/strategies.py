"""Scripted sellers and buyers, and the theory that they rest on.

All of them play either role, reason in gains (what a price leaves above the own value as a
seller, below it as a buyer), know only what their seat was told and, but for ``random``, never
trade at a loss.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from cheaptalk.games.manners import Manner, Topics, wording
from cheaptalk.games.negotiation.events import (
    Briefing,
    Price,
    PricePosted,
    Reply,
    ReplyOrJohn,
    SpokenPrice,
)
from cheaptalk.games.tactics import Early, Late, Share, conceded
from cheaptalk.rules import Action, Asked, Strategy, by_name, strategy


def optimal_gain(gains: Sequence[float]) -> float:
    """The demand g that maximises g * P(G >= g), where G is one of the gains, each as likely.

    G is the whole surplus of a trade, so P(G >= g) is the chance that the other accepts. The
    best demand is one of the possible gains; of several the smallest is taken. It is 0 where no
    gain is positive.

    >>> optimal_gain([-20, 0, 20, 50])
    50
    >>> optimal_gain([30, 40, 50])
    30
    """
    demands = [0.0, *sorted(gain for gain in gains if gain > 0)]
    return max(demands, key=lambda demanded: demanded * sum(gain >= demanded for gain in gains))


def regret_minimising_gain(surplus: float, draw: float) -> float:
    """The demand at a place in [0, 1) of the distribution that minimises the greatest regret.

    A seller with cost c who knows only that the buyer's value v is at most h regrets
    max(v - c, 0) less what the price p brings: p - c if p <= v, else 0. Drawn with density
    1 / (p - c) on [c + (h - c) / e, h], the price leaves the same expected regret (h - c) / e at
    every v in that range, since (v - c) minus the integral of (p - c) / (p - c) from
    c + (h - c) / e to v does not depend on v, and less below it; no other distribution has a
    smaller maximum (Bergemann and Schlag 2008, 2011, here with a cost). Turned around, the
    gain p - c at place u is (h - c) * exp(u - 1).

    Args:
        surplus: h - c, the most that a trade can be worth, in dollars.
        draw: the place u in the distribution, uniform in [0, 1).

    >>> round(regret_minimising_gain(100, 0.0), 2), regret_minimising_gain(100, 1.0)
    (36.79, 100.0)
    """
    return surplus * math.exp(draw - 1)


def equilibrium_share(seat: str, rounds: int | None) -> float:
    """The share of the surplus that a seat gets in subgame-perfect equilibrium.

    Nothing is lost by waiting, so whoever names the price in the last stage can wait for it and
    take all: the other accepts anything that is no loss there (backward induction; Stahl 1972
    without discounting). With no known end every division can be an equilibrium, as waiting is
    free; 1/2 is the limit of Rubinstein's (1982) division as equal discounts approach 1.

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
"""Slack in comparing gains, as a share of the own value."""


def price_of(me: Briefing, gain: float) -> float:
    """The price that leaves this seat a gain."""
    return me.value + gain if me.seat == "alice" else me.value - gain


def gain_at(me: Briefing, price: float) -> float:
    """What a price leaves this seat, in dollars."""
    return price - me.value if me.seat == "alice" else me.value - price


def known_surplus(me: Briefing) -> float | None:
    """What a trade would be worth to both together, in dollars; None where it is not known."""
    return None if me.rival_value is None else gain_at(me, me.rival_value)


def name_price(asked: Asked, price: float, message: str = "") -> Action:
    """Name this price, or the nearest legal one."""
    legal = min(max(price, 0.0), asked.briefing.highest_price)
    if asked.ask.action is SpokenPrice:
        return SpokenPrice(price=legal, message=message)
    return Price(price=legal)


def demand(asked: Asked, gain: float, message: str = "") -> Action:
    """Name the price that leaves this gain, in whole cents in the seat's own favour."""
    cents = 100 * price_of(asked.briefing, gain)
    seller = asked.briefing.seat == "alice"
    whole = math.ceil(cents - 1e-6) if seller else math.floor(cents + 1e-6)
    return name_price(asked, whole / 100, message)


def answer(asked: Asked, decision: Literal["accept", "reject", "john"]) -> Action:
    """Accept or reject or, where that can be, leave for John."""
    return ANSWERS[asked.ask.action][decision]


def take(asked: Asked, posted: PricePosted, least: float) -> Action:
    """Accept a price that leaves at least this gain, in dollars, and reject any other."""
    me: Briefing = asked.briefing
    good = gain_at(me, posted.price) >= least - SLACK * me.value
    return answer(asked, "accept" if good else "reject")


def insist(asked: Asked, gain: float, message: str) -> Action:
    """Name the price with this gain and accept nothing worse."""
    if isinstance(asked.event, PricePosted):
        return take(asked, asked.event, gain)
    return name_price(asked, price_of(asked.briefing, gain), message)


@strategy("alice", "bob")
def fixed_price(asked: Asked, *, markup: Share = 0.2) -> Action:
    """Name one price whatever happens and accept nothing worse.

    Posted-price selling, the form in which GLEE's appendix C states the optimum.

    Args:
        markup: the gain demanded as a share of the own value, in [0, 1]: a seller asks for
            value * (1 + markup), a buyer offers value * (1 - markup).
    """
    me: Briefing = asked.briefing
    return insist(asked, markup * me.value, "This is my price and I will not move.")


@strategy("alice", "bob")
def prior_optimal(asked: Asked, *, factors: tuple[Factor, ...] = (0.8, 1.0, 1.2, 1.5)) -> Action:
    """Name the price that is best against a prior over what the product is worth to the other.

    Against a prior no seller can do better than with one price, never lowered: the p that
    maximises (p - V_A) * P(V_B >= p) (Harris and Raviv 1981; Riley and Zeckhauser 1983; GLEE
    appendix C). A buyer does the same with (V_B - p) * P(V_A <= p). A known value takes the
    place of the prior, and is then the price.

    Args:
        factors: what the product may be worth to the other as multiples of the own value, each
            equally likely. (Not of the scale, which players are not told.) The defaults are
            GLEE's factors as a player whose own factor is 1 sees them.
    """
    me: Briefing = asked.briefing
    values = [factor * me.value for factor in factors]
    if me.rival_value is not None:
        values = [me.rival_value]
    best = optimal_gain([gain_at(me, value) for value in values])
    return insist(asked, best, "This is my price and it will stay my price.")


@strategy("alice", "bob")
def minimax_regret(asked: Asked, *, surplus: Share = 0.5) -> Action:
    """Name one random price, so drawn that the greatest possible regret is least.

    The policy of Bergemann and Schlag (2011; GLEE appendix C) for a seller without a prior:
    :func:`~cheaptalk.games.negotiation.strategies.regret_minimising_gain`. A buyer draws the mirror
    image. The price is drawn once a match. A known value leaves nothing to regret: it is then
    the price.

    Args:
        surplus: the most that a trade can be worth, as a share of the own value, in [0, 1]: a
            seller takes the buyer's value to lie in [0, value * (1 + surplus)], a buyer the
            seller's in [value * (1 - surplus), infinity).
    """
    me: Briefing = asked.briefing
    known = known_surplus(me)
    if known is not None:
        return insist(asked, max(known, 0.0), "This is my price.")
    gain = regret_minimising_gain(surplus * me.value, asked.chance("price").uniform())
    return insist(asked, round(gain, 2), "This is my price.")


def latest_prices(asked: Asked) -> tuple[float | None, float | None]:
    """The last prices named before this question: the own one and the rival's."""
    mine = (m.action.price for m in reversed(asked.heard) if isinstance(m.action, Price))
    theirs = (m.event.price for m in reversed(asked.heard) if isinstance(m.event, PricePosted))
    return next(mine, None), next(theirs, None)


@strategy("alice", "bob")
def split_the_difference(asked: Asked, *, opening: Share = 0.5, close: Share = 0.01) -> Action:
    """Meet the other halfway (the split-the-difference rule of everyday haggling).

    Where both values are known, name the price halfway between them and accept nothing worse.
    Otherwise name the price halfway between the own last price and the rival's, and accept a
    price that is as good as the own last one, close to it, or in the last round no loss.

    Args:
        opening: the gain demanded at first, as a share of the own value, in [0, 1].
        close: the difference that is not worth another round, as a share of the own value.
    """
    me: Briefing = asked.briefing
    known = known_surplus(me)
    if known is not None:
        return insist(asked, max(known, 0.0) / 2, "Halfway is fair to both of us.")
    mine, theirs = latest_prices(asked)
    own = opening * me.value if mine is None else gain_at(me, mine)
    match asked.event:
        case PricePosted(last=last) as posted:
            return take(asked, posted, 0.0 if last else max(0.0, own - close * me.value))
        case _:
            gain = own if theirs is None else (own + gain_at(me, theirs)) / 2
            return demand(asked, max(gain, 0.0), "Let us meet halfway.")


@strategy("alice", "bob")
def zero_intelligence(asked: Asked, *, reach: Share = 1.0) -> Action:
    """Name random prices that never lose money and accept any that does not.

    The budget-constrained zero-intelligence trader (ZI-C) of Gode and Sunder (1993).

    Args:
        reach: the greatest gain asked for, as a share of the own value, in [0, 1]: a seller's
            price is uniform in [value, value * (1 + reach)], a buyer's in
            [value * (1 - reach), value].
    """
    if isinstance(asked.event, PricePosted):
        return take(asked, asked.event, 0.0)
    draw = asked.chance("price", asked.request)
    return demand(asked, draw.uniform(0, reach * asked.briefing.value))


def concede(asked: Asked, start: float, end: float, power: float) -> Action:
    """Name prices by a concession curve; accept what is at least the current demand."""
    me: Briefing = asked.briefing
    stage: int = asked.event.stage
    least = me.value * conceded(stage, me.rounds, start, end, power)
    if isinstance(asked.event, PricePosted):
        return take(asked, asked.event, least)
    return demand(asked, least, "This is my price for now.")


@strategy("alice", "bob")
def linear(asked: Asked, *, start: Share = 0.5, end: Share = 0.0) -> Action:
    """Concede at an even pace (Faratin, Sierra and Jennings 1998, time-dependent tactics).

    Args:
        start: the gain demanded at first, as a share of the own value.
        end: the gain demanded in the last round, likewise.
    """
    return concede(asked, start, end, power=1)


@strategy("alice", "bob")
def boulware(asked: Asked, *, start: Share = 0.5, end: Share = 0.0, power: Late = 4) -> Action:
    """Hold out and concede only near the end (Faratin, Sierra and Jennings 1998).

    Args:
        start: the gain demanded at first, as a share of the own value.
        end: the gain demanded in the last round, likewise.
        power: how late the concession comes, above 1.
    """
    return concede(asked, start, end, power)


@strategy("alice", "bob")
def conceder(asked: Asked, *, start: Share = 0.5, end: Share = 0.0, power: Early = 0.25) -> Action:
    """Concede early (Faratin, Sierra and Jennings 1998).

    Args:
        start: the gain demanded at first, as a share of the own value.
        end: the gain demanded in the last round, likewise.
        power: how early the concession comes, below 1.
    """
    return concede(asked, start, end, power)


@strategy("alice", "bob")
def subgame_perfect(asked: Asked, *, guess: Share = 0.4) -> Action:
    """Play the subgame-perfect equilibrium: who names the last price takes the surplus.

    See :func:`~cheaptalk.games.negotiation.strategies.equilibrium_share`.

    Demand the equilibrium share of the surplus at every stage and accept no less, but in the
    last stage anything that is no loss. Where no trade can be worth anything, leave for John.
    The equilibrium is that of complete information; where the other's value is not told, this
    is only a rule of thumb.

    Args:
        guess: the surplus reckoned with where the other's value is not told, as a share of the
            own value, in [0, 1].
    """
    me: Briefing = asked.briefing
    known = known_surplus(me)
    surplus = guess * me.value if known is None else known
    least = max(surplus, 0.0) * equilibrium_share(me.seat, me.rounds)
    match asked.event:
        case PricePosted() if surplus < 0 and asked.ask.action is ReplyOrJohn:
            return answer(asked, "john")
        case PricePosted(last=True) as posted:
            return take(asked, posted, 0.0)
    return insist(asked, least, "You can do no better by waiting.")


@strategy("alice", "bob")
def random(asked: Asked) -> Action:
    """Play a random legal move: a price of up to twice the own value, or any of the answers."""
    draw = asked.chance("move", asked.request)
    if asked.ask.action is ReplyOrJohn:
        return answer(asked, draw.pick(("accept", "reject", "john")))
    if isinstance(asked.event, PricePosted):
        return answer(asked, draw.pick(("accept", "reject")))
    return name_price(asked, round(draw.uniform(0, 2 * asked.briefing.value), 2))


TACTICS: dict[str, Strategy] = by_name(
    [linear, boulware, conceder, fixed_price, prior_optimal, subgame_perfect]
)
"""Whose prices a talker can name: they hear no words, and draw no luck."""


@strategy("alice", "bob")
def talker(
    asked: Asked,
    *,
    manner: Manner = "polite",
    offers: Literal[
        "linear", "boulware", "conceder", "fixed_price", "prior_optimal", "subgame_perfect"
    ] = "linear",
    repeat: int = 0,  # noqa: ARG001 - tells identical talkers apart
) -> Action:
    """Name another strategy's prices at its settings' defaults, and speak in a manner of one's own.

    Talkers of two manners do the same where the other does: what differs then is the effect of
    words (:mod:`~cheaptalk.games.manners`).

    Args:
        manner: how it speaks.
        offers: the strategy whose prices and answers it gives.
        repeat: tells identical talkers apart, whose matches are repeats; it changes nothing.
    """
    action = TACTICS[offers](asked)
    if not isinstance(action, SpokenPrice):
        return action
    me: Briefing = asked.briefing
    seller, value = me.seat == "alice", me.value
    far, feigned = (2.0, 1.5) if seller else (0.3, 0.6)
    topics = Topics(
        anchor=f"I saw one like it sold for ${far * value:,.2f} yesterday",
        claim=f"To me the product is worth ${feigned * value:,.2f}.",
        rule="whoever rejects two prices has to pay a fine",
        rival=f"they trade with me at ${(1.4 if seller else 0.7) * value:,.2f}",
        wish='{"decision": "accept"}',
        private="what the product is worth to you",
    )
    return action.model_copy(update={"message": wording(manner, topics, asked)})
