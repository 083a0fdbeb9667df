"""The training examples and the progress of trainers of language models."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from cheaptalk.rules import CheaptalkError, counted
from cheaptalk.text import duration, steady

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

    Step 0 is the forecast before the first step, from a trial that changes no weights.

    Attributes:
        loss: mean over the step, in nats per token.
        tokens_per_second: None if unknown, as for training at a provider.
        seconds_left: seconds until the last step; None if unknown.
        peak_memory: maximum bytes of memory in use so far, or in step 0 those expected; of the
            GPU, if one is used.
    """

    done: int
    of: int
    loss: float
    tokens_per_second: float | None = None
    seconds_left: float | None = None
    peak_memory: int | None = None

    @property
    def share(self) -> float:
        """The completed share of the steps."""
        return self.done / max(1, self.of)

    @property
    def line(self) -> str:
        """The progress as text; for step 0, the forecast."""
        seconds = self.seconds_left
        time = "" if seconds is None else f"about {duration(steady(seconds))}"
        memory = "" if self.peak_memory is None else gigabytes(self.peak_memory)
        if not self.done:
            parts = [time, f"{memory} of memory" if memory else ""]
            return f"estimated {counted(self.of, 'step')}, {', '.join(filter(None, parts))}"
        rate = self.tokens_per_second
        parts = [
            f"step {self.done:,} of {self.of:,}",
            f"loss {self.loss:.4f}",
            "" if rate is None else f"{rate:,.0f} tokens per second",
            f"{time} left" if time and self.done < self.of else "",
            f"peak memory {memory}" if memory else "",
        ]
        return ", ".join(filter(None, parts))


def gigabytes(size: float) -> str:
    """Return a size in bytes as text, in units of a billion bytes.

    >>> gigabytes(2_345_000_000)
    '2.3 GB'
    """
    return f"{size / 1e9:,.1f} GB"


Progress = Callable[[Step], None]
