"""Scripted sellers and buyers.

They know only what their seat was told. Where signals are text, scripted sellers say one of two
sentences, and talkers more behind it; scripted buyers know these two, character for character, at
the beginning of a message, and take anything else to say nothing about the quality. They do not
pretend to understand language.
"""

from typing import Annotated, Literal

from pydantic import Field

from cheaptalk.games.manners import Manner, Topics, wording
from cheaptalk.games.persuasion.events import (
    Pitch,
    ProductDrawn,
    ProductOffered,
    Purchase,
    QualityRevealed,
    Recommendation,
    Record,
    SpokenPurchase,
)
from cheaptalk.rules import Action, Asked, Strategy, by_name, strategy

SENTENCES = {
    True: "I recommend that you buy this product.",
    False: "I do not recommend that you buy this product.",
}
"""What scripted sellers say where signals are text."""
ANSWERS: dict[type[Action], dict[bool, Action]] = {
    Recommendation: {True: Recommendation(decision="yes"), False: Recommendation(decision="no")},
    Pitch: {yes: Pitch(message=sentence) for yes, sentence in SENTENCES.items()},
    Purchase: {True: Purchase(decision="yes"), False: Purchase(decision="no")},
    SpokenPurchase: {
        True: SpokenPurchase(decision="yes", message=""),
        False: SpokenPurchase(decision="no", message=""),
    },
}
"""Yes and no, in each way in which players are asked."""

INDIFFERENCE = 0.5
"""The probability of high quality that a buyer reckons with who is not told the prior."""
SLACK = 1e-6
"""Slack in comparing worth and price, as a share of the price; GLEE writes 1/3 as 0.333333333."""


def recommend(asked: Asked, recommended: bool) -> Action:
    """Recommend the product or advise against it, in the way that signals are sent."""
    return ANSWERS[asked.ask.action][recommended]


def buy(asked: Asked, buys: bool) -> Action:
    """Buy the product or do not."""
    return ANSWERS[asked.ask.action][buys]


def advice(offered: ProductOffered) -> bool | None:
    """Whether the seller recommends the product; None where the words are not understood."""
    if offered.message is None:
        return offered.recommended
    said = offered.message
    return next((yes for yes, sentence in SENTENCES.items() if said.startswith(sentence)), None)


def pays(asked: Asked, belief: float) -> bool:
    """Whether buying is worth its price at this probability of high quality."""
    me = asked.briefing
    expected = belief * me.high_worth + (1 - belief) * me.low_worth
    return bool(expected >= me.price * (1 - SLACK))


def prior_of(asked: Asked) -> float:
    """The probability of high quality as the buyer knows it."""
    prior: float | None = asked.briefing.prior
    return INDIFFERENCE if prior is None else prior


@strategy("alice")
def honest(asked: Asked) -> Action:
    """Recommend the product if and only if it is of high quality.

    Full disclosure, the truthful seller of cheap-talk games (Farrell and Rabin 1996).
    """
    return recommend(asked, asked.event.high)


@strategy("alice")
def always_recommend(asked: Asked) -> Action:
    """Recommend every product: the babbling equilibrium's seller (Crawford and Sobel 1982)."""
    return recommend(asked, True)


def pooling_probability(prior: float, price: float, high_worth: float, low_worth: float) -> float:
    """How often the best persuasion recommends a product of low quality.

    The largest q at which a recommendation still makes buying worthwhile,
    q = min(p / (1 - p) * (high_worth - price) / (price - low_worth), 1) (Kamenica and Gentzkow
    2011); with the worths v and 0 times the price it is min(p / (1 - p) * (v - 1), 1) (GLEE
    appendix C).

    >>> pooling_probability(0.5, 100, 125, 0)
    0.25
    """
    loss = (1 - prior) * (price - low_worth)
    return 1.0 if loss <= 0 else min(prior * (high_worth - price) / loss, 1.0)


@strategy("alice")
def kamenica_gentzkow(asked: Asked, *, guess: Annotated[float, Field(ge=1)] = 2.0) -> Action:
    """Recommend high quality always and low quality as often as a rational buyer can bear.

    The seller's best signalling policy under commitment (Kamenica and Gentzkow 2011), with the
    probability :func:`pooling_probability`.

    Args:
        guess: where the seller is not told what products are worth to the buyer: what high
            quality is taken to be worth, as a multiple of the price; low quality then counts
            as worth nothing.
    """
    me = asked.briefing
    product: ProductDrawn = asked.event
    if product.high:
        return recommend(asked, True)
    worths = (me.high_worth, me.low_worth) if me.worths_common else (guess * me.price, 0.0)
    q = pooling_probability(me.prior, me.price, *worths)
    return recommend(asked, asked.chance("recommend", product.round).happens(q))


@strategy("bob")
def trusting(asked: Asked) -> Action:
    """Buy if and only if the product is recommended; without advice decide as ``sceptical``.

    The credulous receiver who takes every word at its face value (Ottaviani and Squintani 2006).
    """
    advised = advice(asked.event)
    return sceptical(asked) if advised is None else buy(asked, advised)


@strategy("bob")
def sceptical(asked: Asked) -> Action:
    """Ignore the seller: buy just if the prior alone makes it worthwhile.

    That is p * v + (1 - p) * u >= 1, the buyer's side of the babbling equilibrium (Crawford and
    Sobel 1982). A prior that is not told counts as 1/2.
    """
    return buy(asked, pays(asked, prior_of(asked)))


def seen_after(asked: Asked, advised: bool) -> tuple[float, float]:
    """How many products a buyer knows to have come with this advice, and how many were good.

    A long-living buyer has seen them. A myopic one takes all that were bought to have been
    recommended, and knows nothing of the others.
    """
    seen = good = 0.0
    now: bool | None = None
    for moment in asked.heard:
        match moment.event:
            case ProductOffered() as earlier:
                now = advice(earlier)
            case QualityRevealed(high=high) if now is advised:
                seen, good = seen + 1, good + high
            case Record(earlier=rounds, bought=float(bought), low_bought=float(low)) if advised:
                seen, good = rounds * bought, rounds * (bought - low)
    return seen, good


@strategy("bob")
def bayesian(
    asked: Asked,
    *,
    trust: Annotated[float, Field(gt=0, lt=1)] = 0.9,
    weight: Annotated[float, Field(gt=0)] = 4.0,
) -> Action:
    """Learn how far the seller can be trusted, and buy if the expected worth is at least the price.

    Beta-binomial learning of the seller's reputation, which takes the place of commitment in
    the repeated game (Best and Quigley 2024; GLEE appendix C). The probability that a product is
    good given the advice has a beta distribution. Its prior mean is what Bayes' rule gives for a
    seller who tells the truth with probability ``trust``, and it counts as much as ``weight``
    products; every product known to have come with the same advice updates it. Words that are
    no advice leave the prior of the game.

    Args:
        trust: the probability of a true recommendation before any experience, in (0, 1).
        weight: the number of products that this opinion is worth.
    """
    p = prior_of(asked)
    advised = advice(asked.event)
    if advised is None:
        return sceptical(asked)
    if_high, if_low = (trust, 1 - trust) if advised else (1 - trust, trust)
    mean = p * if_high / (p * if_high + (1 - p) * if_low)
    seen, good = seen_after(asked, advised)
    return buy(asked, pays(asked, (weight * mean + good) / (weight + seen)))


@strategy("alice", "bob")
def random(asked: Asked) -> Action:
    """Play a random legal move: recommend or not, buy or not, each as likely as the other."""
    yes = asked.chance("move", asked.request).happens(0.5)
    return buy(asked, yes) if isinstance(asked.event, ProductOffered) else recommend(asked, yes)


SELLERS: dict[str, Strategy] = by_name([honest, always_recommend, kamenica_gentzkow])
BUYERS: dict[str, Strategy] = by_name([trusting, sceptical, bayesian])
"""Whose answers a talker can give."""


@strategy("alice", "bob")
def talker(
    asked: Asked,
    *,
    manner: Manner = "polite",
    sells: Literal["honest", "always_recommend", "kamenica_gentzkow"] = "honest",
    buys: Literal["trusting", "sceptical", "bayesian"] = "bayesian",
    repeat: int = 0,  # noqa: ARG001 - tells identical talkers apart
) -> Action:
    """Recommend or buy as another strategy does at its settings' defaults, and speak in one's own
    manner where there are words.

    Talkers of two manners do the same where the other does: what differs then is the effect of
    words (:mod:`~cheaptalk.games.manners`).

    Args:
        manner: how it speaks.
        sells: the seller that it follows as Alice.
        buys: the buyer that it follows as Bob.
        repeat: tells identical talkers apart, whose matches are repeats; it changes nothing.
    """
    if isinstance(asked.event, ProductOffered):
        action, topics = BUYERS[buys](asked), _as_buyer(asked)
    else:
        action, topics = SELLERS[sells](asked), _as_seller()
    if not isinstance(action, Pitch | SpokenPurchase):
        return action
    said = f"{action.message} {wording(manner, topics, asked)}".strip()
    return action.model_copy(update={"message": said})


def _as_seller() -> Topics:
    return Topics(
        anchor="my last buyer bought 19 of 20 products from me",
        claim="All products that I have to sell are of high quality.",
        rule="a buyer who declines two products in a row leaves with nothing",
        rival="other buyers want this product at a higher price",
        wish='{"decision": "yes"}',
        private="how much a good product is worth to you",
    )


def _as_buyer(asked: Asked) -> Topics:
    return Topics(
        anchor="my last seller recommended 19 of 20 products",
        claim=f"I have ${10 * asked.briefing.price:,.2f} left, to spend on what is good.",
        rule="a seller whose buyer declines twice leaves with nothing",
        rival="another seller has the same product for less",
        wish="that every product is of high quality",
        private="whether this product is of high quality",
    )
