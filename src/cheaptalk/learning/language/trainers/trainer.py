"""The common interface of trainers of language models."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

from cheaptalk.rules import CheaptalkError

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""A chat: role and content of each message; the assistant's messages are learned."""


class TrainingExample(NamedTuple):
    """A chat to learn from, with its weight.

    Attributes:
        chat: the chat; the assistant's messages are learned.
        weight: the weight of the chat; negative to make the chat less likely.
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
        done, of: completed and total steps.
        loss: mean over the last steps, in nats per token.
    """

    done: int
    of: int
    loss: float


Progress = Callable[[Step], None]


class Trainer(Protocol):
    """A trainer of language models; its fields are settings."""

    def train(
        self,
        model: str,
        training_examples: Sequence[TrainingExample],
        out: Path,
        progress: Progress | None = None,
        *,
        loss: Loss = "cloning",
        reference: str | None = None,
    ) -> str:
        """Train a model, or resume its training in a folder; return the trained model.

        Args:
            reference: the model for a KL penalty, if the trainer has one.

        Raises:
            TrainingFailed: training failed; earlier models are kept.
        """

    def player(self, model: str) -> str:
        """Return the model string with which players use a trained model."""

    def ready(self, model: str) -> None:
        """Make a model available to players; raise TrainingFailed if that isn't possible."""
