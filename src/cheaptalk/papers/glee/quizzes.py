"""Quizzes in which people answer questions about their own role after a game of GLEE.

As in the paper's human study, the questions ask for the share of money lost per round, the value of
the product, or the price of the product. Wrong choices are close to the correct choice. In
persuasion, the value of a high-quality product replaces the paper's product of price and value.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from cheaptalk.games.bargaining.rules import Briefing as BargainingBriefing
from cheaptalk.games.negotiation.rules import Briefing as NegotiationBriefing
from cheaptalk.games.persuasion.rules import Briefing as PersuasionBriefing
from cheaptalk.rules import Event, Game
from cheaptalk.rules.chance import Stream
from cheaptalk.studies.people.answers import Choices
from cheaptalk.studies.people.items import Item
from cheaptalk.studies.people.page_texts.texts import FIRST
from cheaptalk.styles.writing import Writing

B = TypeVar("B", bound=Event)
NAME = "quiz"
LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
"""Wrong choices of the quiz on bargaining: shares of an amount."""
Formats: TypeAlias = Mapping[str, Writing]
"""The formats of numbers and amounts by language code."""


def bargaining(
    _game: Game, _seat: str, events: Sequence[Event], rng: Stream, formats: Formats
) -> Item:
    """Return a question about the decrease in the value of amounts per round."""
    lost = 1 - _briefing(events, BargainingBriefing).discount
    return _question(
        "By how much did the value of amounts to you decrease in each round?",
        [lost, *LOSSES],
        Writing.percent,
        rng,
        formats,
    )


def negotiation(
    _game: Game, _seat: str, events: Sequence[Event], rng: Stream, formats: Formats
) -> Item:
    """Return a question about the value of the product to the participant."""
    briefing = _briefing(events, NegotiationBriefing)
    wrong = [briefing.value * factor for factor in (0.25, 0.5, 2, 4)]
    if briefing.rival_value is not None:
        wrong.append(briefing.rival_value)
    values = [briefing.value, *wrong]
    return _question(
        "How much was the product worth to you?", values, Writing.dollars, rng, formats
    )


def persuasion(
    _game: Game, _seat: str, events: Sequence[Event], rng: Stream, formats: Formats
) -> Item:
    """Return a question about the price of a product."""
    briefing = _briefing(events, PersuasionBriefing)
    wrong = [briefing.price * factor for factor in (0.25, 0.5, 2)]
    if briefing.high_worth is not None:
        wrong.append(briefing.high_worth)
    values = [briefing.price, *wrong]
    return _question(
        "What was the fixed price of each product?", values, Writing.dollars, rng, formats
    )


def _briefing(events: Iterable[Event], kind: type[B]) -> B:
    return next(event for event in events if isinstance(event, kind))


def _question(
    ask: str,
    values: Sequence[float],
    write: Callable[[Writing, float], str],
    rng: Stream,
    formats: Formats,
) -> Item:
    """Return a question with shuffled choices, of which the first value is correct."""
    texts = [{code: write(writing, value) for code, writing in formats.items()} for value in values]
    choices = {text[FIRST]: text for text in texts}
    answer = Choices(options=rng.shuffled([*choices.values()]))
    return Item(name=NAME, ask=ask, answer=answer, correct=[texts[0][FIRST]])
