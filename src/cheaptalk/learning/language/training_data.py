"""Training data from finished matches: selection, weights and preferences of chats."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from cheaptalk.learning.language.trainers.trainer import Loss, Messages, TrainingExample
from cheaptalk.records.exports.chats import Chat

Way: TypeAlias = Literal["cloning", "weighted", "dpo", "grpo"]
"""How a model learns: by cloning selected chats, equally or weighted by payoff; or by comparing
matches on the same instance."""


class ScoredChat(NamedTuple):
    """A player's chat in a finished match, with its payoff.

    Attributes:
        instance: an identifier that is equal for matches on the same instance.
        counts: whether the match can be used for training.
    """

    chat: Chat
    payoff: float
    instance: str
    counts: bool = True


def above_mean(chats: Sequence[ScoredChat]) -> list[ScoredChat]:
    """Return chats with a payoff above the mean (Liao, Tomlin and Klein 2024, section 3)."""
    mean = fmean([chat.payoff for chat in chats] or [0.0])
    return [chat for chat in chats if chat.payoff > mean]


def positive(chats: Sequence[ScoredChat]) -> list[ScoredChat]:
    """Return chats with a positive payoff."""
    return [chat for chat in chats if chat.payoff > 0]


def everything(chats: Sequence[ScoredChat]) -> list[ScoredChat]:
    """Return all chats, without selection."""
    return list(chats)


FILTERS: Mapping[str, Callable[[Sequence[ScoredChat]], list[ScoredChat]]] = MappingProxyType(
    {"above_mean": above_mean, "positive": positive, "everything": everything}
)
"""Filters by name."""


def top(chats: Sequence[ScoredChat], share: float) -> list[ScoredChat]:
    """Return the given share of chats with the highest payoffs; in a tie, prefer earlier chats."""
    ranked = sorted(chats, key=lambda chat: -chat.payoff)
    return ranked[: ceil(share * len(chats))]


class SelectedChat(NamedTuple):
    """A chat that was selected for training, with a worse chat when learning by preference.

    A negative weight makes the chat less likely.
    """

    better: ScoredChat
    weight: float = 1.0
    worse: ScoredChat | None = None

    def training_example(self) -> TrainingExample:
        """Return the chat as a training example for a trainer."""
        worse = None if self.worse is None else _messages(self.worse)
        return TrainingExample(_messages(self.better), self.weight, worse)

    def as_json(self) -> dict[str, Any]:
        worse = None if self.worse is None else _messages(self.worse)
        return self.better.chat.as_json() | {"weight": self.weight, "worse": worse}


def select_chats(chats: Sequence[ScoredChat], method: Way, keep: str | float) -> list[SelectedChat]:
    """Select chats by a filter or the share of the best, or compare those on the same instance."""
    if method in GROUPED:
        return [chat for group in _groups(chats) for chat in GROUPED[method](group)]
    selected = top(chats, keep) if isinstance(keep, float) else FILTERS[keep](chats)
    selected = [chat for chat in selected if chat.counts and chat.chat.messages[1:]]
    if method == "cloning":
        return [SelectedChat(chat) for chat in selected]
    profitable = [chat for chat in selected if chat.payoff > 0]
    mean = fmean([chat.payoff for chat in profitable] or [1.0])
    return [SelectedChat(chat, chat.payoff / mean) for chat in profitable]


def loss_of(method: Way) -> Loss:
    """Return the loss function with which a learning method trains a model."""
    return "cloning" if method == "weighted" else method


def _messages(chat: ScoredChat) -> Messages:
    messages: Messages = chat.chat.as_json()["messages"]
    return messages


def _groups(chats: Sequence[ScoredChat]) -> list[list[ScoredChat]]:
    """Group chats by instance and seat; drop groups in which all payoffs are equal."""
    groups: dict[tuple[str, str], list[ScoredChat]] = defaultdict(list)
    for chat in chats:
        if chat.counts and chat.chat.messages[1:]:
            groups[chat.instance, chat.chat.seat].append(chat)
    return [group for group in groups.values() if len({chat.payoff for chat in group}) > 1]


def _preferred(group: Sequence[ScoredChat]) -> list[SelectedChat]:
    best = max(group, key=lambda chat: chat.payoff)
    worst = min(group, key=lambda chat: chat.payoff)
    return [SelectedChat(best, 1.0, worst)]


def _advantages(group: Sequence[ScoredChat]) -> list[SelectedChat]:
    payoffs = [chat.payoff for chat in group]
    mean, spread = fmean(payoffs), pstdev(payoffs)
    return [SelectedChat(chat, (chat.payoff - mean) / spread) for chat in group]


GROUPED: Mapping[str, Callable[[Sequence[ScoredChat]], list[SelectedChat]]] = MappingProxyType(
    {"dpo": _preferred, "grpo": _advantages}
)
"""Methods that compare matches on the same instance."""
