"""Quizzes in which people answer questions about their own role after a game of GLEE.

As in the paper's human study, the questions ask for the share of money lost per round, the value of
the product, or the price of the product. Wrong choices are close to the correct choice. In
persuasion, the value of a high-quality product replaces the paper's product of price and value.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cheaptalk.games.bargaining.rules import Briefing as BargainingBriefing
from cheaptalk.games.negotiation.rules import Briefing as NegotiationBriefing
from cheaptalk.games.persuasion.rules import Briefing as PersuasionBriefing
from cheaptalk.rules import Event, Game
from cheaptalk.rules.chance import Stream
from cheaptalk.studies.people.answers import Choices
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.texts import Words
from cheaptalk.styles.writing import WRITINGS, Writing

B = TypeVar("B", bound=Event)
NAME = "quiz"
LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
"""Wrong choices of the quiz on bargaining: shares of a dollar."""
ENGLISH, GERMAN = WRITINGS["english"], WRITINGS["german"]


def bargaining(_game: Game, _seat: str, events: Sequence[Event], rng: Stream) -> Item:
    """Return a question about the decrease in the value of a dollar per round."""
    lost = 1 - _briefing(events, BargainingBriefing).discount
    ask = {
        "en": "By how much did the value of a dollar to you decrease in each round?",
        "de": "Um wie viel sank der Wert eines Dollars für Sie in jeder Runde?",
    }
    return _question(ask, [lost, *LOSSES], Writing.percent, rng)


def negotiation(_game: Game, _seat: str, events: Sequence[Event], rng: Stream) -> Item:
    """Return a question about the value of the product to the participant."""
    briefing = _briefing(events, NegotiationBriefing)
    wrong = [briefing.value * factor for factor in (0.25, 0.5, 2, 4)]
    if briefing.rival_value is not None:
        wrong.append(briefing.rival_value)
    ask = {
        "en": "How much was the product worth to you?",
        "de": "Wie viel war das Produkt für Sie wert?",
    }
    return _question(ask, [briefing.value, *wrong], Writing.dollars, rng)


def persuasion(_game: Game, _seat: str, events: Sequence[Event], rng: Stream) -> Item:
    """Return a question about the price of a product."""
    briefing = _briefing(events, PersuasionBriefing)
    wrong = [briefing.price * factor for factor in (0.25, 0.5, 2)]
    if briefing.high_worth is not None:
        wrong.append(briefing.high_worth)
    ask = {
        "en": "What was the fixed price of each product?",
        "de": "Welchen festen Preis hatte jedes Produkt?",
    }
    return _question(ask, [briefing.price, *wrong], Writing.dollars, rng)


def _briefing(events: Iterable[Event], kind: type[B]) -> B:
    return next(event for event in events if isinstance(event, kind))


def _question(
    ask: Words, values: Sequence[float], write: Callable[[Writing, float], str], rng: Stream
) -> Item:
    """Return a question with shuffled choices, of which the first value is correct."""
    texts = {write(ENGLISH, value): write(GERMAN, value) for value in values}
    choices = [{"en": english, "de": german} for english, german in texts.items()]
    options = Choices(options=rng.shuffled(choices))
    return Item(name=NAME, ask=ask, answer=options, correct=[next(iter(texts))])
