"""What is learned from what was said: which chats, how much each counts, or which is better."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from cheaptalk.learning.language.trainers.trainer import Lesson, Loss, Messages
from cheaptalk.records.exports.chats import Chat

Way: TypeAlias = Literal["cloning", "weighted", "dpo", "grpo"]
"""How a model learns: by cloning what was kept, all alike or by what it paid; or from matches on
one deal, by what of them was better and worse."""


class Heard(NamedTuple):
    """A chat of a match that finished.

    Attributes:
        chat: what its player heard and said.
        payoff: what the player got.
        deal: equal for matches on the same deal.
        counts: whether its match is one to learn from.
    """

    chat: Chat
    payoff: float
    deal: str
    counts: bool = True


def above_mean(heard: Sequence[Heard]) -> list[Heard]:
    """Those whose player got more than the mean of all (Liao, Tomlin and Klein 2024, section 3)."""
    mean = fmean([one.payoff for one in heard] or [0.0])
    return [one for one in heard if one.payoff > mean]


def positive(heard: Sequence[Heard]) -> list[Heard]:
    """Those whose player got more than nothing."""
    return [one for one in heard if one.payoff > 0]


def everything(heard: Sequence[Heard]) -> list[Heard]:
    """All: what comes of learning with no choice."""
    return list(heard)


FILTERS: Mapping[str, Callable[[Sequence[Heard]], list[Heard]]] = MappingProxyType({
    "above_mean": above_mean, "positive": positive, "everything": everything,
})  # fmt: skip
"""Filters by name."""


def top(heard: Sequence[Heard], share: float) -> list[Heard]:
    """The best, a share of all; the first of those that got the same.

    >>> top([], 0.5)
    []
    """
    ranked = sorted(heard, key=lambda one: -one.payoff)
    return ranked[: ceil(share * len(heard))]


class Chosen(NamedTuple):
    """A chat that is learned from.

    Attributes:
        better: the chat.
        weight: how much it counts.
        worse: the chat to which it is preferred, if it is learned by preference.
    """

    better: Heard
    weight: float = 1.0
    worse: Heard | None = None

    def lesson(self) -> Lesson:
        """As a trainer takes it."""
        worse = None if self.worse is None else _messages(self.worse)
        return Lesson(_messages(self.better), self.weight, worse)

    def as_json(self) -> dict[str, Any]:
        """One JSON object: the chat, its weight and what it is preferred to."""
        worse = None if self.worse is None else _messages(self.worse)
        return self.better.chat.as_json() | {"weight": self.weight, "worse": worse}


def chosen(heard: Sequence[Heard], way: Way, keep: str | float) -> list[Chosen]:
    """What a model learns from.

    Args:
        heard: chats of its own.
        way: how it learns.
        keep: a filter's name, or the share of the best; not heeded where matches on one deal are
            compared.
    """
    if way in GROUPED:
        return [one for group in _groups(heard) for one in GROUPED[way](group)]
    kept = top(heard, keep) if isinstance(keep, float) else FILTERS[keep](heard)
    kept = [one for one in kept if one.counts and one.chat.messages[1:]]
    if way == "cloning":
        return [Chosen(one) for one in kept]
    paid = [one for one in kept if one.payoff > 0]
    mean = fmean([one.payoff for one in paid] or [1.0])
    return [Chosen(one, one.payoff / mean) for one in paid]


def loss_of(way: Way) -> Loss:
    """The loss by which a trainer learns in this way."""
    return "cloning" if way == "weighted" else way


def _messages(one: Heard) -> Messages:
    messages: Messages = one.chat.as_json()["messages"]
    return messages


def _groups(heard: Sequence[Heard]) -> list[list[Heard]]:
    """Chats of one place on one deal, where not all got the same."""
    groups: dict[tuple[str, str], list[Heard]] = defaultdict(list)
    for one in heard:
        if one.counts and one.chat.messages[1:]:
            groups[one.deal, one.chat.place].append(one)
    return [group for group in groups.values() if len({one.payoff for one in group}) > 1]


def _preferred(group: Sequence[Heard]) -> list[Chosen]:
    """The best of a group, preferred to the worst."""
    best = max(group, key=lambda one: one.payoff)
    worst = min(group, key=lambda one: one.payoff)
    return [Chosen(best, 1.0, worst)]


def _advantages(group: Sequence[Heard]) -> list[Chosen]:
    """Each of a group, by how many standard deviations it is above the mean."""
    payoffs = [one.payoff for one in group]
    mean, spread = fmean(payoffs), pstdev(payoffs)
    return [Chosen(one, (one.payoff - mean) / spread) for one in group]


GROUPED: Mapping[str, Callable[[Sequence[Heard]], list[Chosen]]] = MappingProxyType({
    "dpo": _preferred, "grpo": _advantages,
})  # fmt: skip
"""Ways that compare matches on one deal."""
