"""What trainers have in common."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from cheaptalk.rules import CheaptalkError

Messages: TypeAlias = Sequence[Mapping[str, str]]
"""A chat: role and content of each message; what the assistant says is learned."""


class TrainingFailed(CheaptalkError):
    """A model could not be trained; no model was written."""


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
    """What makes a model of another one and of chats; its fields are how it does so."""

    def train(
        self, model: str, chats: Sequence[Messages], out: Path, progress: Progress | None = None
    ) -> str:
        """Train a model, or go on with what was begun in a folder; what it made, as a model to
        train further.

        Raises:
            TrainingFailed: it could not; nothing of an earlier model is lost.
        """

    def player(self, model: str) -> str:
        """The model string under which such a model plays."""
