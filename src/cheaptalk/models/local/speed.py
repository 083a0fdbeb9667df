"""Measurement of the speed of a model in this process, for estimates of a run's duration."""

import time
from math import inf
from typing import NamedTuple

from cheaptalk.models.calls import ModelCall
from cheaptalk.models.local.client import give_back
from cheaptalk.models.local.files import missing_files
from cheaptalk.models.local.generator import SPARE, Generator
from cheaptalk.models.model_strings import ModelName
from cheaptalk.rules import counted

CHARACTERS = 600
"""Maximum characters of each message in a trial."""
TOKENS = 16
"""Maximum tokens of an answer in a trial."""
SECONDS = 3.0
"""Maximum seconds for writing in a trial."""


class Speed(NamedTuple):
    """The measured speed of a model.

    Attributes:
        chats: number of calls that are answered in one batch.
        reading: prompt tokens per second.
        writing: tokens per second of each answer in a batch.
        density: prompt tokens per character.
    """

    chats: int
    reading: float
    writing: float
    density: float

    def line(self, label: str) -> str:
        """Return the speed of a player's model as text."""
        answers = counted(self.chats, "concurrent answer")
        return (
            f"{label} reads {self.reading:,.0f} tokens per second and writes {self.writing:,.1f} "
            f"for each of {answers}, as measured on this machine"
        )


def no_speed(_: ModelCall, __: int) -> None:
    """Measure nothing."""


_measured: dict[tuple[str, int], Speed | None] = {}


def local_speed(call: ModelCall, chats: int) -> Speed | None:
    """Measure the speed of an in-process model, once per process.

    The model stays loaded for the next run in this process. The result is None if the model cannot
    be loaded or isn't downloaded yet, or if it runs on a server.

    Args:
        call: a typical call.
        chats: number of concurrent calls.
    """
    name = ModelName.parse(call.model)
    if name.protocol != "in process" or missing_files(name.model) is not None:
        return None
    key = name.model, 1 if call.settings.seed is not None else chats
    if key not in _measured:
        try:
            generator = SPARE.get(name.model) or Generator(name.model, download=False)
            _measured[key] = measure(generator, call, key[1])
        except Exception:  # noqa: BLE001 - a run reports the reason
            _measured[key] = None
        else:
            SPARE[name.model] = generator
        give_back()
    return _measured[key]


def measure(generator: Generator, call: ModelCall, chats: int) -> Speed:
    """Measure the speed of a loaded model with shortened calls, which it answers in a batch."""
    cut = [
        message.model_copy(update={"content": message.content[:CHARACTERS]})
        for message in call.messages
    ]

    def seconds(tokens: int, batch: int, deadline: float = inf) -> tuple[float, int, int]:
        settings = call.settings.model_copy(update={"max_tokens": tokens})
        trial = call.model_copy(update={"messages": tuple(cut), "settings": settings})
        began = time.monotonic()
        replies = generator.answer([trial] * batch, range(batch), deadline)
        longest = max(reply.usage.output_tokens for reply in replies)
        return time.monotonic() - began, replies[0].usage.input_tokens, longest

    seconds(1, 1)  # the first call takes longer
    reading, read, _ = seconds(1, 1)
    batch = min(chats, generator.most)
    both, _, written = seconds(TOKENS, batch, reading + SECONDS)
    characters = sum(len(message.content) for message in cut)
    writing = max(both - reading, 1e-3)
    return Speed(batch, read / reading, written / writing, read / max(characters, 1))
