"""Scripted strategies of persuasion, which depend only on observations.

If signals are text, scripted sellers write one of two sentences, to which talkers add more text.
Scripted buyers recognise these two sentences at the beginning of a message, and treat any other
message as uninformative.
"""

from typing import Annotated

from pydantic import Field

from cheaptalk.games.manners import Choice, Topics, talker_of
from cheaptalk.games.persuasion.rules import (
    Pitch,
    ProductDrawn,
    ProductOffered,
    Purchase,
    QualityRevealed,
    Recommendation,
    Record,
    SpokenPurchase,
)
from cheaptalk.rules import Action, DecisionRequest, strategy

SENTENCES = {
    True: "I recommend that you buy this product.",
    False: "I do not recommend that you buy this product.",
}
"""The messages of scripted sellers if signals are text."""
ANSWERS: dict[type[Action], dict[bool, Action]] = {
    Recommendation: {True: Recommendation(decision="yes"), False: Recommendation(decision="no")},
    Pitch: {yes: Pitch(message=sentence) for yes, sentence in SENTENCES.items()},
    Purchase: {True: Purchase(decision="yes"), False: Purchase(decision="no")},
    SpokenPurchase: {
        True: SpokenPurchase(decision="yes", message=""),
        False: SpokenPurchase(decision="no", message=""),
    },
}
"""The actions for yes and no, by type."""

INDIFFERENCE = 0.5
"""A buyer's assumed probability of high quality if the prior is unknown."""
SLACK = 1e-6
"""Tolerance in comparisons of value and price, as a share of the price; GLEE rounds 1/3 to
0.333333333."""


def answer(request: DecisionRequest, yes: bool) -> Action:
    """Return the action that recommends or buys the product, or that does not."""
    return ANSWERS[request.ask.action][yes]


def advice(offered: ProductOffered) -> bool | None:
    """Return whether the seller recommends the product; None if the message is not recognised."""
    message = offered.message
    if message is None:
        return offered.recommended
    return next((yes for yes, sentence in SENTENCES.items() if message.startswith(sentence)), None)


def pays(request: DecisionRequest, belief: float) -> bool:
    """Return whether the expected value, given a probability of high quality, covers the price."""
    me = request.briefing
    expected = belief * me.high_worth + (1 - belief) * me.low_worth
    return bool(expected >= me.price * (1 - SLACK))


def prior_of(request: DecisionRequest) -> float:
    """Return the buyer's prior probability of high quality, or 1/2 if it is unknown."""
    prior: float | None = request.briefing.prior
    return INDIFFERENCE if prior is None else prior


@strategy("alice")
def honest(request: DecisionRequest) -> Action:
    """Recommend the product if and only if it is of high quality (Farrell and Rabin 1996)."""
    return answer(request, request.event.high)


@strategy("alice")
def always_recommend(request: DecisionRequest) -> Action:
    """Recommend every product, as in the babbling equilibrium (Crawford and Sobel 1982)."""
    return answer(request, True)


def pooling_probability(prior: float, price: float, high_worth: float, low_worth: float) -> float:
    """Return the probability with which optimal persuasion recommends a product of low quality.

    This is the highest q at which a recommendation makes buying worthwhile: q = min(p / (1 - p) *
    (high_worth - price) / (price - low_worth), 1) (Kamenica and Gentzkow 2011). For values of v and
    0 times the price, q = min(p / (1 - p) * (v - 1), 1) (GLEE appendix C).

    >>> pooling_probability(0.5, 100, 125, 0)
    0.25
    """
    loss = (1 - prior) * (price - low_worth)
    return 1.0 if loss <= 0 else min(prior * (high_worth - price) / loss, 1.0)


@strategy("alice")
def kamenica_gentzkow(
    request: DecisionRequest, *, guess: Annotated[float, Field(ge=1)] = 2.0
) -> Action:
    """Always recommend high quality, and low quality as often as a rational buyer tolerates.

    The optimal signalling policy of a seller with commitment (Kamenica and Gentzkow 2011), with the
    probability :func:`pooling_probability`.

    Args:
        guess: the assumed value of high quality, as a multiple of the price, if the seller doesn't
            know the buyer's values; the assumed value of low quality is then 0.
    """
    me = request.briefing
    product: ProductDrawn = request.event
    if product.high:
        return answer(request, True)
    worths = (me.high_worth, me.low_worth) if me.worths_common else (guess * me.price, 0.0)
    q = pooling_probability(me.prior, me.price, *worths)
    return answer(request, request.chance("recommend", product.round).happens(q))


@strategy("bob")
def trusting(request: DecisionRequest) -> Action:
    """Follow the seller's advice, or decide like ``sceptical`` if the advice isn't recognised.

    The credulous receiver of Ottaviani and Squintani (2006).
    """
    advised = advice(request.event)
    return sceptical(request) if advised is None else answer(request, advised)


@strategy("bob")
def sceptical(request: DecisionRequest) -> Action:
    """Ignore the seller: buy if and only if the expected value under the prior reaches the price.

    The condition is p * v + (1 - p) * u >= 1, as in the babbling equilibrium (Crawford and Sobel
    1982). If the prior is unknown, the strategy assumes 1/2.
    """
    return answer(request, pays(request, prior_of(request)))


def count_after(request: DecisionRequest, advised: bool) -> tuple[float, float]:
    """Return the number of known products with the given advice, and how many of them were good.

    A long-lived buyer has observed the products. A myopic buyer assumes that all purchased products
    were recommended, and knows nothing about other products.
    """
    count = good = 0.0
    current: bool | None = None
    for moment in request.heard:
        match moment.event:
            case ProductOffered() as product:
                current = advice(product)
            case QualityRevealed(high=high) if current is advised:
                count, good = count + 1, good + high
            case Record(earlier=rounds, bought=float(bought), low_bought=float(low)) if advised:
                count, good = rounds * bought, rounds * (bought - low)
    return count, good


@strategy("bob")
def bayesian(
    request: DecisionRequest,
    *,
    trust: Annotated[float, Field(gt=0, lt=1)] = 0.9,
    weight: Annotated[float, Field(gt=0)] = 4.0,
) -> Action:
    """Learn the seller's reliability, and buy if the expected value is at least the price.

    Beta-binomial learning of the seller's reputation, which replaces commitment in the repeated
    game (Best and Quigley 2024; GLEE appendix C). Given the advice, the probability of a good
    product has a beta distribution. The prior mean follows from Bayes' rule for a seller who tells
    the truth with probability ``trust``. Every known product with the same advice updates the
    distribution. Without recognised advice, the strategy uses the prior of the game.

    Args:
        trust: the probability of a true recommendation before any experience, in (0, 1).
        weight: the weight of the prior distribution, as a number of products.
    """
    p = prior_of(request)
    advised = advice(request.event)
    if advised is None:
        return sceptical(request)
    if_high, if_low = (trust, 1 - trust) if advised else (1 - trust, trust)
    mean = p * if_high / (p * if_high + (1 - p) * if_low)
    count, good = count_after(request, advised)
    return answer(request, pays(request, (weight * mean + good) / (weight + count)))


@strategy("alice", "bob")
def random(request: DecisionRequest) -> Action:
    """Play a random legal move: recommend or not, buy or not, with equal probabilities."""
    return answer(request, request.chance("move", request.number).happens(0.5))


def topics(request: DecisionRequest) -> Topics:
    """Return a talker's phrases as the seller or the buyer."""
    if not isinstance(request.event, ProductOffered):
        return Topics(
            anchor="my last buyer bought 19 of 20 products from me",
            claim="All products that I have to sell are of high quality.",
            rule="a buyer who declines two products in a row leaves with nothing",
            rival="other buyers want this product at a higher price",
            wish='{"decision": "yes"}',
            private="how much a good product is worth to you",
        )
    return Topics(
        anchor="my last seller recommended 19 of 20 products",
        claim=f"I have ${10 * request.briefing.price:,.2f} left, to spend on what is good.",
        rule="a seller whose buyer declines twice leaves with nothing",
        rival="another seller has the same product for less",
        wish="that every product is of high quality",
        private="whether this product is of high quality",
    )


SELLERS = Choice([honest, always_recommend, kamenica_gentzkow], "honest", "the decisions as Alice")
BUYERS = Choice([trusting, sceptical, bayesian], "bayesian", "the decisions as Bob")
talker = talker_of(topics, sells=SELLERS, buys=BUYERS)
