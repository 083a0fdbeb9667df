"""Which chats are worth learning from."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType

from cheaptalk.records.exports.chats import Chat


def _scored(chats: Sequence[Chat]) -> list[tuple[Chat, float]]:
    return [(one, one.payoff) for one in chats if one.payoff is not None and one.messages[1:]]


def above_mean(chats: Sequence[Chat]) -> list[Chat]:
    """Those whose player got more than the mean of all (Liao, Tomlin and Klein 2024, section 3)."""
    mean = fmean([one.payoff for one in chats if one.payoff is not None] or [0.0])
    return [one for one, payoff in _scored(chats) if payoff > mean]


def positive(chats: Sequence[Chat]) -> list[Chat]:
    """Those whose player got more than nothing."""
    return [one for one, payoff in _scored(chats) if payoff > 0]


def everything(chats: Sequence[Chat]) -> list[Chat]:
    """All in which the player said something: what comes of learning with no choice."""
    return [one for one, _ in _scored(chats)]


FILTERS: Mapping[str, Callable[[Sequence[Chat]], list[Chat]]] = MappingProxyType({
    "above_mean": above_mean, "positive": positive, "everything": everything,
})  # fmt: skip
"""Filters by name. All leave out matches that did not finish."""
