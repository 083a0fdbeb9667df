"""The common interface of trainers of language models."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

from cheaptalk.rules import CheaptalkError

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""A chat: role and content of each message; what the assistant says is learned."""


class TrainingExample(NamedTuple):
    """One training example.

    Attributes:
        chat: a chat; the assistant's messages are learned.
        weight: its weight; negative to make it less likely.
        worse: a chat to which it is preferred.
    """

    chat: Messages
    weight: float = 1.0
    worse: Messages | None = None


Loss: TypeAlias = Literal["cloning", "dpo", "grpo"]
"""Cross-entropy, weighted; direct preference optimisation (Rafailov and others 2023), of a better
and a worse chat; or group-relative policy optimisation (Shao and others 2024), weighted by how much
better a chat is than others on the same instance."""


class TrainingFailed(CheaptalkError):
    """A model could not be trained; none was written."""


class Step(NamedTuple):
    """How far a training is.

    Attributes:
        done, of: steps.
        loss: mean over the last steps, in nats a token.
    """

    done: int
    of: int
    loss: float


Progress = Callable[[Step], None]


class Trainer(Protocol):
    """A trainer of language models; its fields are its settings."""

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
        """Train a model, or go on with what was begun in a folder.

        Args:
            reference: a model to stay near to, where the trainer is told to.

        Returns:
            What it made, as a model to train further.

        Raises:
            TrainingFailed: it could not; nothing of an earlier model is lost.
        """

    def player(self, model: str) -> str:
        """Return the model string under which the model plays."""

    def ready(self, model: str) -> None:
        """Make sure that it can be asked under this name.

        Raises:
            TrainingFailed: it cannot.
        """
