"""Batches of model calls: many calls in one file, answered within a day."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cheaptalk.models.calls import ModelCall, Reply
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import ways

LARGEST = 180_000_000
"""Maximum size of a batch in bytes: OpenAI accepts 200 MB, Anthropic 256 MB."""
MOST = 50_000
"""Maximum number of calls in a batch: OpenAI accepts 50,000, Anthropic 100,000."""


class BatchLine(NamedTuple):
    """A call in a batch, with an id that identifies its reply."""

    id: str
    call: ModelCall


class Look(NamedTuple):
    """A batch's state at the provider, whether its results are complete, and processed calls."""

    state: str
    ended: bool
    done: int


class Results(NamedTuple):
    """The results of a batch: the replies by line id, and the reply to the ``rest`` of the calls.

    A ``full`` batch exceeded the provider's queue limit and must be submitted later. ``missing`` is
    the number of replies that the provider counted but that could not be read.
    """

    replies: dict[str, Reply]
    rest: Reply
    full: bool = False
    missing: int = 0


class BatchServer(ABC):
    """A provider's batch endpoint; methods raise :class:`.EndpointTrouble` if a request fails."""

    @abstractmethod
    def line(self, line: BatchLine) -> dict[str, Any]:
        """Return the JSON object that represents a call in a batch file."""

    @abstractmethod
    async def submit(self, tag: str, lines: Sequence[BatchLine]) -> str:
        """Submit a batch and return its id."""

    @abstractmethod
    async def find(self, tag: str, lines: Sequence[BatchLine], since: float) -> str | None:
        """Return the id of a batch submitted with a tag after a Unix time, or None."""

    @abstractmethod
    async def look(self, name: str) -> Look:
        """Return the progress of a batch."""

    @abstractmethod
    async def results(self, name: str) -> Results:
        """Return the results of an ended batch."""

    @abstractmethod
    async def close(self) -> None:
        """Close the connections."""

    def says(self, call: ModelCall) -> dict[str, Any]:
        """Return the values that a reply records in its ``sent`` and ``route`` fields."""
        return {
            "sent": wire(call.settings, call.model),
            "route": ways(call)[0] if call.form else None,
        }


def chunks(lines: Iterable[tuple[Any, int]]) -> Iterator[list[Any]]:
    """Group items into chunks that fit the size limits of a batch.

    >>> list(chunks([("a", 10), ("b", LARGEST), ("c", 10)]))
    [['a'], ['b'], ['c']]
    """
    chunk: list[Any] = []
    room = LARGEST
    for item, size in lines:
        if chunk and (len(chunk) >= MOST or size > room):
            yield chunk
            chunk, room = [], LARGEST
        chunk.append(item)
        room -= size
    if chunk:
        yield chunk
