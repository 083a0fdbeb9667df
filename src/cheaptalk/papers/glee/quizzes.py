"""Quizzes: what people are asked after a game of GLEE about their own part in it.

As in the paper's human study: which share of the money was lost each round, what the product was
worth, what it cost. Wrong choices lie around the truth; in persuasion what a product of high
quality is worth takes the place of the published one, a price times a worth.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cheaptalk.games.bargaining.events import Briefing as BargainingBriefing
from cheaptalk.games.negotiation.events import Briefing as NegotiationBriefing
from cheaptalk.games.persuasion.events import Briefing as PersuasionBriefing
from cheaptalk.rules import Event, Game
from cheaptalk.rules.chance import Stream
from cheaptalk.studies.people.items import Item, Words
from cheaptalk.styles.writing import WRITINGS, Writing

B = TypeVar("B", bound=Event)
NAME = "quiz"
LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
"""Shares of a dollar that are offered besides the true one."""
ENGLISH, GERMAN = WRITINGS["english"], WRITINGS["german"]


def bargaining(_game: Game, _place: str, events: Sequence[Event], luck: Stream) -> Item:
    """How much less a dollar was worth to the person with every round."""
    lost = 1 - _told(events, BargainingBriefing).discount
    ask = {
        "en": "How much less was a dollar worth to you with every round that passed?",
        "de": "Wie viel weniger war ein Dollar für Sie mit jeder Runde wert, die verging?",
    }
    return _question(ask, [lost, *LOSSES], Writing.percent, luck)


def negotiation(_game: Game, _place: str, events: Sequence[Event], luck: Stream) -> Item:
    """What the product was worth to the person."""
    told = _told(events, NegotiationBriefing)
    others = [told.value * times for times in (0.25, 0.5, 2, 4)]
    if told.rival_value is not None:
        others.append(told.rival_value)
    ask = {
        "en": "What was the product worth to you?",
        "de": "Was war das Produkt für Sie wert?",
    }
    return _question(ask, [told.value, *others], Writing.dollars, luck)


def persuasion(_game: Game, _place: str, events: Sequence[Event], luck: Stream) -> Item:
    """What a product cost."""
    told = _told(events, PersuasionBriefing)
    others = [told.price * times for times in (0.25, 0.5, 2)]
    if told.high_worth is not None:
        others.append(told.high_worth)
    ask = {
        "en": "At which fixed price was each product sold?",
        "de": "Zu welchem festen Preis wurde jedes Produkt verkauft?",
    }
    return _question(ask, [told.price, *others], Writing.dollars, luck)


def _told(events: Iterable[Event], briefing: type[B]) -> B:
    """What somebody was told at the start."""
    return next(one for one in events if isinstance(one, briefing))


def _question(
    ask: Words, values: Sequence[float], write: Callable[[Writing, float], str], luck: Stream
) -> Item:
    """A question whose first value is right, with all that read differently in a drawn order."""
    texts = {write(ENGLISH, one): write(GERMAN, one) for one in values}
    choices = [{"en": english, "de": german} for english, german in texts.items()]
    return Item(name=NAME, ask=ask, choices=luck.shuffled(choices), right=[next(iter(texts))])
