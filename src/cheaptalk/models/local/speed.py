"""Measurement of the speed of a model in this process, for estimates of a run's duration."""

import time
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall
from cheaptalk.models.local.client import give_back
from cheaptalk.models.local.files import missing_files
from cheaptalk.models.local.generator import LOADED, Generator
from cheaptalk.models.local.row_cache import RowCache
from cheaptalk.models.model_strings import ModelName
from cheaptalk.models.structured_output import ways
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
            generator = LOADED.get(name.model) or Generator(name.model, download=False)
            _measured[key] = measure(generator, call, key[1])
        except Exception:  # noqa: BLE001 - a run reports the reason
            _measured[key] = None
        else:
            LOADED[name.model] = generator
        give_back()
    return _measured[key]


def measure(generator: Generator, call: ModelCall, chats: int) -> Speed:
    """Measure the speed of a loaded model with a shortened call, which is repeated in a batch."""
    cut = [
        message.model_copy(update={"content": message.content[:CHARACTERS]})
        for message in call.messages
    ]
    trial = call.model_copy(update={"messages": tuple(cut)})
    prompt = generator.prompt(trial, ways(trial)[0])
    batch = min(chats, generator.most)

    def read(rows: int) -> tuple[Any, float]:
        token, began = generator.token, time.monotonic()
        columns = len(prompt) + TOKENS
        cache = None if token is None else RowCache.empty(token, rows, 0, columns)
        _, cache = generator.scores([prompt] * rows, [len(prompt)] * rows, cache)
        return cache, time.monotonic() - began

    read(1)  # the first pass takes longer
    cache, reading = read(1)
    if generator.token is None:
        cache, _ = read(batch)
    else:
        cache.arrange([0] * batch, len(prompt))
    began, written = time.monotonic(), 0
    while written < TOKENS and time.monotonic() - began < SECONDS:
        written += 1
        lengths = [len(prompt) + written] * batch
        _, cache = generator.scores([prompt[-1:]] * batch, lengths, cache)
    writing = time.monotonic() - began
    characters = sum(len(message.content) for message in cut)
    return Speed(batch, len(prompt) / reading, written / writing, len(prompt) / max(characters, 1))
