"""The training examples and the progress of trainers of language models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.rules import CheaptalkError

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""A chat: role and content of each message; the assistant's messages are learned."""


class TrainingExample(NamedTuple):
    """A chat to learn from, with its weight; a negative weight makes the chat less likely.

    Attributes:
        worse: a chat to which it is preferred.
    """

    chat: Messages
    weight: float = 1.0
    worse: Messages | None = None


Loss: TypeAlias = Literal["cloning", "dpo", "grpo"]
"""Weighted cross-entropy; direct preference optimisation (Rafailov and others 2023) with a better
and a worse chat; or group-relative policy optimisation (Shao and others 2024), weighted by a chat's
advantage over others on the same instance."""


class TrainingFailed(CheaptalkError):
    """Raised if training fails; no model is written."""


class Step(NamedTuple):
    """The progress of the training of a language model.

    Attributes:
        loss: mean over the last steps, in nats per token.
    """

    done: int
    of: int
    loss: float


Progress = Callable[[Step], None]
